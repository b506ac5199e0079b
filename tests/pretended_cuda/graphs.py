"""Graphs of the pretended device: what was done in a capture is done again, from and into the same memory."""

from contextlib import contextmanager, nullcontext

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from pretended_cuda.generators import drawing_from

UNDECLARED = ("running_mean", "running_var")
"""Arguments that are overwritten though the schema does not say so."""


class Graph:
    """Takes the place of `torch.cuda.CUDAGraph`.

    As on CUDA, nothing has been computed when a capture ends: what it wrote is as it was, what it made is no number.
    """

    def __init__(self):
        self.program, self.generators = [], []
        self.made, self.before = {}, {}

    def register_generator_state(self, generator):
        self.generators.append(generator)

    def begin(self, generator):
        self.generators.append(generator)
        self.states = [each.get_state() for each in self.generators]

    def write(self, func, args, kwargs):
        """Keep what an operation overwrites that was there before the capture."""
        for place, argument in enumerate(func._schema.arguments):
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            if not is_written and argument.name not in UNDECLARED:
                continue
            values = args[place] if place < len(args) else kwargs.get(argument.name)
            for tensor in tree_leaves(values):
                if isinstance(tensor, torch.Tensor) and memory(tensor) not in self.made:
                    part = memory(tensor), tensor.storage_offset(), tensor.shape, tensor.stride()
                    self.before.setdefault(part, (tensor, tensor.clone()))

    def add(self, compute, args, kwargs, result, generator):
        """An operation of the capture; `generator`: that from which it draws without naming it, or None."""
        known = {each._cdata for each in self.generators}
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, torch._C.Generator) and each._cdata not in known:
                raise RuntimeError("Offset increment outside graph capture encountered unexpectedly.")
        given = {memory(each) for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)}
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor) and memory(each) not in given:
                self.made.setdefault(memory(each), each)
        # As they are now: an operation may change the shape of one in place.
        args, kwargs, result = tree_map_only(torch.Tensor, torch.Tensor.detach, (args, kwargs, result))
        self.program.append((compute, args, kwargs, result, generator))

    def end(self):
        for tensor, value in reversed(self.before.values()):
            tensor.copy_(value)
        for generator, state in zip(self.generators, self.states, strict=True):
            generator.set_state(state)
        for tensor in self.made.values():
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)

    @torch.no_grad()
    def replay(self):
        for compute, args, kwargs, result, generator in self.program:
            with nullcontext() if generator is None else drawing_from(generator):
                again = compute(*args, **kwargs)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(old, torch.Tensor) and memory(old) != memory(new):
                    old.copy_(new)


def memory(tensor):
    return tensor.untyped_storage()._cdata


def capturing(operations):
    @contextmanager
    def capture(graph, pool=None, capture_error_mode="global"):
        graph.begin(operations.generator)
        operations.graph = graph
        try:
            yield
        finally:
            operations.graph = None
            graph.end()

    return capture
