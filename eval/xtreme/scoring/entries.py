"""What `tasks.yaml` says of each task; imports nothing heavy, as names of tasks are completed while they are typed."""

from collections.abc import Mapping
from typing import Any

from ecsuite.parts.config import packaged_yaml

ENTRIES: Mapping[str, Mapping[str, Any]] = packaged_yaml("ecsuite.eval.xtreme.scoring", "tasks.yaml")
"""Fields of a `Task` and its kind, by name, in the order of the paper's tables."""
