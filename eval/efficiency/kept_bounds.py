"""Bounds on disk, since that of a large space takes minutes: one file each, named after what it was computed from."""

from collections.abc import Callable
from pathlib import Path

from ecsuite.eval.efficiency.bound import LEAST_BETA, MOST_BETA, NUM_BETAS, PRECISION, Bound, compute_bound
from ecsuite.files.data_folder import data_folder
from ecsuite.runtime.errors import DamagedError
from ecsuite.spaces.space import Space

VERSION = f"{NUM_BETAS} {MOST_BETA} {LEAST_BETA} {PRECISION:g}"
"""What a bound depends on beside its space."""


def bound_of(
    space: Space,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Bound:
    """The bound of a space, read where it was kept, else computed and kept in the folder of downloaded data.

    Args:
        space: The meanings.
        progress: Called with the number of values of beta that are done, and of all.
    """
    kept = kept_bound(space.digest)
    if kept is not None:
        return kept
    bound = compute_bound(space, progress)
    _write(_file(space.digest), space, bound)
    return bound


def kept_bound(digest: str) -> Bound | None:
    """The bound of the space of a digest, such as that of a signature.

    Returns:
        None if there is none on this machine, or it is damaged or of another version.
    """
    from ecsuite.files.tensor_files import read_tensors

    try:
        tensors, values = read_tensors(_file(digest))
    except (OSError, DamagedError):
        return None
    if values != {"space": digest, "version": VERSION}:
        return None
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    return Bound(
        betas=arrays["betas"],
        complexity=arrays["complexity"],
        accuracy=arrays["accuracy"],
        encoders=[arrays[f"encoder {place}"] for place in range(len(arrays["betas"]))],
    )


def _file(digest: str) -> Path:
    return data_folder("bounds") / f"{digest}.safetensors"


def _write(file: Path, space: Space, bound: Bound) -> None:
    """Keep a bound; a folder that can't be written keeps nothing."""
    import torch

    from ecsuite.files.tensor_files import write_tensors

    curves = {"betas": bound.betas, "complexity": bound.complexity, "accuracy": bound.accuracy}
    tensors = {name: torch.from_numpy(each) for name, each in curves.items()}
    for place, encoder in enumerate(bound.encoders):
        tensors[f"encoder {place}"] = torch.from_numpy(encoder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(file, tensors, {"space": space.digest, "version": VERSION})
    except OSError:
        return
