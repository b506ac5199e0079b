"""Wikipedia in the languages of the XferBench paper: one file of articles a language, as Hugging Face has them."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ecsuite.config import ConfigError
from ecsuite.downloads.downloads import Source, make_file
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.metrics.score import no_progress

DATASET = "wikimedia/wikipedia"
DUMP = "20231101"
REVISION = "97323c5edeffcf4bd6786b4ed0788c84abd24b03"
"""Of the published scores (Boldt & Mortensen 2024, footnote 3, where a character is missing)."""

NUM_ARTICLES: dict[str, int | None] = {
    **dict.fromkeys(XFERBENCH_TARGETS, 100_000),
    **dict.fromkeys(("ar", "es", "fr", "ko", "ru", "zh"), 200_000),
    "hi": None,
}
"""How many articles the authors took of each target and of each human source language; None is all."""
NUM_ARTICLES_ELSE = 100_000
"""Of languages that they did not use."""

INSTEAD = (
    "Without a network, score with a folder of one text a language (da.txt, eu.txt.gz …): --targets FOLDER"
)


def prepare_wikipedia(
    languages: Sequence[str],
    folder: Path,
    *,
    num_articles: int | None = None,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Write `LANGUAGE.jsonl.gz` for each language: a line an article, its text as a JSON string, in the dump's order.

    Articles are streamed, so no more is downloaded than is kept. A language that `sources.json` in the folder
    knows to be whole is not read again; one that was interrupted begins again. In the published scores, a
    language's documents are the first ones of its dump (`wikipedia.py` of the authors' program).

    Args:
        languages: Wikipedia's codes; each is made once, however often it is named.
        folder: Where the files go; made if it is not there.
        num_articles: How many of each language; None for the authors' numbers, `NUM_ARTICLES`.
        progress: Called with a label, the languages done (with fractions) and their number.
        note: Called with what the user should know, a line at a time.

    Returns:
        The files, in the order of `languages`.

    Raises:
        ConfigError: If a code cannot be one, the hub does not have it or cannot be reached, or `datasets` is not
            installed. Languages that are finished stay.
    """
    languages = list(dict.fromkeys(languages))
    for language in languages:
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", language):
            raise ConfigError(f"'{language}' is no code of a language; expected such as da, or zh-yue")
    if not languages:
        raise ConfigError("no language given; expected codes such as da,eu")
    if num_articles is not None and num_articles < 1:
        raise ConfigError(f"{num_articles} articles: expected one or more")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{language}.jsonl.gz" for language in languages]
    for index, (language, path) in enumerate(zip(languages, paths, strict=True)):
        asked = num_articles or NUM_ARTICLES.get(language, NUM_ARTICLES_ELSE)

        def report_progress(
            count: int, language: str = language, index: int = index, asked: int | None = asked
        ) -> None:
            share = count / asked if asked else 0.0
            progress(f"{language}: {count:,} articles", index + share, len(languages))

        make_file(
            path,
            Source(
                dataset=DATASET,
                config=f"{DUMP}.{language}",
                revision=REVISION,
                unit="articles",
                instead=INSTEAD,
            ),
            lambda row: str(row["text"]),
            num_rows=asked,
            as_line=lambda text: json.dumps(text, ensure_ascii=False),
            progress=report_progress,
            note=note,
        )
        progress(language, index + 1, len(languages))
    return paths
