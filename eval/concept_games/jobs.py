"""The job of a study: one game is trained with one seed, and its corpus is scored."""

from typing import Any

from ecsuite.eval.concept_games.published_topsim import topsim_published
from ecsuite.eval.concept_games.study import Study
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.associations import ami
from ecsuite.eval.metrics.cbm import cbm, sensitivity
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.formats import read_corpus
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.job import Context, Job, Location, job_function

VERSION = 3
"""Increased whenever the same inputs would give another result."""
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


@job_function(
    version=[VERSION, *(traits_of(name).version for name in ("cbm", "topsim", "ami"))],
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"{game.name}, seed {game.seed}",
)
def play_and_score(*, game: Game, folder: Location, device: str, context: Context) -> dict[str, Any]:
    """Train a game, and score its corpus.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a run that was stopped there goes on.
        device: cpu, cuda or mps.
        context: See `Context`.

    Returns:
        `seed`, `stopped` (the reason), `step`, `values` by measure (None if not defined), `chance`, `signatures` by
        metric, `extra_evaluations`, and the curves of `sensitivity`.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    result = train_in_job(game, run_folder, device, context)
    corpus = read_corpus(run_folder)
    scores = {
        "cbm": cbm(corpus, Options())[0],
        "topsim": topsim(corpus, Options())[0],
        "topsim_published": topsim_published(corpus),
        "ami": ami(corpus, Options())[0],
    }
    details = scores["cbm"].details
    values: dict[str, Any] = {key: value for key, value in result.measures.items() if key != "length"}
    values |= {key: score.value for key, score in scores.items()}
    values |= {key: details[key] for key in ("ambiguity", "paraphrase", "precision", "recall")}
    # The paper's figures are from its program, which also counts a concept with a word of weight 0 as matched.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": game.seed,
        "stopped": result.stopped,
        "step": result.step,
        "values": values,
        "chance": result.chance,
        "signatures": {key: score.signature for key, score in scores.items()},
        "extra_evaluations": result.extra_evaluations,
        "sensitivity": sensitivity(corpus),
    }


def plan(study: Study) -> dict[tuple[str, int], Job]:
    """The jobs of a study, by row and seed."""
    return {
        (row.name, seed): Job(
            play_and_score,
            game=Game.of(row.experiment, seed, study.device),
            folder=Location(path=study.folder.resolve()),
            device=study.device.type,
        )
        for row in study.rows
        for seed in study.header.seeds
    }
