"""Finds and reads data of tasks: XTREME's own `download` folder, or the files of the tasks' authors, or both.

A folder has one subfolder per task (and `squad`, the training data of xquad and mlqa), with the files of XTREME's
scripts or the original ones (`layouts.yaml`), each plain, `.xz` or `.gz`. If there are both, the first with labels is
read, as XTREME removes the labels from its test files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.scoring.bitext_files import partner, read_bucc, read_tatoeba
from ecsuite.eval.xtreme.scoring.examples import Bitext, Question, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.pair_files import LABELS, has_labels, read_named_pairs, read_pairs
from ecsuite.eval.xtreme.scoring.question_files import has_answers, read_questions
from ecsuite.eval.xtreme.scoring.tagged_files import TAGS, has_tags, read_conllu, read_tagged
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.formats.stored_text import ENDINGS
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError, look_up, unknown_name

SPLITS = ("train", "dev", "test")

Examples = list[TaggedSentence] | list[TextPair] | list[Question] | Bitext
"""Examples of a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """A file format of examples."""

    read: Callable[[Sequence[Path], str, str], Examples]
    """Reader, called with the files, the task and the language."""
    is_labelled: Callable[[Path], bool]
    """Whether the files have labels; called with the first file, and fast."""


FORMATS: Mapping[str, Format] = {
    "tagged": Format(
        read=lambda paths, task, language: read_tagged(paths[0], TAGS[task]), is_labelled=has_tags
    ),
    "wikiann": Format(
        read=lambda paths, task, language: read_tagged(paths[0], TAGS[task], language=language),
        is_labelled=has_tags,
    ),
    "conllu": Format(
        read=lambda paths, task, language: read_conllu(paths, language), is_labelled=lambda path: True
    ),
    "pairs": Format(
        read=lambda paths, task, language: read_pairs(paths[0], LABELS[task]), is_labelled=has_labels
    ),
    "named_pairs": Format(
        read=lambda paths, task, language: read_named_pairs(paths[0], LABELS[task], language),
        is_labelled=has_labels,
    ),
    "questions": Format(read=lambda paths, task, language: read_questions(paths[0]), is_labelled=has_answers),
    "questions_of_all": Format(
        read=lambda paths, task, language: read_questions(paths[0], prefix=f"{_name(language)}-"),
        is_labelled=has_answers,
    ),
    "tatoeba": Format(
        read=lambda paths, task, language: read_tatoeba(paths[0], "eng", is_sorted=False),
        is_labelled=lambda path: True,
    ),
    "tatoeba_sorted": Format(
        read=lambda paths, task, language: read_tatoeba(paths[0], "en", is_sorted=True),
        is_labelled=lambda path: False,
    ),
    "bucc": Format(
        read=lambda paths, task, language: read_bucc(paths[0]),
        is_labelled=lambda path: partner(path, "gold") is not None,
    ),
}
"""By name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where the files of a task are, and their format."""

    pattern: str
    """Path with placeholders {language}, {iso3}, {name} (English, lower case) and {split}; * matches anything."""
    format: str
    """A name in `FORMATS`."""
    splits: Mapping[str, str] = field(default_factory=lambda: dict(zip(SPLITS, SPLITS, strict=True)))
    """Name of each available split in file names."""
    languages: tuple[str, ...] | None = None
    """Languages of files without a language in their names; None if the name has it."""

    def is_labelled(self, path: Path) -> bool:
        """Whether the files have labels."""
        return FORMATS[self.format].is_labelled(path)


LAYOUTS: Mapping[str, tuple[Layout, ...]] = msgspec.convert(
    packaged_yaml("ecsuite.eval.xtreme.scoring", "layouts.yaml"), dict[str, tuple[Layout, ...]]
)
"""By task."""


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
    return FORMATS[layout.format].read(paths, task, language)


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
    iso3 = LANGUAGES[language].iso3 if language in LANGUAGES else language
    return layout.pattern.format(
        language=language, iso3=iso3, name=_name(language), split=layout.splits[split]
    )


def _name(language: str) -> str:
    return LANGUAGES[language].name.lower() if language in LANGUAGES else language
