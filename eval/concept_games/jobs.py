"""The job of a study: one game is trained with one seed, and its corpus is scored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ecsuite.devices import choose_precision, fixed_threads
from ecsuite.eval.concept_games.published_topsim import topsim_published
from ecsuite.eval.concept_games.study import Study
from ecsuite.eval.metrics import ami as information
from ecsuite.eval.metrics import cbm, topsim
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.metrics.score import Options
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import Experiment, from_tree, with_training
from ecsuite.games.run_identity import identity, with_data
from ecsuite.games.training import train
from ecsuite.jobs.job import Context, Job, Location, Stopped, hash_of, job_function

VERSION = 2
"""Increased whenever the same inputs would give another result."""
SLOWNESS = {"thing": 1.0, "shape": 3.0}
"""Relative time per example of a world; only used to order jobs and to estimate the remaining time."""
COUNTS = {
    "unique_messages": "unique_messages",
    "unique_words": "unique_words",
    "unique_phrases": "unique_phrases",
    "unique_concepts": "unique_concepts",
    "total_edges": "total_edges",
    "good_edges": "good",
    "ambiguous_edges": "ambiguous",
    "paraphrase_edges": "paraphrase",
    "total_concepts": "total_concepts",
    "unmatched_concepts": "unmatched_program",
}
"""Names of measures and of the counts in the details of `cbm`, which uses some names for a share and a count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """An experiment as the input of a job: known by its settings and the content of its data files."""

    tree: dict[str, Any]
    """Every setting as in a YAML file, with the checksums of data files."""

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """The game of an experiment with a resolved precision."""
        return cls(tree=with_data(experiment).to_tree())

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return from_tree(self.tree, str(self.tree["name"]))

    def job_key(self) -> Any:
        """Every setting but the description and the paths of data files."""
        return identity(self.experiment)


def _work(*, game: Game, **_: Any) -> float:
    settings = game.tree["training"]
    examples = settings["num_examples"] * settings["num_epochs"]
    return float(examples * SLOWNESS.get(game.tree["world"]["kind"], 1.0))


@job_function(
    version=[VERSION, cbm.VERSION, topsim.VERSION, information.VERSION],
    work=_work,
    label=lambda *, game, **_: f"{game.tree['name']}, seed {game.tree['training']['seed']}",
)
def play_and_score(*, game: Game, folder: Location, device: str, context: Context) -> dict[str, Any]:
    """Train a game, and score its corpus.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a run that was stopped there goes on.
        device: cpu or cuda.
        context: See `Context`.

    Returns:
        `seed`, `stopped` (the reason), `step`, `values` by measure (None if not defined), `chance`, `signatures` by
        metric, `probes`, and the curves of `sensitivity`.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    experiment = game.experiment
    name, seed = experiment.name, experiment.training.seed
    run_folder = run_folder_of(game, folder.path)
    with fixed_threads(1):
        result = train(
            experiment,
            run_folder,
            resume=True,
            device=device,
            progress=lambda label, done, total: context.report_progress(
                f"{name} {seed}: {label}", done / total
            ),
            note=lambda _: None,  # notes of single runs are not shown in a study
            should_stop=lambda: "preempted" if context.should_stop() else None,
        )
    if result.stopped == "preempted":
        raise Stopped
    corpus = read_corpus(run_folder)
    scores = {
        "cbm": cbm.cbm(corpus, Options())[0],
        "topsim": topsim.topsim(corpus, Options())[0],
        "topsim_published": topsim_published(corpus),
        "ami": information.ami(corpus, Options())[0],
    }
    details = scores["cbm"].details
    values: dict[str, Any] = {key: value for key, value in result.measures.items() if key != "length"}
    values |= {key: score.value for key, score in scores.items()}
    values |= {key: details[key] for key in ("ambiguity", "paraphrase", "precision", "recall")}
    # The paper's figures are from its program, which also counts a concept with a word of weight 0 as matched.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": seed,
        "stopped": result.stopped,
        "step": result.step,
        "values": values,
        "chance": result.chance,
        "signatures": {key: score.signature for key, score in scores.items()},
        "probes": result.extra_evaluations,
        "sensitivity": sensitivity(corpus),
    }


def run_folder_of(game: Game, folder: Path) -> Path:
    """The run folder of a game: `NAME-SEED-KEY`."""
    return folder / f"{game.tree['name']}-{game.tree['training']['seed']}-{hash_of(game.job_key())[:8]}"


def plan(study: Study, folder: Path) -> dict[tuple[str, int], Job]:
    """The jobs of a study, by row and seed; `folder` is the parent of the run folders."""
    return {
        (row.name, seed): Job(
            play_and_score,
            game=Game.of(
                with_training(
                    row.experiment,
                    seed=seed,
                    precision=choose_precision(row.experiment.training.precision, study.device),
                )
            ),
            folder=Location(path=folder.resolve()),
            device=study.device.type,
        )
        for row in study.rows
        for seed in study.header.seeds
    }
