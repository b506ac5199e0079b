"""Wikipedia in the languages of the XferBench paper: one file of articles per language, from Hugging Face."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ecsuite.downloads.downloads import DataSource, make_file
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError

DATASET = "wikimedia/wikipedia"
DUMP = "20231101"
REVISION = "97323c5edeffcf4bd6786b4ed0788c84abd24b03"
"""Commit used for the published scores (Boldt & Mortensen 2024, footnote 3, where a character is missing)."""

NUM_ARTICLES: dict[str, int | None] = {
    **dict.fromkeys(XFERBENCH_TARGETS, 100_000),
    **dict.fromkeys(("ar", "es", "fr", "ko", "ru", "zh"), 200_000),
    "hi": None,
}
"""Number of articles that the authors used of each target and each human source language; None is all."""
NUM_ARTICLES_ELSE = 100_000
"""Number of articles of languages that they did not use."""

OFFLINE_ADVICE = (
    "Without a network, score with a folder of one text per language (da.txt, eu.txt.gz …): "
    "--metrics xferbench,targets=FOLDER"
)


def prepare_wikipedia(
    languages: Sequence[str],
    folder: Path,
    *,
    num_articles: int | None = None,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Write `LANGUAGE.jsonl.gz` for each language: an article per line, as a JSON string, in the order of the dump.

    Articles are streamed, so that only those that are used are downloaded. A language that is complete according to
    `sources.json` in the folder is not downloaded again; an interrupted one starts again. The published scores use the
    first documents of each dump (`wikipedia.py` of the authors' program).

    Args:
        languages: Codes of Wikipedia; duplicates are ignored.
        folder: Folder for the files; created if missing.
        num_articles: Number of articles per language; None for the authors' numbers, `NUM_ARTICLES`.
        progress: Called with a label, the languages done (with fractions) and their number.
        note: Called with messages to the user, a line each.

    Returns:
        The files, in the order of `languages`.

    Raises:
        ConfigError: If a code is invalid, the hub does not have it or cannot be reached, or `datasets` is not
            installed. Finished languages are kept.
    """
    languages = list(dict.fromkeys(languages))
    for language in languages:
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", language):
            raise ConfigError(f"expected a language code such as da or zh-yue, got '{language}'")
    if not languages:
        raise ConfigError("expected language codes such as da,eu, got none")
    if num_articles is not None and num_articles < 1:
        raise ConfigError(f"expected at least one article, got {num_articles}")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{language}.jsonl.gz" for language in languages]
    for index, (language, path) in enumerate(zip(languages, paths, strict=True)):
        num_requested = num_articles or NUM_ARTICLES.get(language, NUM_ARTICLES_ELSE)

        def report_progress(
            count: int,
            language: str = language,
            index: int = index,
            num_requested: int | None = num_requested,
        ) -> None:
            share = count / num_requested if num_requested else 0.0
            progress(f"{language}: {count:,} articles", index + share, len(languages))

        make_file(
            path,
            DataSource(
                dataset=DATASET,
                config=f"{DUMP}.{language}",
                revision=REVISION,
                unit="articles",
                offline_advice=OFFLINE_ADVICE,
            ),
            lambda row: str(row["text"]),
            num_rows=num_requested,
            as_line=lambda text: json.dumps(text, ensure_ascii=False),
            progress=report_progress,
            note=note,
        )
        progress(language, index + 1, len(languages))
    return paths
