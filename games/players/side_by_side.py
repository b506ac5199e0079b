"""Pairs that play side by side: one pass of `torch.func.vmap` over the weights and the rounds of all of them.

Where a part does not allow it, such as a module of the user's own that looks at values, the pairs play one after the
other, which gives the same up to rounding. So they do where messages of ids begin alike so often that computing each
state once saves more (see `ecsuite.agents.shared_states`).
"""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ecsuite.agents.replicas import replicas
from ecsuite.agents.shared_states import may_share
from ecsuite.games.channels.noise import Noise, ReplicaNoise
from ecsuite.games.config.sections import Role
from ecsuite.games.players.pair import Pair, StepResult
from ecsuite.games.tasks.views import SeenRounds

Weights = dict[str, Tensor]
SIDES: Mapping[Role, str] = {"sender": "speaker", "receiver": "listener"}
"""The name in a pair of what learns with each role."""


class SideBySide:
    """Plays the pairs of a step; finds out at the first step whether their parts can play side by side.

    Pairs whose batches have tensors of the same sizes play together. So who does is the same in every process, and a
    run that is resumed computes in the same order.

    Args:
        parts_are_own: Whether parts of the game are the user's own.
    """

    def __init__(self, *, parts_are_own: bool) -> None:
        # Parts of the user's own may also refuse `ReplicaNoise`.
        self.faults: tuple[type[Exception], ...] = (RuntimeError,)
        if parts_are_own:
            self.faults += (TypeError, ValueError)
        self.are_able: bool | None = None
        """Whether the parts can; None: not tried yet."""
        self.reason: str | None = None
        """Why all pairs of a step played one after the other; None: they did not."""

    def play(
        self,
        pairs: Sequence[Pair],
        rounds: Sequence[SeenRounds],
        noises: Sequence[torch.Generator],
        epoch: int,
        unchanged: Sequence[Collection[Role]],
    ) -> Sequence[StepResult]:
        """Play rounds of a batch with each pair in training.

        Args:
            pairs: Who play.
            rounds: What each plays.
            noises: Of each.
            epoch: Passes over the training examples so far.
            unchanged: The roles of each whose weights get no gradient.
        """
        played = [
            _Playing(pair=pair, rounds=of_pair, noise=noise, unchanged=roles)
            for pair, of_pair, noise, roles in zip(pairs, rounds, noises, unchanged, strict=True)
        ]
        groups: dict[Hashable, list[_Playing]] = {}
        for playing in played:
            states = playing.pair.speaker.is_frozen, playing.pair.listener.is_frozen
            groups.setdefault((playing.rounds.form, states), []).append(playing)
        if len(pairs) > 1 and len(groups) == len(pairs) and self.reason is None:
            self.reason = "their batches have different numbers of objects or candidates"
        for group in groups.values():
            is_alone = len(group) == 1 or any(map(_hears_itself, group)) or _share_states(group[0])
            if is_alone or not self._together(group, epoch):
                for playing in group:
                    _alone(playing, epoch)
        _keep(played)
        return [playing.result for playing in played]

    def _together(self, pairs: "Sequence[_Playing]", epoch: int) -> bool:
        """Play pairs side by side; returns whether they can."""
        if self.are_able is None:
            states = [pair.noise.get_state() for pair in pairs]
            try:
                _together(pairs, epoch)
            except torch.OutOfMemoryError:  # which says nothing of the parts
                raise
            except self.faults as error:
                self.are_able, self.reason = False, " ".join(str(error).split())[:200]
                for pair, state in zip(pairs, states, strict=True):
                    pair.noise.set_state(state)
            else:
                self.are_able = True
        elif self.are_able:
            _together(pairs, epoch)
        return self.are_able


@dataclass(kw_only=True, slots=True)
class _Playing:
    """A pair in a step."""

    pair: Pair
    rounds: SeenRounds
    noise: torch.Generator
    unchanged: Collection[Role]
    module: "_Play" = field(init=False)
    """The pair as a module."""
    buffers: Weights = field(init=False)
    """What its modules keep beside their weights, by name."""
    result: StepResult = field(init=False)
    kept: Weights = field(init=False)
    """The buffers of the pair after the step, which has not changed them."""

    def __post_init__(self) -> None:
        """Look for the buffers."""
        self.module = _Play(self.pair)
        self.buffers = dict(self.module.named_buffers())

    def weights(self) -> Weights:
        """The weights of the pair by name; those that do not change are taken as constants."""
        fixed = tuple(f"pair.{SIDES[role]}." for role in self.unchanged)
        return {
            name: weight.detach() if fixed and name.startswith(fixed) else weight
            for name, weight in self.module.named_parameters()
        }


def _hears_itself(playing: _Playing) -> bool:
    """Whether the two of a pair are one agent that speaks and listens with a module in common."""
    speaker, listener = playing.pair.speaker, playing.pair.listener
    own, other = (getattr(side.network, "embed", None) for side in (speaker, listener))
    return speaker.perception is listener.perception or (own is not None and own is other)


def _share_states(playing: _Playing) -> bool:
    """Whether the messages of a pair share states if it plays alone."""
    if not playing.pair.channel.has_policy_gradient:  # messages of training are weights
        return False
    labels = playing.rounds.truth.labels
    return may_share(labels, len(labels), playing.pair.listener.network.state_size)


class _Play(nn.Module):
    """A pair as a module that plays rounds."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.pair = pair

    def forward(self, rounds: SeenRounds, noise: Noise, epoch: int) -> tuple[Tensor, Weights, Weights]:
        """Objective, measures, and what the modules keep beside their weights."""
        played = self.pair.play_rounds(rounds, "train", noise, epoch)
        return played.objective, dict(played.measures), dict(self.named_buffers())


def _contiguous(gradient: Tensor | None) -> Tensor | None:
    """A gradient in one piece; None of a weight that had no say in what was played."""
    return None if gradient is None else gradient.contiguous()


def _together(pairs: Sequence[_Playing], epoch: int) -> None:
    """Play pairs whose rounds are of the same sizes in one pass."""
    module = pairs[0].module
    weights, kept = _stacked([pair.weights() for pair in pairs]), _stacked([pair.buffers for pair in pairs])
    for weight in weights.values():
        if weight.requires_grad:  # so that the gradients of all pairs are made contiguous at once
            weight.register_hook(_contiguous)
    tensors, form = _stacked([pair.rounds.tensors() for pair in pairs]), pairs[0].rounds
    noises, number = [pair.noise for pair in pairs], torch.arange(len(pairs), device=pairs[0].pair.device)

    def play(
        weights: Weights, kept: Weights, tensors: Weights, number: Tensor
    ) -> tuple[Tensor, Weights, Weights]:
        arguments = (form.with_tensors(tensors), ReplicaNoise(noises, number), epoch)
        result: tuple[Tensor, Weights, Weights] = functional_call(module, {**weights, **kept}, arguments)
        return result

    with replicas(), warnings.catch_warnings():
        # An operation without a rule of its own is called for one pair after the other, which is right but slower.
        warnings.filterwarnings("ignore", message="There is a performance drop")
        objectives, measures, changed = vmap(play, randomness="same")(weights, kept, tensors, number)
    parts = zip(
        pairs, objectives.unbind(), *(_parts(each, len(pairs)) for each in (measures, changed)), strict=True
    )
    for pair, objective, of_pair, kept_of_pair in parts:
        pair.result, pair.kept = StepResult(objective=objective, measures=of_pair), kept_of_pair


def _alone(pair: _Playing, epoch: int) -> None:
    """Play one pair, with copies of its buffers: those of an agent are the same for all of its pairs."""
    copies = {name: buffer.clone() for name, buffer in pair.buffers.items()}
    arguments = (pair.rounds, pair.noise, epoch)
    # A module that both use is one module, under the first of its names; put there twice, it would not be put back.
    objective, measures, pair.kept = functional_call(
        pair.module, {**pair.weights(), **copies}, arguments, tie_weights=not _hears_itself(pair)
    )
    pair.result = StepResult(objective=objective, measures=measures)


@torch.no_grad()
def _keep(pairs: Sequence[_Playing]) -> None:
    """Give buffers their values after a step; an agent of several pairs has their mean, of counts the largest."""
    found: dict[int, tuple[Tensor, list[Tensor]]] = {}
    for pair in pairs:
        for name, buffer in pair.buffers.items():
            found.setdefault(id(buffer), (buffer, []))[1].append(pair.kept[name])
    for buffer, given in found.values():
        together = torch.stack(given)
        # The mean of changes, so that what no pair changed, such as codes of positions, stays as it is to the last bit.
        buffer.copy_(buffer + (together - buffer).mean(0) if buffer.is_floating_point() else together.amax(0))


def _parts(stacked: Weights, number: int) -> list[Weights]:
    """The state of each of a number of pairs, of that of all."""
    parts = {name: tensor.unbind() for name, tensor in stacked.items()}
    return [{name: tensors[place] for name, tensors in parts.items()} for place in range(number)]


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> Weights:
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}
