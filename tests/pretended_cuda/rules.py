"""What CUDA refuses, waits for and leaves undetermined."""

import os

import torch

DEVICES = ("cuda", "mps")
WAITS = frozenset("_local_scalar_dense nonzero masked_select _unique2 unique_dim unique_consecutive equal".split())
"""Operations whose result, or its size, the processor needs."""
INDEXED = frozenset("index index_put index_put_ _index_put_impl_".split())
PRODUCTS = frozenset("mm bmm addmm addmm_ baddbmm baddbmm_ mv dot addmv".split())
UNORDERED = frozenset(
    "scatter_add scatter_add_ index_add index_add_ put_ bincount cumsum index_put index_put_ _index_put_impl_ "
    "adaptive_max_pool2d_backward _adaptive_avg_pool2d_backward scatter_reduce".split()
)
"""Operations on floating-point numbers whose CUDA kernels add in any order."""
NEVER_ORDERED = frozenset(
    "put_ bincount cumsum histc kthvalue median adaptive_max_pool2d_backward _adaptive_avg_pool2d_backward "
    "avg_pool3d_backward nll_loss2d_forward upsample_linear1d_backward upsample_bilinear2d_backward "
    "upsample_bicubic2d_backward upsample_trilinear3d_backward reflection_pad1d_backward "
    "reflection_pad2d_backward replication_pad1d_backward replication_pad2d_backward grid_sampler_2d_backward "
    "_ctc_loss_backward".split()
)
"""Those of which CUDA has no other kernel, so that torch refuses them when it is asked for deterministic ones."""
FREE = frozenset(
    "detach alias view _unsafe_view _reshape_alias lift_fresh empty empty_like new_empty empty_strided "
    "new_empty_strided is_pinned record_stream".split()
)
"""Operations that start no kernel, and may be given tensors of any device."""


def refuse_products(name, tensors, place):
    """Raise the error of a product that CUDA does not have, or does not repeat bit by bit."""
    if name not in PRODUCTS or place.type != "cuda":
        return
    if not tensors[0].is_floating_point():
        raise RuntimeError(f'"{name}_cuda" not implemented for {tensors[0].dtype}')
    workspace = os.environ.get("CUBLAS_WORKSPACE_CONFIG", "")
    if torch.are_deterministic_algorithms_enabled() and not workspace.startswith(":"):
        raise RuntimeError("Deterministic behavior was enabled, but CUBLAS_WORKSPACE_CONFIG=:4096:8 is needed")


def refuse_unordered(name, tensors, place):
    """Raise the error of an operation without a deterministic kernel, if one is asked for."""
    if place.type == "cuda" and name in NEVER_ORDERED and torch.are_deterministic_algorithms_enabled():
        if any(tensor.is_floating_point() for tensor in tensors):
            raise RuntimeError(f"{name}_cuda does not have a deterministic implementation")


def refuse_float64(place, *dtypes):
    if place.type == "mps" and torch.float64 in dtypes:
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        )


def refuse_missing(name, place, missing):
    if place.type == "mps" and name in missing:
        raise NotImplementedError(
            f"The operator 'aten::{name}' is not currently implemented for the MPS device. If you want this op to be "
            "considered for addition please comment on the issue. As a temporary fix, you can set the environment "
            "variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op."
        )
