"""Engine of pairs: draws rounds and plays them, with recorded operations and pairs in parallel if possible.

In parallel, one pass of `torch.func.vmap` over weights and rounds plays all pairs. If a part does not allow this,
such as user code that branches on values, the pairs play sequentially, with equal results up to rounding. The pairs
also play sequentially if messages of ids share so many prefixes that computing each state once saves more (see
`ecsuite.agents.shared_states`).
"""

import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from ecsuite.agents.replicas import replicas
from ecsuite.agents.shared_states import may_share
from ecsuite.games.channels.noise import Noise, ReplicaNoise
from ecsuite.games.config.sections import Role
from ecsuite.games.players.pair import SIDES, Pair, StepResult
from ecsuite.games.tasks.views import SeenRounds, rendered
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.ahead import Prefetcher
from ecsuite.runtime.devices import global_generators
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded

Weights = dict[str, Tensor]
Differentiate = Callable[[Tensor], Sequence[Tensor | None]]
"""Maps an objective, a scalar, to the gradients of the weights."""
OBJECTIVE = "objective"
"""Name of the objective among measures."""


class Engine:
    """Draws training rounds for pairs, and plays them.

    Pairs whose rounds have tensors of equal shapes play in parallel. So the groups are equal in every process,
    and a resumed run computes in the same order.

    Args:
        world: Source of rounds.
        has_own_code: Whether parts of the game are user code, which may branch on values: nothing is recorded.
    """

    def __init__(self, world: World, *, has_own_code: bool) -> None:
        self.world, self.records = world, not has_own_code
        self.recorded = Recorded()
        # User code may also reject `ReplicaNoise`.
        self.faults: tuple[type[Exception], ...] = (RuntimeError,)
        if has_own_code:
            self.faults += (TypeError, ValueError)
        self.are_able: bool | None = None
        """Whether parts can play in parallel; None: not tried yet."""
        self.reason: str | None = None
        """Reason why all pairs of a step played sequentially; None: they did not."""
        self.same_rounds = False
        """Whether the pairs of a step play the same batch."""
        self.batches_per_epoch = -(-world.num_train // world.sizes.batch_size)
        self._source = world
        self._batches: Callable[[int, int], Sequence[Batch]] | None = None

    def rounds(self, pairs: Sequence[Pair], number: int) -> list[SeenRounds]:
        """Draw training batch `number` for each pair, joined into one if possible.

        On CUDA, other threads prefetch batches, and rendered images are rendered on the device, within the step.
        """
        if self._batches is None:
            on_device = pairs[0].device.type == "cuda" and self.records
            self._source = (self.world.unrendered() if on_device else None) or self.world
            self._batches = Prefetcher(self._draw) if on_device else self._draw
        batches = self._batches(number, len(pairs))
        return [pair.rounds(batch, self._source) for pair, batch in zip(pairs, batches, strict=False)]

    def _draw(self, number: int, num_pairs: int) -> Sequence[Batch]:
        """Batches of the pairs of a step; within an epoch, each pair index gets every batch once."""
        if self.same_rounds:
            return [self._source.batch("train", number)] * num_pairs
        size = self.batches_per_epoch
        epoch, within = divmod(number, size)
        numbers = [epoch * size + (within + index) % size for index in range(num_pairs)]
        if num_pairs > 1 and (joined := self._source.batches("train", numbers)) is not None:
            return [joined]
        return [self._source.batch("train", each) for each in numbers]

    def views(self, pairs: Sequence[Pair], rounds: Sequence[SeenRounds]) -> Sequence[SeenRounds]:
        """Rounds of each pair with rendered images, from the result of `rounds`."""
        if self._source is not self.world:
            rounds = rendered(rounds, self.world, pairs[0].task, pairs[0].listener.dtype)
        return rounds if len(rounds) == len(pairs) else rounds[0].parts(len(pairs))

    def run_pairs(
        self,
        pairs: Sequence[Pair],
        rounds: Sequence[SeenRounds],
        noises: Sequence[torch.Generator],
        epoch: int,
        differentiate: Differentiate | None = None,
        *,
        unchanged: Sequence[Collection[Role]] = (),
        combine: Callable[[Sequence[StepResult]], StepResult] | None = None,
    ) -> StepResult:
        """Play the rounds of a step in training: message, answer and loss of each pair, then gradients.

        From the ninth call with the same pairs and shapes on, the operations are recorded and replayed.

        Args:
            pairs: The pairs of the step.
            rounds: Rounds of the pairs; see `rounds`.
            noises: Generator of each pair.
            epoch: Passes over the training examples so far.
            differentiate: Computes the gradients of the objective for the result; it must be the same
                function in all calls. None: the objective has its autograd graph.
            unchanged: Roles of each pair whose weights get no gradient.
            combine: Combines the results of pairs; None: there is only one pair.
        """
        if combine is not None:
            return self._run_together(pairs, rounds, noises, epoch, differentiate, unchanged, combine)

        def play(seen: Sequence[SeenRounds]) -> StepResult:
            return pairs[0].play_rounds(self.views(pairs, seen)[0], "train", noises[0], epoch)

        if differentiate is None:
            return play(rounds)
        if not self.records:
            return differentiated(play(rounds), differentiate)

        def play_tensors(*values: Tensor) -> Outputs:
            result = differentiated(play(_with_values(rounds, values)), differentiate)
            assert result.gradients is not None
            return {OBJECTIVE: result.objective, **result.measures}, result.gradients

        form = id(pairs[0]), *(each.form for each in rounds)
        found, gradients = self.recorded(form, play_tensors, _values(rounds))
        measures = dict(found)
        return StepResult(objective=measures.pop(OBJECTIVE), measures=measures, gradients=gradients)

    def _run_together(
        self,
        pairs: Sequence[Pair],
        rounds: Sequence[SeenRounds],
        noises: Sequence[torch.Generator],
        epoch: int,
        differentiate: Differentiate | None,
        unchanged: Sequence[Collection[Role]],
        combine: Callable[[Sequence[StepResult]], StepResult],
    ) -> StepResult:
        """Play pairs of a society; weights are inputs of the recorded operations, which so serve all pairs."""
        weights = [_weights(pair, roles) for pair, roles in zip(pairs, unchanged, strict=True)]
        buffers = [dict(pair.named_buffers()) for pair in pairs]
        if differentiate is None or not self.records:
            results, after = self._play_each(
                pairs, self.views(pairs, rounds), noises, epoch, weights, buffers
            )
            _update_buffers(buffers, after)
            result = combine(results)
            return result if differentiate is None else differentiated(result, differentiate)
        learnt = [weight for each in weights for weight in each.values() if weight.requires_grad]
        states = [*weights, *buffers]

        def play_tensors(*values: Tensor) -> Outputs:
            left = iter(values[: sum(map(len, states))])
            copies = [
                {name: next(left).requires_grad_(each.requires_grad) for name, each in state.items()}
                for state in states
            ]
            views = self.views(pairs, _with_values(rounds, values[sum(map(len, states)) :]))
            of_weights, of_buffers = copies[: len(pairs)], copies[len(pairs) :]
            results, after = self._play_each(pairs, views, noises, epoch, of_weights, of_buffers)
            objective = torch.stack([each.objective for each in results])
            leaves = [weight for each in of_weights for weight in each.values() if weight.requires_grad]
            gradients: Sequence[Tensor | None] = ()
            if objective.requires_grad:
                gradients = torch.autograd.grad(objective.sum(), leaves, allow_unused=True)
            measures = {
                name: torch.stack([each.measures[name] for each in results]) for name in results[0].measures
            }
            ends = [after[i][name] for i, each in enumerate(buffers) for name in each]
            return {OBJECTIVE: objective.detach(), **measures}, [*gradients, *ends]

        shapes = tuple(
            (name, each.shape, each.requires_grad) for state in states for name, each in state.items()
        )
        roles = tuple(
            (
                pair.speaker.is_frozen,
                pair.listener.is_frozen,
                _shares_modules(pair),
                *map(id, pair.speaker.minds),
            )
            for pair in pairs
        )
        inputs = [each.detach() for state in states for each in state.values()]
        found, tensors = self.recorded(
            (roles, shapes, *(each.form for each in rounds)), play_tensors, [*inputs, *_values(rounds)]
        )
        num_gradients = len(tensors) - sum(map(len, buffers))
        gradients, ends = (
            tensors[:num_gradients],
            (each for each in tensors[num_gradients:] if each is not None),
        )
        _update_buffers(buffers, [{name: next(ends) for name in each} for each in buffers])
        results = [
            StepResult(
                objective=found[OBJECTIVE][i],
                measures={name: each[i] for name, each in found.items() if name != OBJECTIVE},
            )
            for i in range(len(pairs))
        ]
        result = combine(results)
        if gradients:
            objective = _Differentiated.apply(result.objective, gradients, *learnt)  # type: ignore[no-untyped-call]
            result = replace(result, objective=objective)
        return differentiated(result, differentiate)

    def _play_each(
        self,
        pairs: Sequence[Pair],
        rounds: Sequence[SeenRounds],
        noises: Sequence[torch.Generator],
        epoch: int,
        weights: Sequence[Weights],
        buffers: Sequence[Weights],
    ) -> tuple[list[StepResult], list[Weights]]:
        """Results of pairs that play in parallel, or else sequentially, and their buffers afterwards."""
        groups: dict[Hashable, list[int]] = {}
        for number, (pair, of_pair) in enumerate(zip(pairs, rounds, strict=True)):
            states = pair.speaker.is_frozen, pair.listener.is_frozen
            groups.setdefault((of_pair.form, states), []).append(number)
        if len(pairs) > 1 and len(groups) == len(pairs) and self.reason is None:
            self.reason = "their batches have different numbers of objects or candidates"
        results: dict[int, tuple[StepResult, Weights]] = {}
        for group in groups.values():
            chosen = [(pairs[i], rounds[i], noises[i], weights[i], buffers[i]) for i in group]
            is_alone = len(group) == 1 or any(map(_is_alone, [pairs[i] for i in group]))
            played = None
            if not is_alone and not _shares_states(pairs[group[0]], rounds[group[0]]):
                played = self._play_together(chosen, epoch)
            results |= zip(group, played or [_play_alone(*each, epoch) for each in chosen], strict=True)
        return [results[i][0] for i in range(len(pairs))], [results[i][1] for i in range(len(pairs))]

    def _play_together(
        self, chosen: Sequence["_Turn"], epoch: int
    ) -> "list[tuple[StepResult, Weights]] | None":
        """Results of pairs in parallel, and their buffers; None if a part does not allow it."""
        if self.are_able is False:
            return None
        if self.are_able and self.records:  # users' code may draw, or branch on values, in a later step only
            return _play_stacked(chosen, epoch)
        shared = global_generators(chosen[0][0].device)
        generators = [*shared, *(noise for _, _, noise, _, _ in chosen)]
        states = [each.get_state() for each in generators]
        try:
            played = _play_stacked(chosen, epoch)
            self.are_able = all(
                each.get_state().equal(state) for each, state in zip(shared, states, strict=False)
            )
            fault = "a part draws from torch's global generators"  # equal numbers for all pairs in one pass
        except torch.OutOfMemoryError:  # not caused by the parts
            raise
        except self.faults as error:
            self.are_able, fault = False, " ".join(str(error).split())[:200]
        if self.are_able:
            return played
        self.reason = fault
        for each, state in zip(generators, states, strict=True):
            each.set_state(state)
        return None


_Turn = tuple[Pair, SeenRounds, torch.Generator, Weights, Weights]
"""A pair with its rounds, generator, weights and buffers."""


class _Differentiated(torch.autograd.Function):
    """An objective with precomputed gradients."""

    @staticmethod
    def forward(ctx: Any, objective: Tensor, gradients: Sequence[Tensor | None], *_: Tensor) -> Tensor:
        ctx.gradients = gradients
        return objective.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        scaled = iter(torch._foreach_mul([each for each in ctx.gradients if each is not None], gradient))
        return None, None, *(each if each is None else next(scaled) for each in ctx.gradients)


def _values(rounds: Sequence[SeenRounds]) -> list[Tensor]:
    """Tensors of rounds."""
    return [value for each in rounds for value in each.tensors().values()]


def _with_values(rounds: Sequence[SeenRounds], values: Sequence[Tensor]) -> list[SeenRounds]:
    """Rounds with other tensors, in the order of `_values`."""
    left = iter(values)
    return [each.with_tensors({name: next(left) for name in each.tensors()}) for each in rounds]


def _weights(pair: Pair, unchanged: Collection[Role]) -> Weights:
    """Weights of a pair by name; weights of unchanged roles as constants."""
    fixed = tuple(f"{SIDES[role]}." for role in unchanged)
    return {
        name: weight.detach() if fixed and name.startswith(fixed) else weight
        for name, weight in pair.named_parameters()
    }


def _shares_modules(pair: Pair) -> bool:
    """Whether a pair is one agent whose speaker and listener share a module."""
    own, other = (getattr(side.network, "embed", None) for side in (pair.speaker, pair.listener))
    return pair.speaker.perception is pair.listener.perception or (own is not None and own is other)


def _is_alone(pair: Pair) -> bool:
    """Whether a pair can't play in parallel: it shares modules, or its loss reads its messages."""
    return _shares_modules(pair) or bool(pair.speaker.minds) or pair.loss.of_pairs == "several"


def _shares_states(pair: Pair, rounds: SeenRounds) -> bool:
    """Whether the messages of a pair share states if it plays alone."""
    if not pair.channel.has_policy_gradient:  # messages of training are weights
        return False
    labels = rounds.truth.labels
    return may_share(labels, len(labels), pair.listener.network.state_size)


def _contiguous(gradient: Tensor | None) -> Tensor | None:
    """Contiguous gradient; None for a weight without influence on the objective."""
    return None if gradient is None else gradient.contiguous()


def _play_stacked(chosen: Sequence[_Turn], epoch: int) -> list[tuple[StepResult, Weights]]:
    """Play pairs whose rounds have equal shapes in one pass."""
    pairs, rounds, noises, weights, buffers = zip(*chosen, strict=True)
    stacked = _stacked(weights), _stacked(buffers), _stacked([each.tensors() for each in rounds])
    for weight in stacked[0].values():
        if weight.requires_grad:  # so that the gradients of all pairs become contiguous at once
            weight.register_hook(_contiguous)

    def play(
        weights: Weights, buffers: Weights, tensors: Weights, number: Tensor
    ) -> tuple[Tensor, Weights, Weights]:
        arguments = (rounds[0].with_tensors(tensors), ReplicaNoise(noises, number), epoch)
        result, after = functional_call(pairs[0], {**weights, **buffers}, arguments)
        return result.objective, dict(result.measures), after

    with replicas(), warnings.catch_warnings():
        # vmap loops over pairs for operations without a batching rule: correct, but slow.
        warnings.filterwarnings("ignore", message="There is a performance drop")
        numbers = torch.arange(len(pairs), device=pairs[0].device)
        objectives, measures, after = vmap(play, randomness="same")(*stacked, numbers)
    parts = zip(
        objectives.unbind(), *(_unstacked(each, len(pairs)) for each in (measures, after)), strict=True
    )
    return [
        (StepResult(objective=objective, measures=of_pair), buffers_of_pair)
        for objective, of_pair, buffers_of_pair in parts
    ]


def _play_alone(
    pair: Pair, rounds: SeenRounds, noise: Noise, weights: Weights, buffers: Weights, epoch: int
) -> tuple[StepResult, Weights]:
    """Play one pair with copies of its buffers, which an agent shares between its pairs."""
    copies = {name: buffer.clone() for name, buffer in buffers.items()}
    # A shared module is listed once, under its first name: if it were replaced twice, it would not be restored.
    played: tuple[StepResult, Weights] = functional_call(
        pair, {**weights, **copies}, (rounds, noise, epoch), tie_weights=not _shares_modules(pair)
    )
    return played


@torch.no_grad()
def _update_buffers(buffers: Sequence[Weights], changed: Sequence[Weights]) -> None:
    """Set buffers to their values after a step: for agents of several pairs the mean, for counts the maximum."""
    found: dict[int, tuple[Tensor, list[Tensor]]] = {}
    for of_pair, after in zip(buffers, changed, strict=True):
        for name, buffer in of_pair.items():
            found.setdefault(id(buffer), (buffer, []))[1].append(after[name])
    for buffer, given in found.values():
        together = torch.stack(given)
        # The mean of changes: buffers that no pair changed, such as position codes, stay bit-identical.
        buffer.copy_(buffer + (together - buffer).mean(0) if buffer.is_floating_point() else together.amax(0))


def _unstacked(stacked: Weights, number: int) -> list[Weights]:
    """One dict per pair of a dict of stacked tensors."""
    parts = {name: tensor.unbind() for name, tensor in stacked.items()}
    return [{name: tensors[place] for name, tensors in parts.items()} for place in range(number)]


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> Weights:
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


def differentiated(result: StepResult, differentiate: Differentiate) -> StepResult:
    """Replace the graph of a result's objective by its gradients."""
    gradients = differentiate(result.objective)
    return StepResult(objective=result.objective.detach(), measures=result.measures, gradients=gradients)
