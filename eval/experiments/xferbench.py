"""Sources of the XferBench paper (Boldt & Mortensen 2024), scored on its target languages.

A source is a game that is trained here, a reference source or a text that is sampled for each seed, or a published
corpus.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ecsuite.corpus import Corpus
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.experiments.grids import XFERBENCH, StudySource, at, mapping
from ecsuite.eval.experiments.jobs import Label, PlannedRun, plan_run, unpack
from ecsuite.eval.experiments.study import read_study, study_seeds
from ecsuite.eval.models.training import FULL_THREADS
from ecsuite.eval.xferbench import metric
from ecsuite.eval.xferbench.comparison import (
    PAPER_BLEU,
    PAPER_CHRF,
)
from ecsuite.eval.xferbench.jobs import TOKENS_PER_UNIT, XferBenchStudy, make_study
from ecsuite.eval.xferbench.jobs import plan as transfer_jobs
from ecsuite.eval.xferbench.presets import PRESETS, PROTOCOLS, SOURCES, XferBenchPreset
from ecsuite.eval.xferbench.presets import XFERBENCH as TRAITS
from ecsuite.eval.xferbench.texts import (
    BaselineSettings,
    Text,
    TextFile,
    choose_texts,
    preset_folder,
    read_texts,
)
from ecsuite.files.data_folder import data_folder
from ecsuite.formats import read_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context, Job, Resources, Result, Stopped, job_function
from ecsuite.parts.config import build
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, look_up, unknown_name

SourceKind = Literal["human", "synthetic or emergent", "random"]
"""Kinds of sources in the order of the paper's first hypothesis, best first."""
RANDOM = ("random", "no_pretrain")
"""Reference sources of the kind random."""
KINDS = ("game", "baseline", "text", "elcc")
"""Keys of a source; exactly one of them is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperSourceKeys:
    """The keys of an item of `sources`."""

    name: str
    """Name in the paper's tables."""
    game: str = ""
    """Name of a shipped game, or a YAML file."""
    set: Any = field(default_factory=dict)
    """Settings that differ from the game, by `section.key`."""
    baseline: str = ""
    """A reference source: paren_synth, paren_real, random or no_pretrain."""
    text: str = ""
    """Language code of the text that is the source, or that provides its words."""
    elcc: str = ""
    """SYSTEM/VARIANT of ELCC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperKeys:
    """The keys of the YAML file of a study."""

    name: str
    """Name of the study; by default its file name."""
    sources: Any
    """The sources in the order of the table."""
    about: str = ""
    """One-line description."""
    preset: str = "mini-3m"
    """Preset of XferBench."""
    protocol: str = "strict"
    """Protocol of XferBench."""
    seeds: Any = 3
    """Seeds of XferBench's models and of random sources: their number, or a list."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperSource:
    """One source of the table."""

    name: str
    """Name in the table."""
    origin: str
    """Command that produces it."""
    kind: SourceKind
    """Kind in the paper's first hypothesis."""
    game: PlannedRun | None = None
    """The training of a game."""
    transfer: XferBenchStudy | None = None
    """XferBench study of a corpus file or of no corpus; None if jobs make the corpus, or it is missing."""
    jobs: tuple[tuple[int, Job], ...] = ()
    """Jobs of its scores, each with its seed."""
    missing: str = ""
    """Missing files and how to get them; empty: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperStudy:
    """Sources, targets and seeds; made by `load_paper`."""

    name: str
    """Name of the study."""
    about: str
    """One-line description."""
    preset: XferBenchPreset
    """Sizes of models and data."""
    protocol: str
    """Protocol of XferBench."""
    seeds: tuple[int, ...]
    """Seeds of the models."""
    device: str
    """Device of the models: cpu, cuda or mps."""
    texts: tuple[Text, ...]
    """The target languages."""
    sources: tuple[PaperSource, ...]
    """The sources."""
    translation: Mapping[str, Mapping[str, Mapping[str, float]]]
    """Translation scores by metric, setting and source, from the paper or the user."""
    is_translated: bool
    """Whether translation scores are from the user."""


class PaperFiles(NamedTuple):
    """Files of the user that a study reads."""

    targets: Path | None = None
    """Folder of target texts; None: the texts of the preset."""
    texts: Path | None = None
    """Folder of source texts; None: the folder of the targets, or of downloaded articles."""
    corpora: Mapping[str, Path] = {}
    """Corpora by source name, also of sources outside the study."""
    translation: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None
    """Translation scores by metric, setting and source; None: the scores of the paper."""


def load_paper(
    study: StudySource,
    files: PaperFiles,
    *,
    folder: Path,
    preset: str | None = None,
    seeds: tuple[int, ...] | None = None,
    names: Sequence[str] = (),
    device: str = "auto",
) -> PaperStudy:
    """Read a study, and determine its missing sources.

    Args:
        study: A shipped study such as `paper/xferbench_main`, a YAML file, or its content.
        files: Files of the user.
        folder: Parent of the run folders of games.
        preset: Replacement of the study's preset; None: the study's.
        seeds: Replacement of the study's seeds; None: the study's.
        names: Names of the selected sources; empty: all.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If a key, a name or a file is not valid, or no source is left.
    """
    tree, place = XFERBENCH.read(study)
    keys: PaperKeys = build(PaperKeys, tree, place)
    sizes = look_up("preset", preset or keys.preset, PRESETS)
    look_up("protocol", keys.protocol, PROTOCOLS)
    if not isinstance(keys.sources, list) or not keys.sources:
        raise ConfigError(f"{place}: sources: expected a list of sources, each with a name")
    items: list[PaperSourceKeys] = []
    for index, entry in enumerate(keys.sources):
        item: PaperSourceKeys = build(PaperSourceKeys, mapping(entry, f"{place}: sources[{index}]"), place)
        if not (item.game or item.baseline or item.text or item.elcc):
            raise ConfigError(f"{at(place, 'sources')}: {item.name}: expected one of {', '.join(KINDS)}")
        items.append(item)
    known = {item.name: item for item in items} | dict.fromkeys(files.corpora)
    for name in names:
        if name not in known:
            raise unknown_name("source", name, sorted(known), shows_all=True)
    chosen = [item for item in items if not names or item.name in names]
    targets = _targets(files.targets, sizes)
    downloaded = data_folder("wikipedia")
    texts_folder = files.texts or files.targets or (downloaded if downloaded.is_dir() else None)
    asked = keys.seeds if seeds is None else list(seeds)
    maker = _SourceMaker(
        sizes=sizes,
        protocol=keys.protocol,
        seeds=study_seeds(asked, place),
        device=choose_device(device).type,
        targets=targets,
        texts={} if texts_folder is None else read_texts(texts_folder),
        texts_folder=texts_folder,
        folder=folder,
        place=place,
    )
    sources = [
        maker.own_corpus(item.name, files.corpora[item.name])
        if item.name in files.corpora
        else maker.source(item)
        for item in chosen
    ]
    listed = {item.name for item in items}
    sources += [
        maker.own_corpus(name, path)
        for name, path in files.corpora.items()
        if name not in listed and (not names or name in names)
    ]
    if all(source.missing for source in sources):
        raise ConfigError(f"{sources[0].name}: {sources[0].missing}")
    return PaperStudy(
        name=keys.name,
        about=keys.about,
        preset=sizes,
        protocol=keys.protocol,
        seeds=maker.seeds,
        device=maker.device,
        texts=tuple(targets),
        sources=tuple(sources),
        translation=files.translation or {"chrF": PAPER_CHRF, "BLEU": PAPER_BLEU},
        is_translated=files.translation is not None,
    )


def _targets(folder: Path | None, sizes: XferBenchPreset) -> list[Text]:
    """Target texts; from a folder, the texts of the paper's ten languages in it."""
    texts = choose_texts(preset_folder(folder, sizes), sizes)
    if folder is not None and not sizes.languages:
        texts = [each for each in texts if each.name in XFERBENCH_TARGETS]
        if not texts:
            wanted = ", ".join(f"{code}.txt.gz" for code in XFERBENCH_TARGETS)
            raise ConfigError(f"--targets {folder}: expected at least one of {wanted}, got none")
    return [each.identified() if isinstance(each, TextFile) else each for each in texts]


@dataclass(frozen=True, kw_only=True, slots=True)
class _SourceMaker:
    """Builder of sources, with the settings that all sources of a study share."""

    sizes: XferBenchPreset
    protocol: str
    seeds: tuple[int, ...]
    device: str
    targets: Sequence[Text]
    texts: Mapping[str, Text]
    texts_folder: Path | None
    folder: Path
    place: str

    def source(self, item: PaperSourceKeys) -> PaperSource:
        """A source of the study."""
        if item.game:
            return self._game(item)
        if item.elcc:
            return self._of_elcc(item)
        name = item.baseline or "human"
        kind: SourceKind = (
            "human" if not item.baseline else "random" if name in RANDOM else "synthetic or emergent"
        )
        origin, text = f"ecsuite score reference {name}", None
        if item.text:
            found = self.texts.get(item.text)
            if found is None:
                at_hand = "no --texts FOLDER" if self.texts_folder is None else f"not in {self.texts_folder}"
                missing = f"{item.text}.txt.gz ({at_hand}); ecsuite data wikipedia --languages {item.text}"
                return PaperSource(name=item.name, origin=origin, kind=kind, missing=missing)
            assert isinstance(found, TextFile)
            text, origin = found.identified(), f"{origin} --text {found.path.name}"
        if name == "no_pretrain":
            return self._of_corpora(item.name, origin, kind, dict.fromkeys(self.seeds))
        make = partial(Job, transfer_of_reference, source=name, text=text)
        return PaperSource(name=item.name, origin=origin, kind=kind, jobs=self._jobs(make, item.name))

    def _jobs(self, make: Callable[..., Job], name: str) -> tuple[tuple[int, Job], ...]:
        """The scoring job of each seed."""
        shared = {
            "texts": list(self.targets),
            "preset": self.sizes.name,
            "protocol": self.protocol,
            "device": self.device,
            "name": Label(key=name),
        }
        return tuple((seed, make(seed=seed, **shared)) for seed in self.seeds)

    def _game(self, item: PaperSourceKeys) -> PaperSource:
        changes = mapping(item.set, f"{self.place}: {item.name}: set")
        row = {"name": item.game, "base": item.game, "set": changes}
        game = read_study({"name": item.name, "rows": [row]}, self.place, device=self.device)
        run = plan_run(game, game.variants[0], game.seeds[0], self.folder)
        settings = "".join(f" --set {key}={value}" for key, value in changes.items())
        return PaperSource(
            name=item.name,
            origin=f"ecsuite train-game {item.game}{settings}",
            kind="synthetic or emergent",
            game=run,
            jobs=self._jobs(partial(Job, transfer_of_game, run=run.training), item.name),
        )

    def _of_elcc(self, item: PaperSourceKeys) -> PaperSource:
        system, _, variant = item.elcc.partition("/")
        origin = f"ecsuite data elcc --systems {system}"
        paths = sorted(data_folder("elcc").glob(f"systems/{system}/data/{variant}/corpus.jsonl"))
        if paths:
            return self.own_corpus(item.name, paths[0])
        missing = f"{item.elcc} of ELCC ({origin}), or --corpus '{item.name}=corpus.jsonl'"
        return PaperSource(name=item.name, origin=origin, kind="synthetic or emergent", missing=missing)

    def own_corpus(self, name: str, path: Path) -> PaperSource:
        """A corpus of a file or folder."""
        corpus = read_corpus(path)
        if not len(corpus.messages.values):
            raise ConfigError(f"{name}: {path}: the corpus has no symbols to learn from")
        return self._of_corpora(name, path.name, "synthetic or emergent", dict.fromkeys(self.seeds, corpus))

    def _of_corpora(
        self, name: str, origin: str, kind: SourceKind, corpora: Mapping[int, Corpus | None]
    ) -> PaperSource:
        study = make_study(
            corpora, self.targets, self.sizes, self.seeds, protocol=self.protocol, device=self.device
        )
        return PaperSource(
            name=name,
            origin=origin,
            kind=kind,
            transfer=study,
            jobs=tuple((key[0], job) for key, job in transfer_jobs(study).items()),
        )


def _work(*, texts: Sequence[Text], preset: str, **_: Any) -> float:
    sizes = PRESETS[preset]
    tuning = len(texts) * sizes.tune_tokens * sizes.tune_epochs
    return (sizes.pretrain_tokens * sizes.pretrain_epochs + tuning) / TOKENS_PER_UNIT


def _resources(*, preset: str, device: str, **_: Any) -> Resources:
    num_threads = 1 if PRESETS[preset].is_reduced else FULL_THREADS
    return Resources(num_threads=num_threads, memory=4.0, num_gpus=int(device != "cpu"))


@job_function(
    version=TRAITS.version,
    work=_work,
    label=lambda *, name, seed, **_: f"XferBench of {name.key}, seed {seed}",
    resources=_resources,
)
def transfer_of_game(
    *,
    run: Result,
    texts: list[Text],
    preset: str,
    protocol: str,
    seed: int,
    device: str,
    name: Label,
    context: Context,
) -> dict[str, Any]:
    """Score the corpus of a trained game by XferBench.

    Args:
        run: The result of `train_game`.
        texts: The target languages.
        preset: Name of the sizes.
        protocol: Name of the protocol.
        seed: Seed of the models.
        device: cpu, cuda or mps.
        name: The name of the source, for progress.
        context: See `Context`.

    Returns:
        `by_target`, nats per token; and `passes` over the corpus per epoch of pretraining.

    Raises:
        DivergedError: If a training diverged.
    """
    assert run.arrays is not None
    with tempfile.TemporaryDirectory() as folder:
        unpack(run.arrays, Path(folder))
        corpus = read_corpus(Path(folder))
    return _transfer(corpus, texts, preset, protocol, seed, device, context)


REFERENCES_VERSION = 1
"""Increased whenever a reference source is sampled differently, or the tokens of a text change."""


@job_function(
    version=[TRAITS.version, REFERENCES_VERSION],
    work=_work,
    label=lambda *, name, seed, **_: f"XferBench of {name.key}, seed {seed}",
    resources=_resources,
)
def transfer_of_reference(
    *,
    source: str,
    text: TextFile | None,
    texts: list[Text],
    preset: str,
    protocol: str,
    seed: int,
    device: str,
    name: Label,
    context: Context,
) -> dict[str, Any]:
    """Sample a reference source, or read the tokens of a text, and score it by XferBench.

    Args:
        source: Name of the source.
        text: Text of the source; None: it needs no text.
        texts: The target languages.
        preset: Name of the sizes.
        protocol: Name of the protocol.
        seed: Seed of the models and of the draws.
        device: cpu, cuda or mps.
        name: The name of the source, for progress.
        context: See `Context`.

    Returns:
        See `transfer_of_game`.

    Raises:
        ConfigError: If the text can't be read, has changed, or is empty.
        DivergedError: If a training diverged.
    """
    request = BaselineSettings(
        preset=PRESETS[preset], protocol=protocol, seed=seed, text=None if text is None else text.path
    )
    return _transfer(SOURCES.load(source)(request), texts, preset, protocol, seed, device, context)


def _transfer(
    corpus: Corpus,
    texts: Sequence[Text],
    preset: str,
    protocol: str,
    seed: int,
    device: str,
    context: Context,
) -> dict[str, Any]:
    study = make_study(corpus, texts, PRESETS[preset], [seed], protocol=protocol, device=device)
    runner = Runner(
        folder=context.scratch,
        should_stop=lambda: "interrupt" if context.should_stop() else None,
        progress=lambda label, done, total: context.report_progress(label, done / total if total else 0.0),
    )
    try:
        result = metric.measure(study, runner)
    except KeyboardInterrupt:  # the runner was asked to stop; finished jobs are in the scratch folder
        raise Stopped from None
    return {"by_target": result.by_seed[seed], "passes": round(max(1.0, result.pretrained["repeats"]), 2)}
