"""Tensors of the pretended device, and what each operation does to them."""

from contextlib import nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

from pretended_cuda import rules
from pretended_cuda.generators import CPUGenerator, drawing_from, place_of
from pretended_cuda.kernels import KERNELS
from pretended_cuda.log import line

CPU = torch.device("cpu")


class Pretended(torch.Tensor):
    """Holds a tensor of the CPU, and says that it is on a device."""

    @staticmethod
    def __new__(cls, inner, place):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype, layout=inner.layout, device=place,
        )  # fmt: skip

    def __init__(self, inner, place):
        self.inner = inner

    def __repr__(self):
        return f"Pretended({self.inner}, {self.device})"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.Tensor.numpy, torch.Tensor.__array__):
            raise TypeError(
                f"can't convert {args[0].device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        if func is torch.Tensor.tolist:
            return args[0].cpu().tolist()
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("a tensor of a pretended device is used after the device has gone")


class Operations(TorchDispatchMode):
    """Does every operation of torch: checked, counted, and computed on the CPU.

    Args:
        log: Takes the counts.
        place: The device.
        generator: Its global generator.
        missing_operations: Names of operations that an MPS device lacks.
    """

    def __init__(self, log, place, generator, missing_operations=()):
        super().__init__()
        self.log, self.place, self.generator = log, place, generator
        self.missing_operations = frozenset(missing_operations)
        self.graph = None  # where operations are captured

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves, name = tree_leaves((args, kwargs)), func.overloadpacket.__name__
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        asked = next((leaf for leaf in leaves if isinstance(leaf, torch.device)), None)
        here = [isinstance(tensor, Pretended) for tensor in tensors]
        stays = any(here) if asked is None else asked.type in rules.DEVICES
        if not any(here) and not stays:
            return func(*args, **kwargs)
        if stays and asked is not None and asked.type != self.place.type:
            raise AssertionError(f"Torch not compiled with {asked.type.upper()} enabled")
        self.check(func, name, args, kwargs, tensors, here, asked)
        num_syncs = self.log.syncs.total()
        draws = self.count(func, name, args, kwargs, tensors, here, stays)
        if self.graph is not None and self.log.syncs.total() > num_syncs:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

        def plain(leaf):
            if isinstance(leaf, torch.device):
                return CPU
            return leaf.inner if isinstance(leaf, Pretended) else leaf

        unpinned = {key: value for key, value in kwargs.items() if key != "pin_memory"}
        plain_args, plain_kwargs = tree_map(plain, (args, unpinned))
        compute = KERNELS.get(name, func)
        if self.graph is not None:
            self.graph.write(func, plain_args, plain_kwargs)
        with drawing_from(self.generator) if draws else nullcontext():
            made = compute(*plain_args, **plain_kwargs)
        if not stays:
            return made
        if self.graph is not None:
            self.graph.add(compute, plain_args, plain_kwargs, made, self.generator if draws else None)
        for each in tree_leaves(made):
            if isinstance(each, torch.Tensor):
                rules.refuse_float64(self.place, each.dtype)
        made = tree_map(lambda each: Pretended(each, self.place) if type(each) is torch.Tensor else each, made)
        return return_and_correct_aliasing(func, args, kwargs, made) if any(here) else made

    def check(self, func, name, args, kwargs, tensors, here, asked):
        rules.refuse_missing(name, self.place, self.missing_operations)
        rules.refuse_products(name, tensors, self.place)
        rules.refuse_unordered(name, tensors, self.place)
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, CPUGenerator) and place_of(leaf).type != self.place.type:
                raise RuntimeError(f"Expected a '{self.place.type}' device type for generator but found 'cpu'")
        if asked is not None or name in rules.FREE or name in ("copy_", "_to_copy") or not any(here):
            return
        takes_scalars = torch.Tag.pointwise in func.tags or name in rules.INDEXED
        takes_scalars = takes_scalars or "fill" in name or name == "where"
        for number, (tensor, is_here) in enumerate(zip(tensors, here, strict=True)):
            is_scalar = takes_scalars and tensor.dim() == 0
            # Indices may be on the CPU, but not the values that are put.
            is_index = name in rules.INDEXED and here[0] and number > 0
            is_index = is_index and (name == "index" or tensor is not tensors[-1])
            if not (is_here or is_scalar or is_index):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{self.place} and cpu: {func}, argument of shape {tuple(tensor.shape)}"
                )

    def count(self, func, name, args, kwargs, tensors, here, stays):
        """Count what is waited for and started; returns whether the global generator is drawn from."""
        log, where = self.log, line()
        if name in ("_to_copy", "copy_"):
            source, to = (tensors[0], stays) if name == "_to_copy" else (tensors[1], here[0])
            came = isinstance(source, Pretended)
            if came and not to:
                log.syncs["copy to the CPU", where] += 1
            elif to and not came and not (name == "copy_" and source.dim() == 0):
                if not (kwargs.get("non_blocking") or (len(args) > 2 and args[2] is True)):
                    log.syncs["copy to the device", where] += 1
        indices = tensors[1:] if name in rules.INDEXED else []
        if any(not isinstance(each, Pretended) and each.dim() > 0 for each in indices):
            log.syncs["copy of indices to the device", where] += 1
        is_masked = any(each.dtype in (torch.bool, torch.uint8) for each in indices)
        if name in rules.WAITS or (is_masked and (name == "index" or tensors[-1].numel() > 1)):
            log.syncs[name, where] += 1
        accumulates = name not in rules.INDEXED or True in args[3:4] or kwargs.get("accumulate")
        if name in rules.UNORDERED and accumulates and tensors[0].is_floating_point():
            log.unordered[name, where] += 1
        if name not in rules.FREE and not func.is_view:
            log.launches[where] += 1
        generators = [each for each in tree_leaves((args, kwargs)) if isinstance(each, CPUGenerator)]
        draws = torch.Tag.nondeterministic_seeded in func.tags and not generators and name not in rules.FREE
        if draws:
            log.undeclared[name, where] += 1
        return draws
