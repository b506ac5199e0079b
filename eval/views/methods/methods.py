"""Methods section of a paper: the template `methods.txt`, filled with facts from runs, sweeps, studies and corpora."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

from ecsuite.eval.icy.study import READS
from ecsuite.eval.metrics import METRIC_OF, METRICS, traits_of
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.results.files import sources_at
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import UNENDED, Source, read_config, speaker_of
from ecsuite.eval.views.citations import author_year_of, bibtex, names_in_run, reference
from ecsuite.eval.views.methods.settings import (
    Cite,
    Facts,
    Phrase,
    are_rounds,
    config_facts,
    line_of,
    listed,
    options_text,
    value_text,
)
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.grammars.registry import GRAMMARS
from ecsuite.parts.config import unread
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.printable import counted, printable
from ecsuite.tables.forms import Form
from ecsuite.tables.latex import escaped as in_latex
from ecsuite.tables.latex import preamble
from ecsuite.tables.markup import escaped as in_markdown
from ecsuite.tables.markup import paragraph as as_paragraph

TEMPLATE = "methods.txt"
ENDS = {
    "epochs": "after all epochs",
    "accuracy": "when the accuracy was reached",
    "patience": "when the best value had not improved for long",
    "minutes": "at the time limit",
    "limit": "at a limit of calls or tokens",
    "interrupt": "when the user interrupted it",
    "preempted": "at a signal of the system",
    "pruned": "when the search pruned it",
}
"""Reasons why a training ended, in words."""
STATUSES = {"failed": "failed", "diverged": "diverged", "capped": "was stopped early"}
"""Statuses of runs that did not end as set, in words."""
GRAMMAR_OPTIONS = ("num_attributes", "num_values", "word_length", "vocab_size", "seed")
"""Metadata of a corpus of an artificial language that are options of the language."""
LIBRARIES = {"torch": "PyTorch", "numpy": "NumPy", "python": "Python"}
"""Names of libraries by their keys in metadata."""
SIZE, VERSION = "n", "v"
"""Keys of a signature that are not options: number of messages, and version."""
OWN_SENTENCES = (
    *(
        "name",
        "about",
        "protocol",
        "role",
        "models",
        "receivers",
        "grammars",
        "seeds",
        "published",
        "metrics",
    ),
)
"""Settings of an ICY study that have their own sentence, or no effect on results."""
NAME_PARTS = re.compile(r"[:,=-]")
"""Separators in the name of an agent with its cell and options, such as `husendz:dgsend`."""
PART_SETTINGS = (".kind", ".cell", ".prompt")
"""Endings of the names of settings whose values are names of parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paragraph:
    """Sentences on one subject."""

    about: str
    """Subject in a word or two."""
    sentences: tuple[Phrase, ...]

    def text(self) -> str:
        """The sentences without citations."""
        return " ".join(
            "".join(piece for piece in sentence if isinstance(piece, str)) for sentence in self.sentences
        )


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Methods:
    """Methods section of runs, sweeps and corpora."""

    paragraphs: tuple[Paragraph, ...]

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
            form: text, markdown, or latex, which cites by the keys of `bibtex`.

        Raises:
            ConfigError: If there is no such form.
        """
        return look_up("form", str(form), FORMS)(self.paragraphs)

    def bibtex(self) -> str:
        """BibTeX of the cited works."""
        return "\n".join(bibtex(key) for key in sorted(cited(self.paragraphs)))

    def to_json(self) -> dict[str, Any]:
        """The paragraphs by subject, and the keys of the works."""
        texts: dict[str, list[str]] = {}
        # Trained and played games, and several studies, have paragraphs on the same subjects.
        for paragraph in self.paragraphs:
            texts.setdefault(paragraph.about, []).append(paragraph.text())
        return {
            "paragraphs": {about: "\n\n".join(each) for about, each in texts.items()},
            "works": cited(self.paragraphs),
        }


def cited(paragraphs: Iterable[Paragraph]) -> list[str]:
    """List the keys of the cited works, without duplicates, in order."""
    pieces = (piece for each in paragraphs for sentence in each.sentences for piece in sentence)
    return list(dict.fromkeys(key for piece in pieces if isinstance(piece, Cite) for key in piece.keys))


def methods(
    paths: Iterable[str | Path], *, metrics: Sequence[str] | None = None, hardware: bool = False
) -> Methods:
    """Write the methods section of runs, sweeps and corpora.

    Args:
        paths: Run folders, folders of sweeps, corpora, files of scores.
        metrics: Scores to report; None: all.
        hardware: Whether to report the machine.

    Raises:
        ConfigError: If there is nothing at a path, or no such score.
        DamagedError: If a file was changed.
    """
    places = [Path(path) for path in paths]
    studies = {place: found for place in places if (found := _study_paragraphs(place)) is not None}
    others = [place for place in places if place not in studies]
    sources = Results.read(others) if others else []
    configs = [(source, _config(source)) for source in sources if source.is_run]
    paragraphs = [paragraph for found in studies.values() for paragraph in found]
    for is_played in (False, True):
        if group := [(run, config) for run, config in configs if are_rounds([config]) == is_played]:
            paragraphs += _run_paragraphs(group)
    for source in sources:
        if not source.is_run:
            paragraphs += _filled("corpus", _corpus_facts(source), about=f"corpus {source.name}")
    paragraphs += _filled("scores", _score_facts(sources, metrics))
    paragraphs += _filled("versions", _version_facts(sources, hardware=hardware))
    if not paragraphs:
        raise ConfigError(
            f"{', '.join(map(str, places))}: no metadata on how it was made: expected a run, sweep, corpus or study"
        )
    return Methods(paragraphs=tuple(paragraphs))


def names_at(place: Path) -> Iterator[str]:
    """Yield the names that results are based on: games, parts and metrics; for studies, keys of works.

    Raises:
        ConfigError: If there are no results, or a file can't be read.
        DamagedError: If a file was changed.
    """
    if (study := _study_paragraphs(place)) is not None:
        yield from cited(study)
        return
    if place.is_dir() and RunFolder(place).is_run_or_corpus:
        yield from names_in_run(place)
        return
    for source in sources_at(place):
        folder = source.folder
        if folder is not None and RunFolder(folder).is_run_or_corpus:
            yield from names_in_run(folder)
        if source.game is not None:
            yield source.game
        yield from (str(value) for key, value in source.settings.items() if key.endswith(PART_SETTINGS))
        yield from (record.name for record in source.records if not record.is_measure)


# The template


@cache
def _template() -> dict[str, list[tuple[str, list[str]]]]:
    """Sections of the template by name: consecutive sentences with the same condition, empty for none."""
    sections: dict[str, list[tuple[str, list[str]]]] = {}
    groups: list[tuple[str, list[str]]] = []
    for line in resources.files(__package__).joinpath(TEMPLATE).read_text("utf-8").splitlines():
        if line.startswith("["):
            sections[line[1:-1]] = groups = []
        elif line and not line.startswith("#"):
            condition, _, sentence = line.rpartition(" | ")
            if not groups or groups[-1][0] != condition:
                groups.append((condition, []))
            groups[-1][1].append(sentence)
    return sections


def _filled(section: str, facts: Facts, *, about: str = "") -> list[Paragraph]:
    """Fill a section of the template; no paragraph if facts of all sentences are missing.

    Args:
        section: Name of the section.
        facts: Facts by name.
        about: Subject of the paragraph; default the name of the section.
    """
    sentences = []
    for condition, group in _template()[section]:
        items = facts.get(condition) if condition else True
        for item in items if isinstance(items, list) else [{}] if items else []:
            filled = [_sentence(sentence, {**facts, **item}) for sentence in group]
            sentences += [sentence for sentence in filled if sentence is not None]
    return [Paragraph(about=about or section, sentences=tuple(sentences))] if sentences else []


def _sentence(template: str, facts: Facts) -> Phrase | None:
    """Fill a sentence; None if a fact is missing."""
    pieces: list[str | Cite] = []
    for text, name, _, _ in Formatter().parse(template):
        pieces += [text] if text else []
        if name is not None:
            fact = facts.get(name)
            if fact is None:
                return None
            pieces += [fact] if isinstance(fact, str | Cite) else fact
    return pieces


# Forms


def _joined(
    paragraphs: Sequence[Paragraph], escaped: Callable[[str], str], cite: Callable[[Cite], str]
) -> str:
    """Join sentences to paragraphs, separated by empty lines."""

    def piece_text(piece: str | Cite) -> str:
        return escaped(piece) if isinstance(piece, str) else cite(piece) if piece.keys else ""

    return "\n\n".join(
        " ".join("".join(map(piece_text, sentence)) for sentence in paragraph.sentences)
        for paragraph in paragraphs
    )


def _in_parentheses(cite: Cite) -> str:
    return f" ({'; '.join(map(author_year_of, cite.keys))})"


def _as_text(paragraphs: Sequence[Paragraph]) -> str:
    works = "\n".join(f"- {reference(key)}" for key in sorted(cited(paragraphs)))
    parts = [_joined(paragraphs, printable, _in_parentheses), *(["References", works] if works else [])]
    return "\n\n".join(parts) + "\n"


def _as_markdown(paragraphs: Sequence[Paragraph]) -> str:
    works = "\n".join(f"- {as_paragraph(reference(key))}" for key in sorted(cited(paragraphs)))
    body = _joined(paragraphs, in_markdown, lambda cite: in_markdown(_in_parentheses(cite)))
    return "\n\n".join([body, *(["**References**", works] if works else [])]) + "\n"


def _as_latex(paragraphs: Sequence[Paragraph]) -> str:
    content = _joined(paragraphs, in_latex, lambda cite: rf"~\cite{{{','.join(cite.keys)}}}")
    packages = preamble(content)
    return "\n".join([*([packages] if packages else []), content, ""])


FORMS: Mapping[str, Callable[[Sequence[Paragraph]], str]] = {
    Form.TEXT.value: _as_text,
    Form.MARKDOWN.value: _as_markdown,
    Form.LATEX.value: _as_latex,
}
"""Functions that write paragraphs, by form."""


# Runs


def _run_paragraphs(runs: Sequence[tuple[Source, Facts]]) -> list[Paragraph]:
    """Write the paragraphs of runs with their configs, all trained or all played."""
    sources = [run for run, _ in runs]
    configs = [config for _, config in runs if config]
    chance: dict[str, list[Any]] = {}
    for run in sources:
        levels = run.metadata.get("chance")
        _add_chance(chance, levels if isinstance(levels, Mapping) else {})
    facts = config_facts(configs, [_ending(run) for run, config in runs if config], chance)
    done = "played" if facts["is_played"] else "trained"
    paragraphs = [
        paragraph
        for name in (("game", "agents", "training") if configs else ())
        for paragraph in _filled(name, facts)
    ]
    paragraphs += _filled("models", {"answer": _model_facts(sources)})
    return paragraphs + _filled("runs", _run_facts(sources, done=done)) + _filled("evaluation", facts)


def _config(run: Source) -> Mapping[str, Any]:
    """Read the config of a run by section; empty without its folder."""
    file = None if run.folder is None else RunFolder(run.folder).config
    return read_config(file) if file is not None and file.is_file() else {}


def _ending(run: Source) -> Mapping[str, Any]:
    training = run.metadata.get("training")
    return training if isinstance(training, Mapping) else {}


def _add_chance(chance: dict[str, list[Any]], levels: Mapping[str, Any]) -> None:
    """Add the chance levels of a run to the distinct levels of each measure."""
    for name, level in levels.items():
        if level not in chance.setdefault(str(name), []):
            chance[str(name)].append(level)


def _model_facts(runs: Sequence[Source]) -> list[Facts]:
    """Collect models that took part, their prompts and costs, without duplicates."""
    models: list[Facts] = []
    for run in runs:
        participants = run.metadata.get("participants")
        for part, data in (participants if isinstance(participants, Mapping) else {}).items():
            if isinstance(data, Mapping) and data.get("models"):
                fact = {
                    "part": str(part),
                    "models": listed(data["models"]),
                    "backend": str(data["backend"]),
                    "prompt": data["prompt_sha256"][:16],
                    "calls": f"{data['calls']:,}",
                    "tokens": f"{data['tokens']:,}",
                }
                models += [fact] if fact not in models else []
    return models


def _run_facts(runs: Sequence[Source], *, done: str) -> dict[str, Any]:
    """Collect settings that vary, seeds, ends and failures of runs.

    Args:
        runs: Runs, all trained or all played.
        done: `trained` or `played`.
    """
    values: dict[str, list[Any]] = {}
    for run in runs:
        for key, value in run.settings.items():
            if value not in values.setdefault(key, []):
                values[key].append(value)
    varied = [f"{key} ({value_text(some)})" for key, some in values.items() if len(some) > 1]
    num_combinations = len({repr(list(run.settings.items())) for run in runs})
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    is_each = len(runs) > 1 and bool(varied) and len(runs) == num_combinations * len(seeds)
    ended = [run for run in runs if run.failure is None and run.stopped not in (None, UNENDED)]
    reasons = [str(run.stopped) for run in ended]
    ends = [
        f"{ENDS.get(why, why)}{'' if len(set(reasons)) == 1 else f' ({reasons.count(why)})'}"
        for why in dict.fromkeys(reasons)
    ]
    steps = [end["step"] for run in ended if isinstance((end := _ending(run)).get("step"), int)]
    last = f" {min(steps)}" if steps and min(steps) == max(steps) else ""
    others = [run for run in runs if run.status != "done"]
    means = Results(runs).means(figures=[])
    words = ("Training", "Trainings") if done == "trained" else ("The run", "Runs")
    once = "The agents were" if done == "trained" else "The game was"
    return {
        "varied": listed(varied) if varied else None,
        "combinations": counted(num_combinations, "combination"),
        "num_runs": f"{len(runs)} runs" if not others else counted(len(runs), "run"),
        "all_runs": counted(len(runs), "run"),
        "done": done,
        "once": f"{once} {done}",
        **_seed_facts(seeds),
        "is_one": len(runs) == 1,
        "is_each": is_each,
        "are_some": len(runs) > 1 and not is_each,
        "subject": words[len(runs) > 1],
        "ends": listed(ends) if ends else None,
        "steps": ""
        if not steps
        else f", at step{last}"
        if last
        else f", at steps {min(steps)} to {max(steps)}",
        "formed": "; ".join(
            f"{row.name}: {row.formed}" if means.keys else str(row.formed)
            for row in means.rows
            if row.formed is not None and row.formed.of > 1
        )
        or None,
        "are_all_done": len(runs) > 1 and not others,
        "num_done": str(len(runs) - len(others)),
        "others": bool(others),
        "other": [_failure_facts(run) for run in others],
    }


def _failure_facts(run: Source) -> Facts:
    """Collect the seed, the settings and the end of a run that did not end as set."""
    is_unended = run.stopped == UNENDED
    why = run.failure or (f"ended {ENDS.get(str(run.stopped), run.stopped)}" if run.stopped else "")
    return {
        "seed": str(run.seed),
        "settings": "".join(f", {key} {value_text([value])}" for key, value in run.settings.items()),
        "status": "has not ended" if is_unended else STATUSES[run.status],
        "reason": f": {why}" if why and not is_unended else "",
    }


def _seeds_text(seeds: Sequence[int]) -> str:
    """Format seeds: `seed 1`; `3 seeds (1, 2 and 3)`."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{counted(len(seeds), 'seed')} ({listed(seeds)})"


def _seed_facts(seeds: Sequence[int]) -> dict[str, Any]:
    return {
        "seeds": _seeds_text(seeds) if seeds else None,
        "determine": "determines" if len(seeds) == 1 else "determine",
    }


# Corpora, scores and versions


def _corpus_facts(source: Source) -> dict[str, Any]:
    """Collect the sizes, the speaker and the artificial language of a corpus without a run."""
    metadata = source.metadata
    sizes = {**metadata, **source.sizes}
    distinct = sizes.get("num_distinct_symbols")
    symbols = f" of {int(sizes['num_symbols'])} symbols in all" if "num_symbols" in sizes else ""
    kinds = f", of {counted(int(distinct), 'kind')}" if symbols and distinct is not None else ""
    speaker, grammar = speaker_of(metadata), metadata.get("grammar")
    facts: dict[str, Any] = {
        "name": source.name,
        "num_messages": str(int(sizes["num_messages"])) if "num_messages" in sizes else None,
        "symbols": f"{symbols}{kinds}",
        "speaker": speaker or None,
    }
    if isinstance(grammar, str):
        names = [step.partition(",")[0] for step in grammar.split("+")]
        lines = [
            f"{name}: {line_of(GRAMMARS, name).rstrip('.')}" for name in names if name in GRAMMARS.lines()
        ]
        options = options_text([{key: metadata[key] for key in GRAMMAR_OPTIONS if key in metadata}])
        facts |= {
            "subject": f"The language taught{' first' if 'chain' in metadata else ''}"
            if speaker
            else "Its language",
            "grammar": grammar,
            "lines": f" ({'; '.join(lines)})" if lines else "",
            "grammar_works": Cite.of(*names),
            "options": f": {options}" if options else "",
        }
    return facts


def _score_facts(sources: Sequence[Source], chosen: Sequence[str] | None) -> dict[str, Any]:
    """Collect scores with their options, intervals and chance levels.

    Args:
        sources: Runs and corpora.
        chosen: Names of scores; None: all.

    Raises:
        ConfigError: If there is no such score.
    """
    records: dict[str, Score] = {}
    for source in sources:
        for record in source.records:
            if not record.is_measure and record.signature:
                records.setdefault(record.name, record)
    for name in chosen or ():
        look_up("score", name, records)
    scores = [records[name] for name in (records if chosen is None else chosen)]
    elcc = [record for record in scores if METRIC_OF.get(record.name.partition(",")[0]) == "elcc"]
    if len(elcc) > 1:
        scores = [record for record in scores if record not in elcc] + elcc
    levels: dict[tuple[Any, ...], list[str]] = {}
    for record in scores:
        chance = record.stored.get("chance") or {}
        if chance.get("kind") == "shuffle":
            permuted = traits_of(record.name).chance or "shuffles"
            levels.setdefault((permuted, chance.get("shuffles"), chance.get("seed")), []).append(record.name)
    return {
        "has_scores": bool(scores),
        "score": [_fact_of_score(record) for record in scores if len(elcc) < 2 or record not in elcc],
        "elcc": line_of(METRICS, "elcc").partition(",")[0] if len(elcc) > 1 else None,
        "elcc_works": Cite.of("elcc"),
        "has_intervals": any(record.ci95 for record in scores),
        "chance": [
            {
                "scores": listed(names),
                "draws": f"{number} draws" if number else "draws",
                "permuted": permuted,
                "seed": str(seed),
            }
            for (permuted, number, seed), names in levels.items()
        ],
    }


def _fact_of_score(record: Score) -> Facts:
    """Collect the name, the traits, the options and the version of a score; `title` only of built-in metrics."""
    name = record.name
    fields = Signature(record.signature).options
    options = [
        f"{key.replace('_', ' ')} {value}" for key, value in fields.items() if key not in (SIZE, VERSION)
    ]
    options += [f"version {fields[VERSION]}"] if VERSION in fields else []
    facts = {"name": name, "options": f" ({', '.join(options)})" if options else ""}
    if name.partition(",")[0] not in METRIC_OF:
        return {**facts, "description": f": {record.about}" if record.about else ""}
    traits = traits_of(name)
    high = traits.high.partition(";")[0]
    return {
        **facts,
        "title": f" ({traits.title})"
        if traits.title and traits.title.lower() != name.lower().replace("_", " ")
        else "",
        "works": Cite.of(name.partition(",")[0]),
        "about": traits.about,
        "high": f"; {high}" if high else "",
    }


def _version_facts(sources: Sequence[Source], *, hardware: bool) -> dict[str, Any]:
    versions = [each for source in sources if isinstance(each := source.metadata.get("versions"), Mapping)]

    def values(key: str) -> list[str]:
        return list(dict.fromkeys(str(each[key]) for each in versions if each.get(key) is not None))

    if not values("ecsuite"):
        return {}
    commits = [commit[:12] for commit in values("commit")]
    commit = f" (commit {listed(commits, 'or')})" if commits else ""
    libraries = [f"{name} {value_text(values(key))}" for key, name in LIBRARIES.items() if values(key)]
    return {
        "programs": ", ".join([f"ecsuite {value_text(values('ecsuite'))}{commit}", *libraries]),
        "hardware": value_text(values("hardware")) if hardware and values("hardware") else None,
        "device": value_text(values("device")),
        "threads": f", {value_text(values('num_threads'))} threads" if values("num_threads") else "",
    }


# Studies


def _study_paragraphs(place: Path) -> list[Paragraph] | None:
    """Write the paragraphs of the results of an ICY or CBM study; None for another file.

    Raises:
        ConfigError: If the file is JSON of such a study but can't be read.
    """
    if place.suffix != ".json" or not place.is_file():
        return None
    data = read_json(place)
    rows = data.get("rows") if isinstance(data, Mapping) else None
    if not isinstance(rows, list) or not rows:
        return None
    try:
        if all(isinstance(row, Mapping) and {"config", "runs", "failures"} <= row.keys() for row in rows):
            return _cbm_paragraphs(rows)  # also has a `study`
        if isinstance(data.get("study"), Mapping):
            return _filled("study", _icy_facts(data["study"], rows))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"{place}: expected the results of a study: {error!r}") from None
    return None


def _icy_facts(study: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Collect models, languages, settings and censored runs of an ICY study."""
    models, receivers = list(study["models"]), study["receivers"]
    cells = [(row, cell) for row in rows for cell in row.get("cells", ())]
    grammars = list(dict.fromkeys(cell["grammar"] for _, cell in cells))
    lines = [
        f"{name} ({line_of(GRAMMARS, name).rstrip('.')})" for name in grammars if name in GRAMMARS.lines()
    ]
    num_runs, censored = 0, []
    for row, cell in cells:
        runs = [run for run in cell.get("runs", ()) if "reached" in run]
        late = [run["seed"] for run in runs if not run["reached"]]
        num_runs += len(runs)
        censored += [f"{row['model']} on {cell['grammar']} ({_seeds_text(late)})"] if late else []
    seeds = sorted({seed for row in rows for seed in row.get("seeds", ())})
    return {
        "icy_works": Cite.of("icy"),
        "ecsuite_works": Cite.of("ecsuite"),
        "protocol": str(study["protocol"]),
        "roles": f"with the receivers {listed(receivers)}" if receivers else f"as {study['role']}s",
        "models": listed(models),
        "models_works": Cite.of(*(part for name in [*models, *receivers] for part in NAME_PARTS.split(name))),
        "languages": listed(lines or grammars),
        "languages_works": Cite.of(*grammars),
        "settings": options_text(
            [study], without=(*OWN_SENTENCES, *unread(study, [study["protocol"]], READS))
        ),
        "seeds": _seeds_text(seeds) if seeds else None,
        "censored": listed(censored) if censored else None,
        "all_reached": num_runs > 0 and not censored,
        "num_runs": counted(num_runs, "run"),
    }


def _cbm_paragraphs(rows: Sequence[Mapping[str, Any]]) -> list[Paragraph]:
    runs = [run for row in rows for run in row["runs"]]
    seeds = sorted({run["seed"] for run in runs} | {int(seed) for row in rows for seed in row["failures"]})
    failed = [
        f"{row['name']} with seed {seed}: {why}" for row in rows for seed, why in row["failures"].items()
    ]
    chance: dict[str, list[Any]] = {}
    for run in runs:
        _add_chance(chance, run.get("chance", {}))
    facts = config_facts([row["config"] for row in rows], chance=chance) | {
        "rows": listed(row["name"] for row in rows),
        "cbm_works": Cite.of("cbm"),
        **_seed_facts(seeds),
        "failed": "; ".join(failed) if failed else None,
        "none_failed": not failed,
    }
    paragraphs = [paragraph for name in ("game", "agents", "training") for paragraph in _filled(name, facts)]
    paragraphs += _filled("runs of a study", facts, about="runs")
    return paragraphs + _filled("evaluation", facts)
