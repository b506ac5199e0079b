"""The benchmark: agents learn artificial grammars, and pairs of them are trained end to end."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load_file

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.end_to_end import EndToEnd
from ecsuite.eval.icy.grammar_metrics import GrammarMetrics
from ecsuite.eval.icy.jobs import group_runs, is_expected_to_fail, learn_grammar, plan, plan_corpora
from ecsuite.eval.icy.protocol import PUBLISHED_CAP, Protocol
from ecsuite.eval.icy.rows import IcyRow, ProtocolView, interval_notes
from ecsuite.eval.icy.single_agents import Budget, Ratios
from ecsuite.eval.icy.study import BASIS, MOST_STEPS, IcyStudy, ProtocolName
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.console import Report
from ecsuite.formats import write_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Job, Result, Stopped
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted
from ecsuite.runtime.time_left import duration_text

VIEWS: dict[ProtocolName, ProtocolView] = {
    "exact": Ratios(),
    "paper": Ratios(),
    "budget": Budget(),
    "end-to-end": EndToEnd(),
    "metrics": GrammarMetrics(),
}
MOST_TIMED = 3
"""Maximum number of models whose updates are timed; other models are assumed to take their mean time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyResult:
    """The rows of a study."""

    study: IcyStudy
    rows: tuple[IcyRow, ...]
    failures: tuple[str, ...] = ()
    """Numbers of runs that are left out, with the reasons."""

    @property
    def view(self) -> ProtocolView:
        """The view of its protocol."""
        return VIEWS[self.study.config.protocol]

    def to_json(self) -> dict[str, Any]:
        """The settings and all rows, for `json.dumps(…, allow_nan=False)`."""
        study, rows = self.study, self.view.to_json(self.study, self.rows)
        if study.config.protocol != "metrics":
            return {"study": asdict(study.config) | {"seeds": study.seeds}, "rows": rows}
        return {
            "grammars": study.grammars,
            "geometry": asdict(study.geometry),
            "seeds": study.seeds,
            "metrics": study.metrics,
            "rows": rows,
            "about": study.config.about,
        }


class Icy(Benchmark[IcyStudy, IcyResult]):
    """How fast do agents learn artificial grammars?"""

    def plan(self, study: IcyStudy) -> list[Job]:
        """The runs, and the messages of the trained senders if corpora are saved."""
        return [*plan(study).values(), *plan_corpora(study).values()]

    def plan_groups(self, study: IcyStudy) -> dict[Job, tuple[str, int]]:
        """The channel (if several), the model, the grammar and the seed of each job."""
        groups: dict[Job, tuple[str, int]] = {}
        is_of_pairs = study.config.protocol == "end-to-end"
        for jobs, part in ((plan(study), ""), (plan_corpora(study), "messages")):
            for name, job in jobs.items():
                *names, seed, what = name if is_of_pairs else (*name, part)
                names = names[len(study.channels) == 1 < len(names) :]
                if is_of_pairs and what != "pair":
                    names = [names[-3 if what == "sender" else -2], names[-1]]
                words = (*names, *([what] if what and what != "pair" else []))
                groups.setdefault(job, (" ".join(map(str, words)), int(str(seed))))
        return groups

    def require_figure(self, study: IcyStudy) -> None:
        """Raise unless the study can be plotted: pairs only as one pair over one channel."""
        if not study.config.has_picture:
            raise ConfigError("--plot: expected one model and one channel")

    def device(self, study: IcyStudy) -> str:
        """The device on which agents are trained."""
        return study.device

    def seconds_of(self, study: IcyStudy, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Time of the runs, from the measured time of an update; None with jobs of pairs or metrics."""
        is_known = all(job.function is learn_grammar for job in jobs)
        if not is_known:
            return None
        share = expected_seconds(study, jobs, 1) / (sum(job.work for job in jobs) or 1.0)
        return {job: share * job.work for job in jobs}

    def notes_on_plan(self, study: IcyStudy) -> list[str]:
        """The parts of a job, and the columns of the result."""
        if study.config.protocol not in ("exact", "paper"):
            return []
        return [
            "a setting: model and grammar; CONCAT is always trained as the reference: its column has updates, "
            "the others ratios to it"
        ]

    def announce(self, study: IcyStudy, runner: Runner) -> list[str]:
        """Number of runs, estimated time, and grammars that are expected not to be learnt."""
        jobs = list(dict.fromkeys(plan(study).values()))
        missing = runner.plan(jobs).missing
        if study.config.protocol == "metrics":
            return []
        runs = len({*jobs, *(each for job in jobs for each in job.after)})
        factors = [
            (len(study.channels), "channel"),
            (len(study.models), "model" if study.config.protocol != "end-to-end" else "pair"),
            (len(study.grammars) + (BASIS not in study.grammars), "grammar"),
            (len(study.seeds), "seed"),
        ]
        shown = [counted(count, noun) for count, noun in factors if count > 1 or noun != "channel"]
        lines = [f"{' x '.join(shown)}: {runs} runs, {_remaining_work(study, missing, runner)}"]
        failing = {
            job.inputs["grammar"].upper()
            for job in missing
            if job.function is learn_grammar and is_expected_to_fail(**job.inputs)
        }
        if failing:
            lines.append(
                f"{', '.join(sorted(failing))}: expected not to be learnt; such a run ends at {study.cap:g} times the "
                "updates of CONCAT (--cap, --early-stop)"
            )
        return lines

    def needs_arrays(self, study: IcyStudy) -> bool:
        """Whether messages are written."""
        return study.corpora is not None

    def collect(self, study: IcyStudy, results: Mapping[Job, Result]) -> IcyResult:
        """The rows of a study; the messages of trained senders are written into its folder of corpora.

        Raises:
            ConfigError: If a model does not learn CONCAT in `exact` or `paper`.
            DivergedError: If all jobs failed.
        """
        jobs = plan(study)
        require_results({job: results[job] for job in jobs.values()})
        job_results = {
            name: {**results[job].value, "seconds": results[job].seconds}
            for name, job in jobs.items()
            if results[job].failure is None
        }
        reasons = Counter(results[job].failure for job in dict.fromkeys(jobs.values()))
        del reasons[None]
        rows = VIEWS[study.config.protocol].rows(study, job_results)
        write_corpora(study, {job: results[job] for job in plan_corpora(study).values()})
        return IcyResult(
            study=study,
            rows=tuple(rows),
            failures=tuple(
                f"{count} of {len(set(jobs.values()))} runs left out: {reason}"
                for reason, count in reasons.items()
            ),
        )

    def record(self, study: IcyStudy, finding: IcyResult) -> list[Source]:
        """A source for each run; see `ProtocolView.record`."""
        return finding.view.record(study, finding.rows)

    def report(self, study: IcyStudy, finding: IcyResult) -> Report:
        """The table of the protocol, with the paper's figures."""
        view, rows = finding.view, finding.rows
        notes = [*finding.failures, *view.notes(study, rows), *interval_notes(rows), *precision_notes(study)]
        return Report(
            tables=(view.table(study, rows),),
            notes=tuple(notes),
            data=finding.to_json(),
            draw=(lambda file: view.draw(study, rows, file)) if study.config.has_picture else None,
        )


def precision_notes(study: IcyStudy) -> list[str]:
    """A note if the device computed in another precision than the study asks for."""
    asked, used = study.config.precision, study.training.precision
    if asked == used:
        return []
    return [f"--precision {asked}: this {study.device} device computed in {used}, as the signature shows."]


def _remaining_work(study: IcyStudy, missing: Sequence[Job], runner: Runner) -> str:
    if not missing:
        return f"all stored in {runner.folder}"
    is_new = len(missing) == len({*plan(study).values()})
    left = "all to train" if is_new else f"{len(missing)} to train"
    if any(job.function is not learn_grammar for job in missing):
        return left
    seconds = expected_seconds(study, missing, runner.num_workers)
    processes = f"{runner.num_workers} processes" if runner.num_workers > 1 else "1 process"
    folder = runner.folder.resolve() if is_new and runner.folder else runner.folder
    return f"{left}, about {duration_text(seconds)} with {processes}; each is saved in {folder} when it ends"


def expected_seconds(study: IcyStudy, missing: Sequence[Job], num_workers: int) -> float:
    """Estimated time for runs: at least the time of the longest run plus its run on CONCAT.

    On CUDA a group takes as long as its longest run: an update of many runs takes hardly longer than an update of one.
    """
    models = list(dict.fromkeys(job.inputs["model"] for job in missing))
    timed = {model: seconds_of_update(study, model) for model in models[:MOST_TIMED]}
    mean = sum(timed.values()) / len(timed)
    times = {job: job.work * timed.get(job.inputs["model"], mean) for job in missing}
    bases = [time for job, time in times.items() if not job.after]
    others = [time for job, time in times.items() if job.after]
    groups = group_runs(missing, num_workers) if study.device == "cuda" else [[job] for job in missing]
    total = sum(max(times[job] for job in group) for group in groups)
    return max(total / num_workers, max(bases, default=0.0) + max(others, default=0.0))


def seconds_of_update(study: IcyStudy, model: str) -> float:
    """Time of an update of a model on CONCAT, measured for about a second."""
    protocol = replace(study.training, target=None, early_stop=False)
    run = TrainingRun(grammar=BASIS, seed=study.seeds[0], cap=MOST_STEPS)
    reports: list[tuple[float, int]] = []

    def report_progress(index: int, updates: int, accuracy: float) -> None:
        reports.append((time.perf_counter(), updates))
        if len(reports) > 1:
            raise Stopped

    channel, device = str(study.channels[0]), torch.device(study.device)
    with suppress(Stopped):
        for _ in learn(
            model,
            study.role,
            study.geometry,
            [run],
            protocol,
            channel=channel,
            device=device,
            report_progress=report_progress,
        ):
            pass
    if len(reports) < 2:  # the run ended before
        return 0.0
    (first, before), (last, after) = reports
    return (last - first) / max(1, after - before)


def write_corpora(study: IcyStudy, results: Mapping[Job, Result]) -> list[Path]:
    """Write the messages of a study's trained senders as corpora into its folder, and return the corpus folders.

    Args:
        study: The study.
        results: Results of the jobs of `plan_corpora`, with arrays.
    """
    signature = study.training.signature(study.cap)
    settings = f"{study.geometry}|{signature}"
    suffix = ""
    if settings != f"{Geometry()}|{Protocol().signature(PUBLISHED_CAP)}":  # other settings get other folders
        suffix = "_" + hashlib.sha256(settings.encode()).hexdigest()[:8]
    folders = []
    for job, result in results.items():
        if result.failure is not None or not result.value["is_trained"]:
            continue
        assert result.arrays is not None and study.corpora is not None
        messages = load_file(result.arrays)["messages"]  # (num_meanings, message_length)
        model, run = job.inputs["model"], result.value
        target = language(run["grammar"], study.geometry, run["seed"])
        corpus = replace(target, messages=messages).corpus()
        metadata = {key: value for key, value in corpus.metadata.items() if key != "signature"} | {
            "speaker": model,
            "taught": target.signature,
            "protocol": signature,
            "updates": run["steps"],
            "symbol_accuracy": float((messages == target.messages).mean()),
        }
        name = f"{model}_{run['grammar']}_{run['seed']}".replace(":", "-").replace(",", "-")
        folders.append(study.corpora / f"{name}{suffix}")
        write_corpus(replace(corpus, metadata=metadata), folders[-1])
    return folders
