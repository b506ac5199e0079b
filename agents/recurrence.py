"""Steps of a recurrent cell, one or many, with hand-derived gradients of its gates.

The input map is outside: its outputs for all steps, the gates of the inputs, may be one product or looked up. The
weight gradient of the hidden map is one product over the rows of all steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.gates import Gates, Gradients, State
from ecsuite.agents.linear import Linear, StepGradients, Unrolled, first_derivative_only, joined, product
from ecsuite.agents.replicas import with_replicas
from ecsuite.agents.shared_states import Places


def recurrence(gates: Gates, hidden_map: Linear, dtype: torch.dtype) -> Callable[..., State]:
    """Start a loop over steps in the given precision.

    Returns:
        A function from the gates of inputs, (rows, number * hidden_size), the state before, () for zeros, the numbers
        of rows of the steps, and for each step the place of the row that each row follows on (None: the rows are those
        of the step before). It returns the state after them; in the place of its output are the outputs of all steps,
        one after the other.
    """
    unrolled = Unrolled(hidden_map.weight, hidden_map.bias, dtype)
    weight, bias = unrolled.weight, unrolled.bias

    def recur(
        inputs: Tensor, state: State, sizes: Sequence[int], followed: Sequence[Places] = (None,)
    ) -> State:
        if unrolled.gradients is None:
            return _steps(gates, sizes, followed, inputs, weight, bias, state, [])
        after: State = _recurrence(
            gates, sizes, followed, unrolled.gradients, unrolled.token, inputs, weight, bias, *state
        )
        return after

    return recur


def _steps(
    gates: Gates,
    sizes: Sequence[int],
    followed: Sequence[Places],
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    state: State,
    saved: list[tuple[State, State]],
) -> State:
    """Make steps; the state before each, and what the gates saved of it, are added to a list. See `recurrence`."""
    outputs = []
    for rows, places in zip(inputs.split(sizes, -2), followed, strict=True):
        if state:
            state = tuple(_at(part, places) for part in state)
            hidden = product(state[0], weight, bias)
        else:  # a map of zeros is its bias
            state = gates.start(rows.new_zeros(*rows.shape[:-1], weight.shape[-1]))
            hidden = (rows.new_zeros(rows.shape[-1]) if bias is None else bias.unsqueeze(-2)).expand_as(rows)
        before = state
        state, of_step = gates.forward(rows, hidden, before)
        outputs.append(state[0])
        saved.append((before, of_step))
    return (joined(outputs), *state[1:])


class _Recurrence(torch.autograd.Function):
    """One or several steps; see `recurrence`."""

    @staticmethod
    def forward(
        ctx: Any,
        gates: Gates,
        sizes: Sequence[int],
        followed: Sequence[Places],
        gradients: StepGradients,
        token: Tensor,
        inputs: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        *state: Tensor,
    ) -> State:
        saved: list[tuple[State, State]] = []
        after = _steps(gates, sizes, followed, inputs, weight, bias, state, saved)
        ctx.gates, ctx.sizes, ctx.followed = gates, sizes, followed
        ctx.gradients, ctx.number = gradients, gradients.new_step()
        ctx.num_rest = len(after) - 1
        # The output before a step is a part of the outputs, which are kept once.
        of_steps = [tensor for (_, *rest), of_step in saved for tensor in (*rest, *of_step)]
        ctx.save_for_backward(weight, saved[0][0][0], after[0] if len(sizes) > 1 else None, *of_steps)
        ctx.set_materialize_grads(False)
        return after

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        _, _, _, _, needs_weight, _, _, _, *of_state = ctx.needs_input_grad
        weight, first, outputs, *tensors = ctx.saved_tensors
        sizes, followed, width = ctx.sizes, (*ctx.followed, None), len(tensors) // len(ctx.sizes)
        if all(each is None for each in given):  # a gradient of zeros
            if needs_weight:
                num_before = sum(sizes if of_state else sizes[1:])
                rows = first.new_zeros(*first.shape[:-2], num_before, first.shape[-1]) if num_before else None
                ctx.gradients.put_zeros(ctx.number, rows, weight, sum(sizes))
            return (None,) * len(ctx.needs_input_grad)
        before = [first]
        if outputs is not None:
            before += map(_at, outputs.split(sizes, -2)[:-1], followed[1:-1])
        of_outputs = [None] * len(sizes) if given[0] is None else given[0].split(sizes, -2)
        of_inputs = first.new_empty(*first.shape[:-2], sum(sizes), weight.shape[-2])
        of_hidden = of_inputs if ctx.gates.are_summed else torch.empty_like(of_inputs)
        rooms = list(zip(of_inputs.split(sizes, -2), of_hidden.split(sizes, -2), strict=True))
        of_maps: list[Sequence[Tensor]] = []
        carried: Gradients = (None, *given[1:])
        for place in reversed(range(len(sizes))):
            of_step = tensors[place * width : (place + 1) * width]
            state, saved = (before[place], *of_step[: ctx.num_rest]), tuple(of_step[ctx.num_rest :])
            of_output, *rest = (_summed(each, followed[place + 1], sizes[place]) for each in carried)
            total = _sum(of_outputs[place], of_output)
            total = torch.zeros_like(state[0]) if total is None else total
            *of_map, carried = ctx.gates.backward(saved, state, (total, *rest), *rooms[place])
            of_maps.insert(0, of_map)
            if place > 0 or any(of_state):
                carried = (_plus_product(carried[0], of_map[1], weight), *carried[1:])
        if of_maps[0][0] is not rooms[0][0]:
            of_inputs, of_hidden = (joined(parts) for parts in zip(*of_maps, strict=True))
        if needs_weight:
            rows = before if of_state else before[1:]
            is_in_order = all(places is None for places in followed) and len(rows) == len(sizes) - 1 > 0
            rows = [outputs.narrow(-2, 0, sum(sizes[1:]))] if is_in_order else rows
            ctx.gradients.put(ctx.number, joined(rows) if rows else None, of_hidden)
        of_first = carried if any(of_state) else (None,) * len(of_state)
        return (None, None, None, None, None, of_inputs, None, None, *of_first)


def _at(rows: Tensor, places: Places) -> Tensor:
    """The rows at these places."""
    return rows if places is None else rows.index_select(-2, places)


def _summed(gradient: Tensor | None, places: Places, size: int) -> Tensor | None:
    """The gradient of so many rows from that of the rows at these places, summed in fp32."""
    if gradient is None or places is None:
        return gradient
    zeros = gradient.new_zeros(
        size, gradient.shape[-1], dtype=torch.promote_types(gradient.dtype, torch.float32)
    )
    return zeros.index_add_(0, places, gradient.to(zeros.dtype)).to(gradient.dtype)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """The sum of two gradients."""
    return second if first is None else first if second is None else first + second


def _plus_product(gradient: Tensor | None, of_hidden: Tensor, weight: Tensor) -> Tensor:
    """The gradient of the output before a step: its own, which is overwritten, and that through the hidden map."""
    if gradient is None:
        return of_hidden @ weight
    return gradient.addmm_(of_hidden, weight) if weight.dim() == 2 else gradient.baddbmm_(of_hidden, weight)


_recurrence: Callable[..., State] = with_replicas(_Recurrence, _Recurrence.apply)
