"""What came out of a claim: all its runs, in a file from which verdicts and pages are made."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.eval.claims.runs import Run
from ecsuite.eval.results.sources import Record, Source
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError
from ecsuite.version import __version__


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The runs of a claim."""

    name: str
    """Name of the claim."""
    digest: str
    """Of the keys that decide, as they were when it ran; see `Claim.digest`."""
    is_small: bool
    """Whether it was a check of minutes."""
    runs: tuple[Run, ...]
    """All runs that were started, also those that failed."""
    hours: float
    """Hours of computing, all jobs together."""
    version: str = __version__
    """Of ecsuite."""
    commit: str | None = None
    """Of the checkout that ran it; its file of the claim has the criterion."""
    processor: str = ""
    """What it ran on."""

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        return {
            "claim": self.name,
            "digest": self.digest,
            "is_small": self.is_small,
            "version": self.version,
            "commit": self.commit,
            "processor": self.processor,
            "hours": round(self.hours, 4),
            "runs": [run.to_json() for run in self.runs],
        }

    def sources(self) -> list[Source]:
        """A source for each run."""
        return [
            Source(
                name=self.name,
                file=Path(self.name),
                is_run=True,
                settings=run.settings,
                seed=run.seed,
                status=run.status,  # type: ignore[arg-type]
                failure=run.failure,
                records=tuple(
                    Record(score=name, value=value, is_measure=True) for name, value in run.values.items()
                ),
            )
            for run in self.runs
        ]


def read_outcome(file: Path) -> Outcome:
    """Read what `ecsuite reproduce --out` wrote.

    Raises:
        ConfigError: If it is no such file, or can't be read.
    """
    try:
        tree: Mapping[str, Any] = without_format("result", read_json(file), file)
        keys = ("digest", "is_small", "version", "commit", "processor", "hours")
        return Outcome(
            name=tree["claim"],
            runs=tuple(msgspec.convert(run, Run) for run in tree["runs"]),
            **{key: tree[key] for key in keys},
        )
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{file}: not the results of a claim: {error}") from None
