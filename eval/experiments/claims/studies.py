"""Claims as benchmarks: the study of a claim is run by its own benchmark, and its runs become runs of the claim."""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.cbm import CbmTables, rows_of
from ecsuite.eval.experiments.cbm import load_table as load_cbm
from ecsuite.eval.experiments.claims.arms import CORPUS, ClaimOutcome, arm_name, claim_run, has_settings
from ecsuite.eval.experiments.claims.claim import OF_CLAIM, OF_CORPORA, Claim, load_claim
from ecsuite.eval.experiments.claims.report import report_of
from ecsuite.eval.experiments.collection import Collections, CollectionStudy, load_collection
from ecsuite.eval.experiments.corpora import CollectionMember
from ecsuite.eval.experiments.grids import CBM, ICY, SWEEP, XFERBENCH, mapping
from ecsuite.eval.experiments.study import SweepStudy
from ecsuite.eval.experiments.study import load_study as load_sweep
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.eval.experiments.xferbench import PaperFiles, PaperStudy, load_paper
from ecsuite.eval.experiments.xferbench_tables import PaperResult, PaperTables
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.study import BASIS, IcyStudy, resolve
from ecsuite.eval.icy.study import load_study as load_icy
from ecsuite.eval.metrics import METRIC_OF
from ecsuite.eval.results.sources import CAPPED, PROTOCOL, Source
from ecsuite.eval.views.console import Report
from ecsuite.formats import read_corpus
from ecsuite.formats.directory import METADATA
from ecsuite.formats.strict_json import read_json
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.parts.config import checked
from ecsuite.runtime.devices import choose_device, hardware
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.provenance import own_commit, processor
from ecsuite.runtime.time_left import duration_text

SMALL = "small"
"""Suffix of the folder of a small check."""
SMALL_NOTE = "small check: it only tests that the claim runs; its verdict is always can't tell"
"""Note of `--small`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reproduction(Benchmark[Claim, ClaimOutcome]):
    """A re-run of a claim by the benchmark of its study."""

    claim: str
    """Name of the claim."""
    benchmark: Benchmark[Any, Any]
    """The benchmark of the study."""
    study: Any
    """The study of the benchmark."""
    folder: Path
    """Folder of the runs and of stored results."""
    is_small: bool
    """Whether it is a small check (`--small`)."""

    @abstractmethod
    def cells(self) -> list[dict[str, Any]]:
        """The settings of all runs, without their seeds."""

    @abstractmethod
    def runs(self, finding: Any, results: Mapping[Job, Result]) -> Iterator[Source]:
        """The runs, see `claim_run`, from the finding of the benchmark and the results of its jobs."""

    @property
    def store(self) -> Path:
        """The folder of stored results."""
        return self.benchmark.store or self.folder

    def plan(self, study: Claim) -> Sequence[Job]:
        """The jobs of its study."""
        return self.benchmark.plan(self.study)

    def device(self, study: Claim) -> str:
        """Type of the device on which the jobs compute."""
        return self.benchmark.device(self.study)

    def notes_on_plan(self, study: Claim) -> list[str]:
        """The time that was measured before, or a note on a small check."""
        if self.is_small:
            return [SMALL_NOTE]
        if study.hours is None:
            return []
        return [f"all runs of the claim: {duration_text(3600 * study.hours)} of one core"]

    def seconds_of(self, study: Claim, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Time of the jobs, measured by the study's benchmark."""
        return self.benchmark.seconds_of(self.study, jobs)

    def announce(self, study: Claim, runner: Runner) -> list[str] | None:
        """The lines of the study's benchmark, after the note on a small check."""
        lines = self.benchmark.announce(self.study, runner)
        if self.is_small:
            runner.note(SMALL_NOTE)
        return lines

    def collect(self, study: Claim, results: Mapping[Job, Result]) -> ClaimOutcome:
        """The runs of the claim."""
        return self._outcome(study, self.benchmark.collect(self.study, results), results)

    def measure(self, study: Claim, runner: Runner) -> ClaimOutcome:
        """Run the study; its benchmark also writes its own files.

        Raises:
            DivergedError: If no run ended.
        """
        finding = self.benchmark.measure(self.study, runner)
        return self._outcome(study, finding, runner.plan(self.plan(study)).kept)

    def _outcome(self, claim: Claim, finding: Any, results: Mapping[Job, Result]) -> ClaimOutcome:
        device = self.device(claim)
        is_gpu = device == "cuda" and torch.cuda.is_available()
        return ClaimOutcome(
            name=claim.name,
            digest=claim.digest,
            is_small=self.is_small,
            runs=tuple(self.runs(finding, results)),
            hours=sum(result.seconds for result in results.values()) / 3600,
            commit=own_commit(),
            processor=hardware(choose_device(device)) if is_gpu else processor(),
        )

    def record(self, study: Claim, finding: ClaimOutcome) -> list[Source]:
        """The runs with their figures."""
        return list(finding.runs)

    def report(self, study: Claim, finding: ClaimOutcome) -> Report:
        """The verdict, its differences, and the runs by arm."""
        return report_of(study, finding)


class SweepReproduction(Reproduction):
    """A claim whose study is a sweep."""

    benchmark: Sweeps
    study: SweepStudy

    def cells(self) -> list[dict[str, Any]]:
        """The settings that vary."""
        return [dict(variant.settings) for variant in self.study.variants]

    def runs(self, finding: Any, results: Mapping[Job, Result]) -> Iterator[Source]:
        """A run for each setting and seed, with its measures and scores."""
        for planned, source in zip(self.benchmark.runs(self.study), finding.sources(), strict=True):
            jobs = (planned.training, *planned.scores.values())
            yield claim_run(
                self.claim,
                settings=source.settings,
                seed=planned.seed,
                values={
                    name: None if value is None else float(value) for name, value in source.values.items()
                }
                | ({} if source.has_protocol is None else {PROTOCOL: float(source.has_protocol)}),
                status=source.status,
                failure=source.failure,
                seconds=sum(results[job].seconds for job in jobs if job in results),
            )


class IcyReproduction(Reproduction):
    """A claim whose study is an ICY study."""

    study: IcyStudy

    def cells(self) -> list[dict[str, Any]]:
        """Models, channels and grammars."""
        study = self.study
        pairs = [f"{one} and {other}" for one, other in zip(study.models, study.receivers, strict=False)]
        grammars = dict.fromkeys((BASIS, *study.grammars))
        channels = ("",) if study.config.protocol in ("exact", "paper") else map(str, study.channels)
        return [
            {"model": model, "grammar": grammar, "channel": channel}
            for model, grammar, channel in product(pairs or study.models, grammars, channels)
        ]

    def runs(self, finding: Any, results: Mapping[Job, Result]) -> Iterator[Source]:
        """A run for each model, channel, grammar and seed; capped if the target was not reached."""
        for row in finding.rows:
            model = row.model if row.receiver is None else f"{row.model} and {row.receiver}"
            # if CONCAT is measured like other grammars, it is the basis and a cell
            cells = {cell.name: cell for cell in (*([] if row.basis is None else [row.basis]), *row.cells)}
            for cell in cells.values():
                for run in cell.runs:
                    failure = run.get("reason")
                    is_timed = "ratio" in run or cell.name == BASIS  # others have CONCAT's number of updates
                    is_capped = is_timed and not run.get("reached", True)
                    yield claim_run(
                        self.claim,
                        settings={"model": model, "grammar": cell.name, "channel": row.channel},
                        seed=run["seed"],
                        values={
                            key: value
                            for key, value in run.items()
                            if key not in ("seed", "seconds")
                            and isinstance(value, int | float)
                            and not isinstance(value, bool)
                        }
                        | ({"reached": float(not is_capped)} if is_timed and not failure else {}),
                        status="failed" if failure else "capped" if is_capped else "done",
                        failure=failure,
                        seconds=run.get("seconds"),
                    )


class CbmReproduction(Reproduction):
    """A claim whose study is a set of CBM games."""

    study: SweepStudy

    def cells(self) -> list[dict[str, Any]]:
        """The rows."""
        return [dict(variant.settings) for variant in self.study.variants]

    def runs(self, finding: Any, results: Mapping[Job, Result]) -> Iterator[Source]:
        """A run for each row and seed."""
        for row in rows_of(self.study, finding):
            settings = {"row": row.name}
            for run in row.runs:
                yield claim_run(
                    self.claim,
                    settings=settings,
                    seed=run["seed"],
                    values=run["values"],
                    status="capped" if run["stopped"] in CAPPED else "done",
                    seconds=run["seconds"],
                )
            for seed, failure in row.failures.items():
                yield claim_run(
                    self.claim, settings=settings, seed=seed, values={}, status="failed", failure=failure
                )


class PaperReproduction(Reproduction):
    """A claim whose study is the set of sources of the XferBench paper."""

    study: PaperStudy

    def cells(self) -> list[dict[str, Any]]:
        """The sources, with their kinds."""
        return [{"source": source.name, "kind": source.kind} for source in self.study.sources]

    def measure(self, study: Claim, runner: Runner) -> ClaimOutcome:
        """Run its study.

        Raises:
            ConfigError: If a source is missing, except in a small check.
            DivergedError: If no run ended.
        """
        for source in self.study.sources:
            if source.missing and not self.is_small:
                raise ConfigError(f"claim {self.claim}: {source.name}: missing: {source.missing}")
        return Reproduction.measure(self, study, runner)

    def runs(self, finding: PaperResult, results: Mapping[Job, Result]) -> Iterator[Source]:
        """A run for each source and seed, with the paper's translation scores as further figures."""
        for row, cell in zip(finding.rows, self.cells(), strict=True):
            printed = {
                f"{name}, {setting}": scores.get(row.name)
                for name, by_setting in self.study.translation.items()
                for setting, scores in by_setting.items()
            }
            scores = dict(zip(row.by_seed, row.scores, strict=True))
            for seed in self.study.seeds:
                yield claim_run(
                    self.claim,
                    settings=cell,
                    seed=seed,
                    values={"xferbench": scores[seed], **printed} if seed in scores else {},
                    status="done" if seed in scores else "failed",
                    failure=None if seed in scores else row.reason or "its training diverged",
                    seconds=sum(
                        results[job].seconds
                        for each, job in row.source.jobs
                        if each == seed and job in results
                    ),
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusReproduction(Reproduction):
    """A claim about existing corpora; each is a run, numbered from 1 in the order of names instead of having a seed.

    A key of their metadata, such as the family of a language, may group related corpora: corpora with equal values get
    the same number, and an interval is over the means of groups.
    """

    study: CollectionStudy
    related: str = ""
    """A key of `metadata.json`; empty: each corpus has its own number."""

    def cells(self) -> list[dict[str, Any]]:
        """The corpora, with the group of related ones."""
        return [
            {CORPUS: member.name} | ({self.related: self._group_of(member)} if self.related else {})
            for member in self.study.members
        ]

    def _group_of(self, member: CollectionMember) -> str:
        file = member.path.parent / METADATA
        group = read_json(file).get(self.related) if file.is_file() else None
        if not isinstance(group, str) or not group:
            raise ConfigError(f"related: {file} lacks the key {self.related} of {member.name}")
        return group

    def runs(self, finding: Any, results: Mapping[Job, Result]) -> Iterator[Source]:
        """A run for each corpus, with its scores and their means over shuffled corpora, `chance of NAME`."""
        cells = self.cells()
        groups = dict.fromkeys(cell[self.related or CORPUS] for cell in cells)
        numbers = {group: number for number, group in enumerate(groups, 1)}
        for cell, scored in zip(cells, finding, strict=True):
            values = {score.name: score.value for score in scored.card.scores}
            levels = {
                f"chance of {score.name}": score.chance.level for score in scored.card.scores if score.chance
            }
            number = numbers[cell[self.related or CORPUS]]
            yield claim_run(self.claim, settings=cell, seed=number, values=values | levels, status="done")


def reproduction_of(claim: Claim, *, folder: Path, device: str, is_small: bool) -> Reproduction:
    """The benchmark of a claim, with its validated study.

    Claims with studies of one kind share stored results; the run folders of a sweep are in the folder of the claim, or
    in the folder of the claim that it names.

    Args:
        claim: The claim.
        folder: Parent of the folders of claims.
        device: auto, cpu, cuda or mps.
        is_small: Whether to run a small check.

    Raises:
        ConfigError: If the study is not valid.
    """
    [(kind, content)] = claim.study.items()
    changes = {key: value for key, value in claim.small.items() if key != "seeds"} if is_small else {}
    owner = claim
    if kind == OF_CLAIM:
        owner = load_claim(str(content))
        [(kind, content)] = owner.study.items()
        if is_small and not changes:
            changes = {key: value for key, value in owner.small.items() if key != "seeds"}
    name = f"{owner.name}_{SMALL}" if is_small else owner.name
    place = folder / (name if kind == "sweep" else kind)
    seeds = claim.small_seeds if is_small else claim.seeds
    try:
        benchmark, values = _load(kind, content, owner.name, seeds, changes, place, device)
    except ConfigError as error:
        raise ConfigError(f"claim {claim.name}: study: {error}") from None
    reproduction = benchmark(claim=claim.name, folder=place, is_small=is_small, **values)
    _require_arms(claim, reproduction.cells())
    if isinstance(reproduction, SweepReproduction | CorpusReproduction):
        _require_scored(claim, reproduction.study.metrics)
    return reproduction


def _load(
    kind: str,
    content: Any,
    name: str,
    seeds: tuple[int, ...],
    changes: Mapping[str, Any],
    folder: Path,
    device: str,
) -> tuple[type[Reproduction], dict[str, Any]]:
    """The class of a reproduction, with its benchmark, its study and further fields.

    Args:
        kind: The key of the study.
        content: Its content, or its name.
        name: Name of the claim's runs.
        seeds: The seeds of its runs.
        changes: Changes of its keys for a small check.
        folder: See `Reproduction.folder`.
        device: auto, cpu, cuda or mps.
    """
    if kind == "icy":
        config = load_icy({**ICY.read(content)[0], "name": name}, {"seeds": seeds, **changes})
        icy = resolve(config, device=choose_device(device).type)
        return IcyReproduction, {"benchmark": Icy(), "study": icy}
    if kind == OF_CORPORA:
        tree = {**SWEEP.read(content)[0], **changes, "name": name}
        related = checked(tree.pop("related", ""), str, "related")
        corpora = load_collection(tree)
        return CorpusReproduction, {
            "benchmark": Collections(read=read_corpus, kept=folder), "study": corpora, "related": related
        }  # fmt: skip
    if kind == "cbm":
        settings = mapping(changes.get("set", {}), "small.set")
        others = {key: value for key, value in changes.items() if key != "set"}
        cbm = load_cbm(
            {**CBM.read(content)[0], "name": name, **others},
            seeds=seeds,
            assignments=[f"{key}={json.dumps(value)}" for key, value in settings.items()],
            device=device,
        )
        return CbmReproduction, {"benchmark": CbmTables(folder=folder), "study": cbm}
    if kind == "xferbench":
        tree = {**XFERBENCH.read(content)[0], **changes, "name": name, "seeds": list(seeds)}
        tables = PaperTables(folder=folder)
        paper = load_paper(tree, PaperFiles(), folder=folder / "runs", device=device)
        return PaperReproduction, {"benchmark": tables, "study": paper}
    former = SWEEP.read(content)[0]
    settings = mapping(former.get("set", {}), "set") | mapping(changes.get("set", {}), "small.set")
    tree = {**former, **changes, "name": name, "seeds": list(seeds), "set": settings}
    return SweepReproduction, {
        "benchmark": Sweeps(folder=folder, kept=folder.parent / "sweep"),
        "study": load_sweep(tree, device=device),
    }


def _require_arms(claim: Claim, cells: Sequence[Mapping[str, Any]]) -> None:
    """Raise if an arm of a criterion matches no run, as with a mistyped setting."""
    for criterion in (claim.criterion, *claim.descriptive):
        for arm in criterion.arms:
            if not any(has_settings(cell, arm) for cell in cells):
                some = "; ".join(map(arm_name, cells[:3]))
                raise ConfigError(
                    f"claim {claim.name}: criterion: no run has {arm_name(arm)}; runs have {some}, …"
                )


def _require_scored(claim: Claim, metrics: Sequence[str]) -> None:
    """Raise if a criterion reads a score that the study does not compute."""
    asked = {name.partition(",")[0] for name in metrics}
    success = () if claim.success is None else (claim.success.measure,)
    names = [
        name
        for criterion in (claim.criterion, *claim.descriptive)
        for name in (*criterion.statistic.figures, *(criterion.controls or ()))
    ]
    for name in (*names, *success):
        metric = METRIC_OF.get(name.partition(",")[0])
        if metric is not None and metric not in asked:
            raise ConfigError(f"claim {claim.name}: criterion: no run has {name}: add {metric} to score")
