"""The study of a claim as that of a benchmark, and its runs as runs of a claim."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ecsuite.eval.claims.arms import arm_name
from ecsuite.eval.claims.claim import OF_CLAIM, OF_CORPORA, Claim, load_claim, small_seeds
from ecsuite.eval.claims.runs import CORPUS, Run, has_settings
from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.cbm import CbmTables, rows_of
from ecsuite.eval.experiments.cbm import load_table as load_cbm
from ecsuite.eval.experiments.collection import Collections, CollectionStudy, load_collection
from ecsuite.eval.experiments.corpora import Member
from ecsuite.eval.experiments.grids import CBM, ICY, SWEEP, mapping
from ecsuite.eval.experiments.study import SweepStudy
from ecsuite.eval.experiments.study import load_study as load_sweep
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.study import BASIS, IcyStudy, resolve
from ecsuite.eval.icy.study import load_study as load_icy
from ecsuite.eval.metrics import METRIC_OF
from ecsuite.eval.results.sources import CAPPED, METADATA
from ecsuite.formats import read_corpus
from ecsuite.formats.strict_json import read_json
from ecsuite.jobs.job import Job, Result
from ecsuite.parts.config import checked
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError

Results = Mapping[Job, Result]
SMALL = "small"
"""What the folder of a check of minutes ends with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked(ABC):
    """The study of a claim, as its benchmark takes it."""

    benchmark: Benchmark[Any, Any]
    """The benchmark."""
    study: Any
    """What is asked of it."""
    folder: Path
    """Of its runs, and of kept results."""

    @property
    def store(self) -> Path:
        """The folder of kept results."""
        return self.benchmark.store or self.folder

    @abstractmethod
    def cells(self) -> list[dict[str, Any]]:
        """The settings of the runs that are wanted, without their seeds."""

    @property
    def metrics(self) -> tuple[str, ...] | None:
        """The metrics whose scores runs have; None of a benchmark with figures of its own."""
        return None

    @abstractmethod
    def runs(self, finding: Any, results: Results) -> Iterator[Run]:
        """The runs, from what the benchmark collected and the results of its jobs."""


class AskedSweep(Asked):
    """A sweep."""

    benchmark: Sweeps
    study: SweepStudy

    def cells(self) -> list[dict[str, Any]]:
        """What varies."""
        return [dict(variant.settings) for variant in self.study.variants]

    @property
    def metrics(self) -> tuple[str, ...] | None:
        """Those of the study."""
        return self.study.metrics

    def runs(self, finding: Any, results: Results) -> Iterator[Run]:
        """A run for each setting and seed, with its measures and scores."""
        for planned, source in zip(self.benchmark.runs(self.study), finding.sources(), strict=True):
            jobs = (planned.training, *planned.scores.values())
            yield Run(
                settings=dict(source.settings),
                seed=planned.seed,
                values={
                    each.name: None if each.value is None else float(each.value) for each in source.records
                },
                status=source.status,
                failure=source.failure,
                seconds=sum(results[job].seconds for job in jobs if job in results),
            )


class AskedIcy(Asked):
    """A study of ICY."""

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

    def runs(self, finding: Any, results: Results) -> Iterator[Run]:
        """A run for each model, channel, grammar and seed; capped where the target was not reached."""
        for row in finding.rows:
            model = row.model if row.receiver is None else f"{row.model} and {row.receiver}"
            # where CONCAT is measured as other grammars are, it is the basis and a cell
            cells = {cell.name: cell for cell in (*([] if row.basis is None else [row.basis]), *row.cells)}
            for cell in cells.values():
                settings = {"model": model, "grammar": cell.name, "channel": row.channel}
                for run in cell.runs:
                    failure = run.get("reason")
                    yield Run(
                        settings=settings,
                        seed=run["seed"],
                        values={
                            key: run[key] for key in run if key != "seconds" and _is_figure(run[key], key)
                        },
                        status="failed" if failure else "done" if run.get("reached", True) else "capped",
                        failure=failure,
                        seconds=run.get("seconds"),
                    )


class AskedCbm(Asked):
    """The games of CBM."""

    study: SweepStudy

    def cells(self) -> list[dict[str, Any]]:
        """The rows."""
        return [dict(variant.settings) for variant in self.study.variants]

    def runs(self, finding: Any, results: Results) -> Iterator[Run]:
        """A run for each row and seed."""
        for row in rows_of(self.study, finding):
            settings = {"row": row.name}
            for run in row.runs:
                yield Run(
                    settings=settings,
                    seed=run["seed"],
                    values=dict(run["values"]),
                    status="capped" if run["stopped"] in CAPPED else "done",
                    seconds=run["seconds"],
                )
            for seed, failure in row.failures.items():
                yield Run(settings=settings, seed=seed, values={}, status="failed", failure=failure)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedCollection(Asked):
    """Corpora that are there, each a run: numbered from 1 in the order of their names, where other runs have seeds.

    With a key of their metadata that tells which are related, such as the family of a language, all that have the same
    value have one number: an interval is then over the means of families.
    """

    study: CollectionStudy
    related: str = ""
    """The key of `metadata.json`; empty: each corpus is a number of its own."""

    def cells(self) -> list[dict[str, Any]]:
        """The corpora, with what is the same of related ones."""
        members = self.study.members
        own = [{CORPUS: member.name} for member in members]
        if not self.related:
            return own
        return [cell | {self.related: self._group(member)} for cell, member in zip(own, members, strict=True)]

    @property
    def metrics(self) -> tuple[str, ...] | None:
        """Those of the study."""
        return self.study.metrics

    def _group(self, member: Member) -> str:
        file = member.path.parent / METADATA
        group = read_json(file).get(self.related) if file.is_file() else None
        if not isinstance(group, str) or not group:
            raise ConfigError(f"related: {file} does not say the {self.related} of {member.name}")
        return group

    def runs(self, finding: Any, results: Results) -> Iterator[Run]:
        """A run for each corpus, with its scores and the mean of each in shuffled ones: `chance of NAME`."""
        cells = self.cells()
        numbers = {cell[self.related or CORPUS]: 0 for cell in cells}
        numbers = {group: number for number, group in enumerate(numbers, 1)}
        for cell, scored in zip(cells, finding, strict=True):
            number = numbers[cell[self.related or CORPUS]]
            values = {score.name: score.value for score in scored.card.scores}
            levels = {
                f"chance of {score.name}": score.chance.level for score in scored.card.scores if score.chance
            }
            yield Run(settings=cell, seed=number, values=values | levels, status="done")


def _is_figure(value: Any, key: str) -> bool:
    return key != "seed" and isinstance(value, int | float) and not isinstance(value, bool)


def asked_of(claim: Claim, *, folder: Path, device: str, is_small: bool) -> Asked:
    """The study of a claim, checked.

    Claims with studies of one kind share the runs that they have in common; the folders of the runs of a sweep are in
    one of its own, or in that of the claim it names.

    Args:
        claim: The claim.
        folder: Parent of the folders of claims.
        device: auto, cpu, cuda or mps.
        is_small: Whether a check of minutes is asked for.

    Raises:
        ConfigError: If the study is not valid.
    """
    [(kind, content)] = claim.study.items()
    changes = {key: value for key, value in claim.small.items() if key != "seeds"} if is_small else {}
    seeds = small_seeds(claim) if is_small else claim.seeds
    owner = claim.name
    if kind == OF_CLAIM:
        other = load_claim(str(content))
        owner = other.name
        [(kind, content)] = other.study.items()
        if is_small and not changes:
            changes = {key: value for key, value in other.small.items() if key != "seeds"}
    own = f"{owner}_{SMALL}" if is_small else owner
    place = folder / (own if kind == "sweep" else kind)
    try:
        asked = _READERS[kind](content, owner, seeds, changes, place, device)
    except ConfigError as error:
        raise ConfigError(f"claim {claim.name}: study: {error}") from None
    _require_arms(claim, asked.cells())
    _require_scored(claim, asked)
    return asked


def _require_arms(claim: Claim, cells: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a criterion of which an arm has no runs, as one with a mistyped setting."""
    for criterion in (claim.criterion, *claim.descriptive):
        sizes = criterion.sizes
        at_sizes = [{}] if sizes is None else [{sizes.setting: size} for size in sizes.values]
        for arm, size in product(criterion.arms, at_sizes):
            wanted = {**arm, **size}
            if not any(has_settings(cell, wanted) for cell in cells):
                some = "; ".join(map(arm_name, cells[:3]))
                raise ConfigError(
                    f"claim {claim.name}: criterion: no run has {arm_name(wanted)}; runs have {some}, …"
                )


def _require_scored(claim: Claim, asked: Asked) -> None:
    """Refuse a criterion about a score that the study does not ask for."""
    if asked.metrics is None:
        return
    own = {name.partition(",")[0] for name in asked.metrics}
    success = () if claim.success is None else (claim.success.measure,)
    names = [
        name
        for criterion in (claim.criterion, *claim.descriptive)
        for name in (*criterion.statistic.figures, *(criterion.controls or ()))
    ]
    for name in (*names, *success):
        metric = METRIC_OF.get(name.partition(",")[0])
        if metric is not None and metric not in own:
            raise ConfigError(
                f"claim {claim.name}: criterion: no run has {name}: score: {metric} is not asked for"
            )


Reader = Callable[[Any, str, tuple[int, ...], Mapping[str, Any], Path, str], Asked]
"""Takes content, name, seeds, changes of keys, folder and device."""


def _sweep(
    content: Any, name: str, seeds: tuple[int, ...], changes: Mapping[str, Any], place: Path, device: str
) -> Asked:
    former = SWEEP.read(content)[0]
    settings = {**mapping(former.get("set", {}), "set"), **_changed_settings(changes)}
    tree = {**former, **changes, "name": name, "seeds": list(seeds), "set": settings}
    return AskedSweep(
        benchmark=Sweeps(folder=place, kept=place.parent / "sweep"),
        study=load_sweep(tree, device=device),
        folder=place,
    )


def _changed_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    return mapping(changes.get("set", {}), "small.set")


def _icy(
    content: Any, name: str, seeds: tuple[int, ...], changes: Mapping[str, Any], place: Path, device: str
) -> Asked:
    config = load_icy({**ICY.read(content)[0], "name": name}, {"seeds": seeds, **changes})
    return AskedIcy(benchmark=Icy(), study=resolve(config, device=choose_device(device).type), folder=place)


def _cbm(
    content: Any, name: str, seeds: tuple[int, ...], changes: Mapping[str, Any], place: Path, device: str
) -> Asked:
    settings = [f"{key}={json.dumps(value)}" for key, value in _changed_settings(changes).items()]
    tree = {**CBM.read(content)[0], "name": name, **{key: changes[key] for key in changes if key != "set"}}
    study = load_cbm(tree, seeds=seeds, assignments=settings, device=device)
    return AskedCbm(benchmark=CbmTables(folder=place), study=study, folder=place)


def _collection(
    content: Any, name: str, seeds: tuple[int, ...], changes: Mapping[str, Any], place: Path, device: str
) -> Asked:
    tree = {**SWEEP.read(content)[0], **changes, "name": name}
    related = checked(tree.pop("related", ""), str, "related")
    study = load_collection(tree)
    return AskedCollection(
        benchmark=Collections(read=read_corpus, kept=place), study=study, folder=place, related=related
    )


_READERS: Mapping[str, Reader] = {"sweep": _sweep, "icy": _icy, "cbm": _cbm, OF_CORPORA: _collection}
"""Of each kind of a study, what makes that of the benchmark."""
