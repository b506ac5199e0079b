"""Pairs that play side by side: one pass of `torch.func.vmap` over the weights and the rounds of all of them.

Where a part does not allow it, such as a module of the user's own that looks at values, the pairs play one after the
other, which gives the same up to rounding.
"""

import warnings
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ecsuite.agents.replicas import replicas
from ecsuite.games.game import Game, StepResult
from ecsuite.games.noise import ReplicaNoise
from ecsuite.games.tasks import Truth
from ecsuite.games.views import SeenRounds, View
from ecsuite.games.worlds.world import Batch

Weights = dict[str, Tensor]


class SideBySide:
    """Plays the pairs of a step; finds out at the first step whether they can play side by side.

    Args:
        parts_are_own: Whether parts of the game are the user's own.
    """

    def __init__(self, *, parts_are_own: bool) -> None:
        # Parts of the user's own may also refuse `ReplicaNoise`.
        self.faults: tuple[type[Exception], ...] = (RuntimeError,)
        if parts_are_own:
            self.faults += (TypeError, ValueError)
        self.reason: str | None = None
        """Why pairs play one after the other; None: they do not."""

    def play(
        self,
        games: Sequence[Game],
        batches: Sequence[Batch],
        noises: Sequence[torch.Generator],
        epoch: int,
    ) -> Sequence[StepResult]:
        """Play a batch with the game of each pair in training, with its noise."""
        rounds = [game.rounds(batch) for game, batch in zip(games, batches, strict=True)]
        states = [noise.get_state() for noise in noises]
        if len(games) > 1 and self.reason is None and fits(rounds):
            try:
                return _together(games, rounds, noises, epoch)
            except self.faults as error:
                self.reason = " ".join(str(error).split())[:200]
                for noise, state in zip(noises, states, strict=True):
                    noise.set_state(state)
        return _one_by_one(games, rounds, noises, epoch)


def fits(rounds: Sequence[SeenRounds]) -> bool:
    """Whether rounds have the same sizes, as all but those of the last batch of an epoch."""
    sizes = {
        (each.truth.labels.shape, each.shown.indices is None, each.candidates is None) for each in rounds
    }
    return len(sizes) == 1


class _Play(nn.Module):
    """A game as a module that plays rounds."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.game = game

    def forward(self, rounds: SeenRounds, noise: ReplicaNoise, epoch: int) -> tuple[Tensor, Weights, Weights]:
        """Objective, measures, and what the modules keep beside their weights."""
        played = self.game.play_rounds(rounds, "train", noise, epoch)
        return played.objective, dict(played.measures), dict(self.named_buffers())


def _together(
    games: Sequence[Game], rounds: Sequence[SeenRounds], noises: Sequence[torch.Generator], epoch: int
) -> Sequence[StepResult]:
    modules = [_Play(game) for game in games]
    weights = _stacked([dict(module.named_parameters()) for module in modules])
    kept = _stacked([dict(module.named_buffers()) for module in modules])
    tensors, form = _tensors(rounds)
    number = torch.arange(len(games), device=games[0].device)

    def play(
        weights: Weights, kept: Weights, tensors: Weights, number: Tensor
    ) -> tuple[Tensor, Weights, Weights]:
        arguments = (_rounds(tensors, form), ReplicaNoise(noises, number), epoch)
        result: tuple[Tensor, Weights, Weights] = functional_call(modules[0], {**weights, **kept}, arguments)
        return result

    with replicas(), warnings.catch_warnings():
        # An operation without a rule of its own is called for one pair after the other, which is right but slower.
        warnings.filterwarnings("ignore", message="There is a performance drop")
        objectives, measures, changed = vmap(play, randomness="same")(weights, kept, tensors, number)
    _keep(
        [dict(module.named_buffers()) for module in modules],
        [_of_place(changed, i) for i in range(len(games))],
    )
    return [
        StepResult(objective=objective, measures={name: value[place] for name, value in measures.items()})
        for place, objective in enumerate(objectives.unbind())
    ]


def _one_by_one(
    games: Sequence[Game], rounds: Sequence[SeenRounds], noises: Sequence[torch.Generator], epoch: int
) -> Sequence[StepResult]:
    played, changed = [], []
    for game, each, noise in zip(games, rounds, noises, strict=True):
        before = {name: buffer.clone() for name, buffer in game.named_buffers()}
        played.append(game.play_rounds(each, "train", noise, epoch))
        changed.append({name: buffer.clone() for name, buffer in game.named_buffers()})
        _keep([dict(game.named_buffers())], [before])
    _keep([dict(game.named_buffers()) for game in games], changed)
    return played


@torch.no_grad()
def _keep(buffers: Sequence[Weights], values: Sequence[Weights]) -> None:
    """Give buffers their values after a step; an agent of several pairs has their mean, of counts the largest."""
    found: dict[int, tuple[Tensor, list[Tensor]]] = {}
    for own, new in zip(buffers, values, strict=True):
        for name, buffer in own.items():
            found.setdefault(id(buffer), (buffer, []))[1].append(new[name])
    for buffer, given in found.values():
        together = torch.stack(given)
        buffer.copy_(together.mean(0) if buffer.is_floating_point() else together.amax(0))


def _of_place(stacked: Weights, place: int) -> Weights:
    return {name: tensor[place] for name, tensor in stacked.items()}


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> Weights:
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


def _tensors(rounds: Sequence[SeenRounds]) -> tuple[Weights, SeenRounds]:
    """The tensors of rounds by name, those of all pairs stacked, and rounds that say what is not a tensor."""
    found: dict[str, list[Tensor]] = {}
    for each in rounds:
        for role, view in (("shown", each.shown), ("candidates", each.candidates)):
            for name in ("features", "indices", "present") if view is not None else ():
                if (tensor := getattr(view, name)) is not None:
                    found.setdefault(f"{role}.{name}", []).append(tensor)
        for name in ("labels", "values", "features"):
            if (tensor := getattr(each.truth, name)) is not None:
                found.setdefault(f"truth.{name}", []).append(tensor)
    return {name: torch.stack(_of_one_size(tensors)) for name, tensors in found.items()}, rounds[0]


def _of_one_size(tensors: list[Tensor]) -> list[Tensor]:
    """Lists of objects of one length: the shorter ones have their first object again at the end."""
    most = max(len(each) for each in tensors)
    return [
        torch.cat([each, each[:1].expand(most - len(each), *each.shape[1:])]) if len(each) < most else each
        for each in tensors
    ]


def _rounds(tensors: Weights, form: SeenRounds) -> SeenRounds:
    """The rounds of one pair from its tensors."""

    def view(role: str, like: View) -> View:
        return View(
            features=tensors[f"{role}.features"],
            num_seen=like.num_seen,
            indices=tensors.get(f"{role}.indices"),
            is_shared=like.is_shared,
            present=tensors.get(f"{role}.present"),
        )

    return SeenRounds(
        shown=view("shown", form.shown),
        candidates=None if form.candidates is None else view("candidates", form.candidates),
        truth=Truth(
            labels=tensors["truth.labels"],
            values=tensors.get("truth.values"),
            features=tensors.get("truth.features"),
        ),
        num_positive=form.num_positive,
    )
