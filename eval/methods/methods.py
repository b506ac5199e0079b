"""The methods section of sources: paragraphs that say what their files say, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.methods.prose import (
    Cite,
    Paragraph,
    Sentence,
    bibliography,
    cited,
    latex,
    listed,
    markdown,
    text,
)
from ecsuite.eval.methods.runs import ending, runs_paragraph
from ecsuite.eval.methods.scoring import scores_paragraph
from ecsuite.eval.methods.settings import line_of, options_text, value_text
from ecsuite.eval.methods.studies import study_paragraphs
from ecsuite.eval.methods.training import (
    agents_paragraph,
    are_rounds,
    evaluation_paragraph,
    game_paragraph,
    models_paragraph,
    training_paragraph,
)
from ecsuite.eval.results.reading import read_sources
from ecsuite.eval.results.sources import CONFIG, Source, read_config, speaker_of
from ecsuite.grammars.registry import GRAMMARS
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.printable import counted
from ecsuite.tables.forms import Form

FORMS = {Form.TEXT.value: text, Form.MARKDOWN.value: markdown, Form.LATEX.value: latex}
"""What writes paragraphs in a form."""
LIBRARIES = {"torch": "PyTorch", "numpy": "NumPy", "python": "Python"}
"""Versions that are told, by their keys."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Methods:
    """The methods section of sources."""

    paragraphs: tuple[Paragraph, ...]
    """What it says."""

    def __str__(self) -> str:
        """The section in Markdown."""
        return self.text()

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        """The section in a notebook."""
        return self.text()

    def text(self, form: str = "markdown") -> str:
        """The section.

        Args:
            form: text, markdown, or latex, whose citations have the keys of `bibtex`.

        Raises:
            ConfigError: If there is no such form.
        """
        return look_up("form", str(form), FORMS)(self.paragraphs)

    def bibtex(self) -> str:
        """BibTeX of the works that it cites."""
        return bibliography(self.paragraphs)

    def to_json(self) -> dict[str, Any]:
        """The paragraphs by what they are about, and the keys of the works."""
        texts: dict[str, list[str]] = {}
        # Of games that were trained and others that were played, and of several studies, some are about the same.
        for each in self.paragraphs:
            texts.setdefault(each.about, []).append(each.text())
        return {
            "paragraphs": {about: "\n\n".join(each) for about, each in texts.items()},
            "works": cited(self.paragraphs),
        }


def methods(
    paths: Iterable[str | Path], *, metrics: Sequence[str] | None = None, hardware: bool = False
) -> Methods:
    """The methods section of runs, sweeps and corpora.

    Args:
        paths: Run folders, folders of sweeps, corpora, files of scores.
        metrics: The scores that are told; None: all that they have.
        hardware: Whether the machine is told.

    Raises:
        ConfigError: If there is nothing at a path, or they have no such score.
        DamagedError: If a file was changed.
    """
    places = [Path(path) for path in paths]
    studies = {place: found for place in places if (found := study_paragraphs(place)) is not None}
    others = [place for place in places if place not in studies]
    sources = read_sources(others) if others else []
    runs = [source for source in sources if source.is_run]
    corpora = [source for source in sources if not source.is_run]
    paragraphs: list[Paragraph | None] = [each for found in studies.values() for each in found]
    configured = [(run, _config(run)) for run in runs]
    for are_played in (False, True):
        some = [(run, config) for run, config in configured if are_rounds([config]) == are_played]
        paragraphs += _run_paragraphs(some) if some else []
    paragraphs += [_corpus_paragraph(source) for source in corpora]
    paragraphs += [scores_paragraph(sources, metrics), _versions(sources, hardware=hardware)]
    told = tuple(each for each in paragraphs if each is not None and each.sentences)
    if not told:
        raise ConfigError(f"{', '.join(map(str, places))}: says nothing of how it was made")
    return Methods(paragraphs=told)


def _run_paragraphs(configured: Sequence[tuple[Source, Mapping[str, Any]]]) -> list[Paragraph | None]:
    """What is told of runs whose agents were trained, or of runs in which nobody is; each with its config."""
    runs = [run for run, _ in configured]
    configs = [config for _, config in configured if config]
    paragraphs: list[Paragraph | None] = []
    if configs:
        paragraphs += [
            game_paragraph(configs),
            agents_paragraph(configs),
            training_paragraph(configs, [ending(run) for run, config in configured if config]),
        ]
    done = "played" if are_rounds(configs) else "trained"
    paragraphs += [models_paragraph(run.metadata for run in runs), runs_paragraph(runs, done=done)]
    return [*paragraphs, evaluation_paragraph(configs, _chance(runs))]


def _config(run: Source) -> Mapping[str, Any]:
    """The settings of a run by section; empty where its folder is not there."""
    file = None if run.folder is None else run.folder / CONFIG
    return read_config(file) if file is not None and file.is_file() else {}


def _chance(runs: Sequence[Source]) -> dict[str, list[Any]]:
    """The chance levels that the metadata of runs have, by figure."""
    levels: dict[str, list[Any]] = {}
    for run in runs:
        chance = run.metadata.get("chance")
        for name, level in (chance if isinstance(chance, Mapping) else {}).items():
            if level not in levels.setdefault(str(name), []):
                levels[str(name)].append(level)
    return levels


def _corpus_paragraph(source: Source) -> Paragraph:
    """What is known of a corpus without a run."""
    metadata = source.metadata
    sizes = {**metadata, **source.sizes}
    sentences: list[Sentence] = []
    if "num_messages" in sizes:
        number = int(sizes["num_messages"])
        symbols = f" of {int(sizes['num_symbols'])} symbols in all" if "num_symbols" in sizes else ""
        distinct = sizes.get("num_distinct_symbols")
        kinds = f", of {counted(int(distinct), 'kind')}" if symbols and distinct is not None else ""
        sentences.append([f"The corpus {source.name} has {number} messages{symbols}{kinds}."])
    grammar, speaker = metadata.get("grammar"), speaker_of(metadata)
    if speaker:
        sentences.append([f"Its messages are those of {speaker}."])
    if isinstance(grammar, str):
        taught = f"What was taught{' first' if 'chain' in metadata else ''}" if speaker else "It"
        names = [step.partition(",")[0] for step in grammar.split("+")]
        known = [name for name in names if name in GRAMMARS.lines()]
        lines = [f"{name}: {line_of(GRAMMARS, name).rstrip('.')}" for name in known]
        own = options_text([{key: metadata[key] for key in OF_GRAMMAR if key in metadata}])
        told = f" ({'; '.join(lines)})" if lines else ""
        sentences.append(
            [
                f"{taught} is of the artificial language {grammar}{told}",
                Cite.of(*names),
                f": {own}." if own else ".",
            ]
        )
    return Paragraph(about=f"corpus {source.name}", sentences=tuple(sentences))


OF_GRAMMAR = ("num_attributes", "num_values", "word_length", "vocab_size", "seed")
"""What the metadata of an artificial language say of how it was made."""


def _versions(sources: Sequence[Source], *, hardware: bool) -> Paragraph | None:
    """The versions of programs, and the machine where it is asked for."""
    known = [each for source in sources if isinstance(each := source.metadata.get("versions"), Mapping)]

    def values(key: str) -> list[Any]:
        return list(dict.fromkeys(str(each[key]) for each in known if each.get(key) is not None))

    if not values("ecsuite"):
        return None
    commits = [commit[:12] for commit in values("commit")]
    commit = f" (commit {listed(commits, 'or')})" if commits else ""
    others = [f"{word} {value_text(values(key))}" for key, word in LIBRARIES.items() if values(key)]
    with_what = ", ".join([f"ecsuite {value_text(values('ecsuite'))}{commit}", *others])
    sentences: list[Sentence] = [[f"It was computed with {with_what}."]]
    if hardware and values("hardware"):
        threads = f", {value_text(values('num_threads'))} threads" if values("num_threads") else ""
        where = f"{value_text(values('hardware'))}; device {value_text(values('device'))}{threads}"
        sentences.append([f"The machine: {where}."])
    return Paragraph(about="versions", sentences=tuple(sentences))
