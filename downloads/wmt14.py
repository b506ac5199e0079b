"""English-French sentence pairs of WMT14, for the machine-translation experiment."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ecsuite.downloads.downloads import DataSource, make_file
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError

SOURCE = DataSource(
    dataset="wmt/wmt14",
    config="fr-en",
    revision="b199e406369ec1b7634206d3ded5ba45de2fe696",
    unit="pairs",
    offline_advice="Without a network, translate with your own pairs, `source<TAB>target` per line: --pairs FILE",
)

NUM_PAIRS = 3_000_000
"""More than the paper's experiment reads: 50 million source tokens."""

BREAKS = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")
"""Replaces characters that end a column or a line; other spaces, such as French no-break spaces, are kept."""


def prepare_wmt14(
    file: Path,
    *,
    num_pairs: int = NUM_PAIRS,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write the first pairs of the training split as compressed lines `en<TAB>fr`, in the order of the data set.

    A file that is complete according to `sources.json` in its folder is not downloaded again. Characters that end a
    column or a line within a sentence become spaces; pairs with an empty sentence (Europarl has some) are left out.

    Args:
        file: The gzip file to write, such as en-fr.tsv.gz.
        num_pairs: Number of pairs, without those left out.
        progress: Called with a label, the pairs done and their number.
        note: Called with messages to the user, a line each.

    Raises:
        ConfigError: If the file's name does not end in .gz, the hub does not have the data or cannot be reached,
            or `datasets` is not installed.
    """
    if num_pairs < 1:
        raise ConfigError(f"expected at least one pair, got {num_pairs}")
    if file.suffix != ".gz" or file.is_dir():
        raise ConfigError(f"{file}: expected the name of a gzip file, such as en-fr.tsv.gz")
    file.parent.mkdir(parents=True, exist_ok=True)
    make_file(
        file,
        SOURCE,
        _pair,
        num_rows=num_pairs,
        progress=lambda count: progress(f"{count:,} pairs", count, num_pairs),
        note=note,
    )
    return file


def _pair(row: Mapping[str, Any]) -> str | None:
    """The English and the French sentence with a tab between; None if one of them is empty."""
    sentences = [str(row["translation"][language]).translate(BREAKS).strip() for language in ("en", "fr")]
    return "\t".join(sentences) if all(sentences) else None
