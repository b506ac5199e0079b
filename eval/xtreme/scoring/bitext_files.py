"""Reads sentences in two languages: Tatoeba's, one per line, and BUCC's, one `id<TAB>sentence` per line.

Tatoeba's queries are the English sentences, sorted as in XTREME so that rows do not reveal the translations. Only the
original files (LASER) have the original rows; XTREME's files have no gold translations.
"""

from pathlib import Path

from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.formats.stored_text import ENDINGS, num_columns_in_words, read_lines
from ecsuite.runtime.errors import ConfigError, shown


def partner(path: Path, ending: str) -> Path | None:
    """The file with the same stem and another ending, plain or compressed; None if there is none."""
    name = path.name
    for packed in ENDINGS[1:]:
        name = name.removesuffix(packed)
    stem = name.rpartition(".")[0]
    found = (path.with_name(f"{stem}.{ending}{packed}") for packed in ENDINGS)
    return next((other for other in found if other.is_file()), None)


def read_tatoeba(path: Path, english_ending: str, *, is_sorted: bool) -> Bitext:
    """Read the sentences of a language and their English translations.

    Args:
        path: The sentences of the language.
        english_ending: Ending of the English file in the same folder, after the last dot.
        is_sorted: Whether the English file is already sorted (XTREME), so that gold translations are unknown.

    Raises:
        ConfigError: If a file is missing or cannot be read, or the numbers of lines differ.
    """
    english_path = _require_partner(path, english_ending)
    targets = [line.strip() for line in read_lines(path)]
    english = [line.strip() for line in read_lines(english_path)]
    if len(targets) != len(english):
        raise ConfigError(
            f"{path}: expected {len(english)} lines as in {english_path.name}, found {len(targets)}"
        )
    if not targets:
        raise ConfigError(f"{path}: expected sentences, found none")
    rows = sorted(range(len(english)), key=english.__getitem__)
    names = tuple(map(str, range(len(targets))))
    return Bitext(
        source_ids=names,
        sources=tuple(english[row] for row in rows),
        target_ids=names,
        targets=tuple(targets),
        gold=None if is_sorted else frozenset(zip(names, map(str, rows), strict=True)),
    )


def read_bucc(path: Path) -> Bitext:
    """Read named sentences of another language and of English, and the gold translations if there are any.

    Args:
        path: The sentences of the other language; `.en` and optionally `.gold` are in the same folder.

    Raises:
        ConfigError: If a file is missing or cannot be read, a line does not have two columns, a name is repeated,
            or a gold pair has an unknown name.
    """
    sources = _read_named(path)
    targets = _read_named(_require_partner(path, "en"))
    gold_path = partner(path, "gold")
    gold = None
    if gold_path is not None:
        pairs = []
        for number, line in enumerate(read_lines(gold_path), 1):
            source, target = _split_in_two(line, gold_path, number, "the names of two sentences")
            if source not in sources or target not in targets:
                missing = source if source not in sources else target
                raise ConfigError(f"{gold_path}:{number}: expected a sentence name, found {shown(missing)}")
            pairs.append((source, target))
        gold = frozenset(pairs)
    return Bitext(
        source_ids=tuple(sources),
        sources=tuple(sources.values()),
        target_ids=tuple(targets),
        targets=tuple(targets.values()),
        gold=gold,
    )


def _require_partner(path: Path, ending: str) -> Path:
    found = partner(path, ending)
    if found is None:
        raise ConfigError(f"{path}: expected a file .{ending} of the same name beside it, found none")
    return found


def _read_named(path: Path) -> dict[str, str]:
    sentences: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        name, sentence = _split_in_two(line, path, number, "a name, a tab and a sentence")
        if name in sentences:
            raise ConfigError(f"{path}:{number}: expected unique names, found {shown(name)} again")
        sentences[name] = sentence
    if not sentences:
        raise ConfigError(f"{path}: expected sentences, found none")
    return sentences


def _split_in_two(line: str, path: Path, number: int, wanted: str) -> tuple[str, str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise ConfigError(f"{path}:{number}: expected {wanted}, found {num_columns_in_words(len(fields))}")
    return fields[0].strip(), fields[1].strip()
