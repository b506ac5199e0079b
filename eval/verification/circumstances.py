"""On what machine, with which versions figures were computed, and what of it is otherwise here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ecsuite.eval.verification.rows import Bound
from ecsuite.games.run_folder import versions
from ecsuite.runtime.devices import choose_device, choose_precision
from ecsuite.runtime.errors import ConfigError

SHARES = {"fp32": 0.001, "tf32": 0.02, "bf16": 0.02}
"""By precision, the share by which figures of agents may differ between machines: of rounds that are answered otherwise
where two answers are nearly as good, since sums are rounded otherwise."""
SHOWN = ("device", "hardware", "num_threads", "precision", "torch", "numpy", "ecsuite", "commit", "python")
"""What can change figures, in the order in which it is told."""
WORDS = {"num_threads": "threads"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Where the agents of a run are asked again, beside where they were trained."""

    device: torch.device
    """Where they are asked."""
    precision: str
    """With which precision."""
    num_threads: int
    """With how many threads."""
    there: Mapping[str, Any]
    """Versions and hardware of the run; empty where it does not say."""
    here: Mapping[str, Any]
    """The same here."""

    @property
    def changes(self) -> list[str]:
        """What is otherwise here, as `device: cuda there, cpu here`."""
        return [
            f"{WORDS.get(key, key)}: {_short(self.there[key])} there, {_short(self.here[key])} here"
            for key in SHOWN
            if self.there.get(key) is not None
            and self.here.get(key) is not None
            and self.there[key] != self.here[key]
        ]

    @property
    def is_same(self) -> bool:
        """Whether figures are expected to be equal to the last bit."""
        return bool(self.there) and not self.changes

    @property
    def bound(self) -> Bound:
        """How far figures of agents may be from the claimed ones."""
        precisions = (self.precision, str(self.there.get("precision", self.precision)))
        return Bound() if self.is_same else Bound(share=max(SHARES[each] for each in precisions))

    @property
    def why(self) -> str:
        """What is otherwise here, for the reason of a row."""
        if self.changes:
            return f"other {', '.join(change.partition(':')[0] for change in self.changes)}"
        return (
            "same machine, versions, threads and precision"
            if self.there
            else "the run does not say where it was"
        )


def circumstances(metadata: Mapping[str, Any], precision: str, device: str) -> Circumstances:
    """Where the agents of a run are asked again: as there, as far as this machine can.

    Args:
        metadata: Of the run.
        precision: That of its config.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If the device is not there.
    """
    there = metadata.get("versions")
    there = dict(there) if isinstance(there, Mapping) else {}
    place = choose_device(_device_of(there) if device == "auto" else device)
    try:
        used = choose_precision(precision, place)
    except ConfigError:  # tf32, which only CUDA has
        used = "fp32"
    asked = there.get("num_threads")
    is_possible = isinstance(asked, int) and 0 < asked <= (os.cpu_count() or 1)
    number = asked if isinstance(asked, int) and is_possible else torch.get_num_threads()
    here = versions(place) | {"num_threads": number, "precision": used}
    there |= {"precision": precision} if there else {}
    return Circumstances(device=place, precision=used, num_threads=number, there=there, here=here)


def _device_of(there: Mapping[str, Any]) -> str:
    """The device of a run, if it is here, else what `auto` chooses."""
    try:
        return choose_device(str(there.get("device"))).type
    except ConfigError:
        return "auto"


def _short(value: Any) -> str:
    """A value in a line: of a commit its beginning."""
    text = str(value)
    return text[:12] if len(text) == 40 and text.isalnum() else text
