"""Sentences in two languages: Tatoeba's, a line each, and BUCC's, a line `id<TAB>sentence` each.

Of Tatoeba, what is looked for are the English sentences, sorted as XTREME sorts them so that rows tell nothing. Only
the original files (LASER's) know which row a sorted sentence had; XTREME's have no answers.
"""

from pathlib import Path

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.stored_text import ENDINGS, num_columns_in_words, read_lines


def partner(path: Path, ending: str) -> Path | None:
    """The file of the same name but for what follows its last dot, plain or packed; None if there is none."""
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
        english_ending: What follows the last dot in the name of the English file beside it.
        is_sorted: Whether that file is sorted already (XTREME's), so that the answers are not known.

    Raises:
        ConfigError: If a file is not there or cannot be read, or they have different numbers of lines.
    """
    english_path = _there(path, english_ending)
    targets = [line.strip() for line in read_lines(path)]
    english = [line.strip() for line in read_lines(english_path)]
    if len(targets) != len(english):
        raise ConfigError(
            f"{path} has {len(targets)} lines, {english_path.name} has {len(english)}: expected as many"
        )
    if not targets:
        raise ConfigError(f"{path}: no sentence in it")
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
    """Read sentences with names, of the other language and of English, and which translate each other, if known.

    Args:
        path: The sentences of the other language; beside it `.en` and perhaps `.gold`.

    Raises:
        ConfigError: If a file is not there or cannot be read, a line is not two columns, a name is there twice, or the
            gold names a sentence that is not there.
    """
    sources = _named(path)
    targets = _named(_there(path, "en"))
    gold_path = partner(path, "gold")
    gold = None
    if gold_path is not None:
        pairs = []
        for number, line in enumerate(read_lines(gold_path), 1):
            source, target = _two(line, gold_path, number, "the names of two sentences")
            if source not in sources or target not in targets:
                missing = source if source not in sources else target
                raise ConfigError(f"{gold_path}:{number}: no sentence is named '{missing}'")
            pairs.append((source, target))
        gold = frozenset(pairs)
    return Bitext(
        source_ids=tuple(sources),
        sources=tuple(sources.values()),
        target_ids=tuple(targets),
        targets=tuple(targets.values()),
        gold=gold,
    )


def _there(path: Path, ending: str) -> Path:
    found = partner(path, ending)
    if found is None:
        raise ConfigError(f"{path}: no file .{ending} of the same name beside it")
    return found


def _named(path: Path) -> dict[str, str]:
    sentences: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        name, sentence = _two(line, path, number, "a name, a tab and a sentence")
        if name in sentences:
            raise ConfigError(f"{path}:{number}: a second sentence named '{name}'")
        sentences[name] = sentence
    if not sentences:
        raise ConfigError(f"{path}: no sentence in it")
    return sentences


def _two(line: str, path: Path, number: int, wanted: str) -> tuple[str, str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise ConfigError(f"{path}:{number}: expected {wanted}, found {num_columns_in_words(len(fields))}")
    return fields[0].strip(), fields[1].strip()
