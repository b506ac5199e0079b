"""Finds and reads data of tasks: XTREME's own `download` folder, or the files of the tasks' authors, or both.

A folder has one subfolder per task (and `squad`, the training data of xquad and mlqa), with the files of XTREME's
scripts or the original ones, each plain, `.xz` or `.gz`. If there are both, the first with labels is read, as XTREME
removes the labels from its test files.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ecsuite.config import ConfigError, look_up, unknown_name
from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.scoring.bitext_files import partner, read_bucc, read_tatoeba
from ecsuite.eval.xtreme.scoring.examples import Bitext, Question, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.pair_files import LABELS, has_labels, read_named_pairs, read_pairs
from ecsuite.eval.xtreme.scoring.question_files import has_answers, read_questions
from ecsuite.eval.xtreme.scoring.tagged_files import TAGS, has_tags, read_conllu, read_tagged
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.formats.stored_text import ENDINGS

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")

Examples = list[TaggedSentence] | list[TextPair] | list[Question] | Bitext
"""Examples of a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Paths and reader of one file format."""

    pattern: str
    """Path with placeholders {language}, {iso3}, {name} (English, lower case) and {split}; * matches anything."""
    read: Callable[[Sequence[Path], str], Examples]
    """Reader, called with the files and the language."""
    is_labelled: Callable[[Path], bool]
    """Whether the files have labels; called with the first file, and fast."""
    splits: dict[str, str]
    """Name of each available split in file names."""
    languages: tuple[str, ...] | None = None
    """Languages of files without a language in their names; None if the name has it."""


_ALL = {"train": "train", "dev": "dev", "test": "test"}


def _tagged(task: str) -> Layout:
    return Layout(
        pattern=f"{task}/{{split}}-{{language}}.tsv",
        read=lambda paths, language: read_tagged(paths[0], TAGS[task]),
        is_labelled=has_tags,
        splits=_ALL,
    )


def _wikiann(pattern: str) -> Layout:
    return Layout(
        pattern=pattern,
        read=lambda paths, language: read_tagged(paths[0], TAGS["panx"], language=language),
        is_labelled=has_tags,
        splits=_ALL,
    )


def _treebanks(folder: str) -> Layout:
    return Layout(
        pattern=f"udpos/{folder}/{{language}}_*-ud-{{split}}*.conllu",
        read=read_conllu,
        is_labelled=lambda path: True,
        splits=_ALL,
    )


def _pairs(task: str) -> Layout:
    return Layout(
        pattern=f"{task}/{{split}}-{{language}}.tsv",
        read=lambda paths, language: read_pairs(paths[0], LABELS[task]),
        is_labelled=has_labels,
        splits=_ALL,
    )


def _named_pairs(
    task: str, pattern: str, splits: dict[str, str], languages: tuple[str, ...] | None = None
) -> Layout:
    return Layout(
        pattern=f"{task}/{pattern}",
        read=lambda paths, language: read_named_pairs(paths[0], LABELS[task], language),
        is_labelled=has_labels,
        splits=splits,
        languages=languages,
    )


def _questions(pattern: str, splits: dict[str, str], languages: tuple[str, ...] | None = None) -> Layout:
    return Layout(
        pattern=pattern,
        read=lambda paths, language: read_questions(paths[0]),
        is_labelled=has_answers,
        splits=splits,
        languages=languages,
    )


def _all_of_tydiqa(pattern: str) -> Layout:
    """One file for all languages; the id of a question begins with the language."""
    return Layout(
        pattern=pattern,
        read=lambda paths, language: read_questions(paths[0], prefix=f"{_name(language)}-"),
        is_labelled=has_answers,
        splits={"train": "train"},
        languages=TASKS["tydiqa"].languages,
    )


def _tatoeba(pattern: str, english: str, *, is_sorted: bool) -> Layout:
    return Layout(
        pattern=pattern,
        read=lambda paths, language: read_tatoeba(paths[0], english, is_sorted=is_sorted),
        is_labelled=lambda path: not is_sorted,
        splits={"test": "test"},
    )


def _bucc(pattern: str, splits: dict[str, str]) -> Layout:
    return Layout(
        pattern=pattern,
        read=lambda paths, language: read_bucc(paths[0]),
        is_labelled=lambda path: partner(path, "gold") is not None,
        splits=splits,
    )


_X_FINAL = {"train": "train", "dev": "dev_2k", "test": "test_2k"}
_DEV_AND_TEST = {"dev": "dev", "test": "test"}
_XNLI = TASKS["xnli"].languages
_ORIGINAL_BUCC = {"dev": "sample", "test": "training"}

LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "xnli": (
        _pairs("xnli"),
        _named_pairs("xnli", "xnli.{split}.tsv", _DEV_AND_TEST, _XNLI),
        _named_pairs("xnli", "XNLI-1.0/xnli.{split}.tsv", _DEV_AND_TEST, _XNLI),
        _named_pairs("xnli", "multinli.{split}.{language}.tsv", {"train": "train"}),
        _named_pairs("xnli", "XNLI-MT-1.0/multinli/multinli.{split}.{language}.tsv", {"train": "train"}),
    ),
    "pawsx": (
        _pairs("pawsx"),
        _named_pairs("pawsx", "x-final/{language}/{split}.tsv", _X_FINAL),
        _named_pairs("pawsx", "x-final/{language}/{split}.tsv", {"train": "translated_train"}),
    ),
    "udpos": (_tagged("udpos"), _treebanks("conllu"), _treebanks("ud-treebanks-v*/UD_*")),
    "panx": (_tagged("panx"), _wikiann("panx/{language}/{split}")),
    "xquad": (
        _questions("xquad/xquad.{language}.json", {"test": "test"}),
        _questions("squad/{split}-v1.1.json", {"train": "train", "dev": "dev"}, ("en",)),
    ),
    "mlqa": (
        _questions("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json", _DEV_AND_TEST),
        _questions("squad/{split}-v1.1.json", {"train": "train"}, ("en",)),
    ),
    "tydiqa": (
        _questions("tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.{language}.train.json", {"train": "train"}),
        _questions("tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{language}.dev.json", {"test": "dev"}),
        _all_of_tydiqa("tydiqa/tydiqa-goldp-v1.1-train.json"),
        _all_of_tydiqa("tydiqa/tydiqa-goldp-v1.1-train/tydiqa-goldp-v1.1-train.json"),
        _questions("tydiqa/tydiqa-goldp-v1.1-dev/tydiqa-goldp-dev-{name}.json", {"test": "dev"}),
    ),
    "bucc2018": (
        _bucc("bucc2018/{language}-en.{split}.{language}", _DEV_AND_TEST),
        _bucc("bucc2018/{language}-en/{language}-en.{split}.{language}", _ORIGINAL_BUCC),
        _bucc("bucc2018/{language}-en.{split}.{language}", _ORIGINAL_BUCC),
    ),
    "tatoeba": (
        _tatoeba("tatoeba/tatoeba.{iso3}-eng.{iso3}", "eng", is_sorted=False),
        _tatoeba("tatoeba/{language}-en.{language}", "en", is_sorted=True),
    ),
}
"""By task; XTREME's own layout is first, except for Tatoeba, whose gold translations are in the original files only."""


def find_file(folder: Path, task: str, language: str, split: str) -> Path | None:
    """The (first) file that `read_examples` reads; None if there is none.

    Raises:
        ConfigError: If there is no such task or split, or a file cannot be opened.
    """
    found = _find(folder, task, language, split)
    return None if found is None else found[1][0]


def read_examples(folder: Path, task: str, language: str, split: str) -> Examples:
    """The examples of a task in a language, in the order of the file.

    Args:
        folder: The folder with one subfolder per task.
        task: A name in `TASKS`.
        language: Code of two letters.
        split: train, dev or test. As in XTREME, test is the authors' dev split for tydiqa and their training split for
            bucc2018; train of xquad and mlqa is SQuAD's.

    Returns:
        Tagged sentences, pairs, questions or a bitext, by the kind of the task; without labels if the file has none.

    Raises:
        ConfigError: If data are missing or malformed (with file and line).
    """
    found = _find(folder, task, language, split)
    if found is None:
        patterns = [_relative(layout, language, split) for layout in LAYOUTS[task] if split in layout.splits]
        if not patterns:
            raise ConfigError(f"{task} has no {split}")
        languages = ", ".join(available(folder, task, split)) or "none"
        raise ConfigError(
            f"{folder}: expected {split} of {task} in '{language}', such as {patterns[0]}, found none; "
            f"available languages: {languages}"
        )
    layout, paths = found
    return layout.read(paths, language)


def available(folder: Path, task: str, split: str) -> tuple[str, ...]:
    """Languages with a split, labelled or not: those of the task in its order, then other known languages.

    Raises:
        ConfigError: If there is no such task or split.
    """
    candidates = dict.fromkeys((*look_up("task", task, TASKS).languages, *LANGUAGES))
    return tuple(language for language in candidates if _files(folder, task, language, split))


def scored_split(folder: Path, task: str, language: str) -> str | None:
    """The split for scoring: test if it has labels, else dev if it has labels, else None."""
    for split in ("test", "dev"):
        found = _find(folder, task, language, split)
        if found is not None and found[0].is_labelled(found[1][0]):
            return split
    return None


def _find(folder: Path, task: str, language: str, split: str) -> tuple[Layout, list[Path]] | None:
    """The first layout with labels, else the first layout."""
    found = _files(folder, task, language, split)
    labelled = (entry for entry in found if len(found) == 1 or entry[0].is_labelled(entry[1][0]))
    return next(labelled, found[0] if found else None)


def _files(folder: Path, task: str, language: str, split: str) -> list[tuple[Layout, list[Path]]]:
    """The layouts with files for a split, and these files in the order of their names."""
    look_up("task", task, TASKS)
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    found = []
    for layout in LAYOUTS[task]:
        if split not in layout.splits or (layout.languages is not None and language not in layout.languages):
            continue
        relative = _relative(layout, language, split)
        if "*" in relative:
            paths = _by_name(folder.glob(f"{relative}*"))
        else:
            paths = [path for ending in ENDINGS if (path := folder / f"{relative}{ending}").is_file()][:1]
        if paths:
            found.append((layout, paths))
    return found


def _by_name(paths: Iterable[Path]) -> list[Path]:
    """Treebanks in the order of their names; a plain and a compressed copy count once."""
    by_name: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: path.name):
        if path.suffix in (".conllu", *ENDINGS):
            by_name.setdefault(path.name.removesuffix(".xz").removesuffix(".gz"), path)
    return list(by_name.values())


def _relative(layout: Layout, language: str, split: str) -> str:
    """Path of a layout's file relative to the folder."""
    iso3, name = _iso3(language), _name(language)
    return layout.pattern.format(language=language, iso3=iso3, name=name, split=layout.splits[split])


def _iso3(language: str) -> str:
    return LANGUAGES[language].iso3 if language in LANGUAGES else language


def _name(language: str) -> str:
    return LANGUAGES[language].name.lower() if language in LANGUAGES else language
