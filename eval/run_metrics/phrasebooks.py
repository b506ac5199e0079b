"""Phrasebooks in place of trained agents: the share of a pair's success that its inventory of forms explains."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.agents.options import PhrasebookRules
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.morphemes import MOST_MESSAGES
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width
from ecsuite.games.config.sections import ROLES, Role
from ecsuite.parts.config import Share
from ecsuite.parts.registry import Part, to_tree
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.plays.population import Population
    from ecsuite.games.runs.run import Run

INDUCED = ("csar", "morphemes")
"""Metrics that find inventories."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhrasebookOptions(PhrasebookRules):
    """Options of `phrasebook`, and of `ecsuite cross-play --phrasebook`."""

    inventory: str = "csar"
    """Source of the pairs: found by csar or morphemes in the corpus of the run, or a JSON file."""
    held_out: Share = 0.0
    """Share of the meanings that are left out of the corpus before pairs are found, and only tested; 0: none."""


DEFAULT = PhrasebookOptions()
LISTENER = Traits(
    name="phrasebook_listener",
    about="success of a phrasebook listener, relative",
    high="1 if a listener that only uses the inventory is as good as the trained listener",
    question="agents",
    direction="higher",
    chance="guesses",
    needs=("agents",),
    options=PhrasebookOptions,
)
SPEAKER = replace(
    LISTENER,
    name="phrasebook_speaker",
    about="success of a phrasebook speaker, relative",
    high="1 if a speaker that only uses the inventory is understood as well as the trained speaker",
)
NPMI = replace(
    LISTENER,
    name="phrasebook_npmi",
    about="association of the phrasebook's forms and meanings",
    high="1 if each form occurs with its meaning only; pairs that occur once always have 1",
    bounds=(-1.0, 1.0),
    chance=None,
)


@metric(LISTENER, SPEAKER, NPMI)
def phrasebook(run: "Run", options: Options, own: PhrasebookOptions = DEFAULT) -> list[Score]:
    """Success of phrasebook agents with trained partners, relative to the success of the trained pair.

    After Boldt & Mortensen (2026, ACL 2026.acl-long.1389; only the abstract was read, the rules are
    ours). With accuracies in the rounds of validation, `phrasebook_listener` is the accuracy of
    the trained speaker with a listener that reads the forms in its messages, divided by the accuracy of the trained
    pair; `phrasebook_speaker` uses a speaker that covers meanings with forms, and the trained listener. A society is
    averaged over all pairs that meet. The interval is Student's over meanings, of the linearised ratio; the chance
    level is the accuracy of guesses divided by the trained pair's accuracy. `phrasebook_npmi` is the mean NPMI of the
    pairs, see `morphemes`. `csar` gets 2,000 messages of a larger corpus, drawn at random.

    Undefined without pairs, if messages are not symbols about single objects of attribute values, and if the trained
    pair is never right; `phrasebook_npmi` also for a file.
    """
    settings: dict[str, Any] = {"task": run.experiment.task.kind, "mode": run.experiment.evaluation.mode}
    settings |= to_tree(own) | {"seed": options.seed}
    if own.inventory not in INDUCED and Path(own.inventory).is_file():
        settings["inventory"] = sha256(Path(own.inventory).read_bytes()).hexdigest()[:12]
    blank = [unscored(traits, **settings) for traits in (LISTENER, SPEAKER, NPMI)]
    try:
        inventory, npmi = _inventory(run, own, options.seed)
        read = replace(own, inventory=inventory)
        found = [_by_meaning(run, read, roles, options.seed) for roles in ((), ROLES[1:], ROLES[:1])]
    except ConfigError as error:
        if own.inventory not in INDUCED:
            raise
        return [score(value=None, reason=str(error)) for score in blank]
    trained, *accuracies = found
    if not trained.any():
        return [score(value=None, reason="the trained pair is never right") for score in blank]
    whole, level, scores = float(trained.mean()), run.players.chance()["accuracy"], []
    for score, accuracy in zip(blank, accuracies, strict=False):
        share = float(accuracy.mean()) / whole
        linearised = (share + (accuracy - share * trained) / whole).tolist()
        ci95 = clipped(share, mean_and_half_width(linearised)[1], 0.0, inf)
        details = {"accuracy": float(accuracy.mean()), "trained": whole, "tested_meanings": len(trained)}
        chance = Chance.from_guesses(level / whole, linearised)
        scores.append(score(value=share, ci95=ci95, chance=chance, details=details))
    return [
        *scores,
        blank[2](value=npmi, reason=None if npmi is not None else "the pairs come from a file"),
    ]


def with_phrasebook(
    run: "Run", own: PhrasebookOptions, roles: tuple[Role, ...] = ROLES, seed: int = 0
) -> "Population":
    """Replace the agents of a run by phrasebooks in some roles.

    Raises:
        ConfigError: If there are no pairs, or they do not fit the game.
    """
    from ecsuite.agents.phrasebook import PhrasebookReceiver, PhrasebookSender
    from ecsuite.games.players.pair import SIDES
    from ecsuite.games.plays.play import players_of

    if run.pair.channel.is_of_values:
        raise ConfigError(f"{run.folder}: the words of its channel are values")
    inventory = _inventory(run, own, seed)[0] if roles else ""
    parts: dict[Role, Any] = {
        "sender": PhrasebookSender.Options(
            inventory=inventory, size=own.size, order=own.order, fill=own.fill
        ),
        "receiver": PhrasebookReceiver.Options(inventory=inventory, size=own.size, unknown=own.unknown),
    }
    changed: dict[str, Any] = {role: Part("phrasebook", parts[role]) for role in roles}
    if roles:
        changed["society"] = replace(run.experiment.society, shares="nothing")
    players = players_of(replace(run.experiment, **changed), run.pair.world)
    sides, weights = [f".{SIDES[role]}." for role in roles], run.players.state_dict().items()
    others = {name: each for name, each in weights if not any(side in name for side in sides)}
    players.load_state_dict(others, strict=False)
    return players.eval()


def _inventory(run: "Run", own: PhrasebookOptions, seed: int) -> tuple[str, float | None]:
    """Pairs of a run as JSON, or the path of their file; and their mean NPMI (None for a file)."""
    if own.inventory not in INDUCED:
        if not own.inventory.startswith("[") and not Path(own.inventory).exists():
            expected = f"expected {', '.join(INDUCED)} or a JSON file"
            raise ConfigError(f"phrasebook.inventory: {expected}, got {own.inventory!r:.60}")
        return own.inventory, None
    corpus, rng = run.corpus, np.random.default_rng(seed)
    if own.held_out and corpus.meanings is not None:
        corpus = corpus.take(np.flatnonzero(~_is_held_out(np.asarray(corpus.meanings), own, seed)))
    if own.inventory == "csar" and len(corpus.messages) > MOST_MESSAGES:
        corpus = corpus.take(np.sort(rng.choice(len(corpus.messages), MOST_MESSAGES, replace=False)))
    [score] = find_metric(own.inventory)(corpus, seed=seed)
    if not score.details.get("inventory"):
        raise ConfigError(f"{run.folder}: {score.reason or f'{own.inventory} finds no pairs'}")
    return json.dumps(score.details["inventory"]), score.details["npmi"]


def _is_held_out(meanings: NDArray[Any], own: PhrasebookOptions, seed: int) -> NDArray[np.bool_]:
    """Whether each meaning, a row, is left out of the phrasebook: a function of its values and the seed."""
    rows, label = np.unique(meanings, axis=0, return_inverse=True)
    draws = [np.random.default_rng([seed, *row]).random() for row in rows.tolist()]
    return np.asarray(np.array(draws) < own.held_out)[label.ravel()]


def _by_meaning(
    run: "Run", own: PhrasebookOptions, roles: tuple[Role, ...], seed: int
) -> NDArray[np.float64]:
    """Accuracy for each tested meaning, (num_meanings,), with phrasebooks in some roles."""
    from ecsuite.eval.run_metrics.noise_grid import each_batch

    world, players = run.pair.world, with_phrasebook(run, own, roles, seed)
    played = list(each_batch(players, world, "valid", run.experiment))
    meanings = np.concatenate([world.describe(batch).meanings for batch, _ in played])
    accuracy = np.concatenate([each for _, each in played])
    if own.held_out:
        is_tested = _is_held_out(meanings, own, seed)
        meanings, accuracy = meanings[is_tested], accuracy[is_tested]
    label = np.unique(meanings, axis=0, return_inverse=True)[1].ravel()
    return np.asarray(np.bincount(label, accuracy) / np.bincount(label))
