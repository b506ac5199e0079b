"""The figures that the ICY paper prints of its study with people (`published.yaml`)."""

from collections.abc import Mapping
from typing import Any

from ecsuite.parts.config import packaged_yaml

_TABLES: Mapping[str, Any] = packaged_yaml("ecsuite.people", "published.yaml")

SOURCE: str = _TABLES["source"]
PUBLISHED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    (dataset, grammar): dict(zip(_TABLES["columns"], figures, strict=True))
    for dataset in ("synth", "eng")
    for grammar, figures in _TABLES[dataset].items()
}
"""By dataset and grammar: `participants`, and mean and half-width of `minutes`, `score` and `held_out_accuracy`."""
