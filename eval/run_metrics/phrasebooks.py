"""Phrasebooks in the place of trained agents: how much of what a pair understands its inventory of forms explains."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.agents.phrasebook import Fill, Order, PhrasebookReceiver, PhrasebookSender, Unknown, read_phrases
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.eval.metrics.morphemes import MOST_MESSAGES
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width
from ecsuite.parts.config import Count, Share
from ecsuite.parts.own_functions import options_in
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.players.pair import Pair
    from ecsuite.games.runs.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class PhrasebookOptions:
    """Options of the metric, and of `ecsuite cross-play --phrasebook`."""

    inventory: str = "csar"
    """Pairs of a form and a meaning: those that csar or morphemes finds in the corpus of the run, or of a JSON file."""
    size: Count | None = None
    """Number of pairs, those of the highest weight; null: all."""
    order: Order = "kept"
    """kept: forms are said in the order of their mean positions. shuffled: in a random order for each meaning."""
    fill: Fill = "repeat"
    """repeat: forms are said again until the message is full. nothing: it ends, where its length is variable."""
    unknown: Unknown = "skip"
    """Symbols that are in no form. skip: a listener reads what comes after them. stop: it does not."""
    held_out: Share = 0.0
    """Share of the meanings that are left out of the corpus before pairs are found, and alone tested; 0: all are in."""


INDUCED = ("csar", "morphemes")
"""Metrics that find inventories."""
DEFAULT = PhrasebookOptions()
LISTENER = Traits(
    name="phrasebook_listener",
    about="success of a phrasebook listener, as a share of the pair's",
    high="1: forms of the inventory, read by rule, say all that the listener understands",
    question="agents",
    direction="higher",
    chance="guesses",
    needs=("agents",),
    options=PhrasebookOptions,
    details={
        "accuracy": "of the trained agent with the phrasebook",
        "trained": "accuracy of the trained pair",
        "pairs": "pairs in the phrasebook",
    },
)
SPEAKER = replace(
    LISTENER,
    name="phrasebook_speaker",
    about="success of a phrasebook speaker, as a share of the pair's",
    high="1: what is said by rule with forms of the inventory is understood like the trained speaker",
)


@metric(LISTENER, SPEAKER)
def phrasebook(run: "Run", options: Options, own: PhrasebookOptions = DEFAULT) -> list[Score]:
    """Success of phrasebook agents with trained partners, as a share of the trained pair's.

    After Boldt & Mortensen (2026, ACL 2026.acl-long.1389; only the abstract was read, the rules are those of
    `ecsuite.agents.phrasebook`). An inventory is induced from the corpus of the run, or read. With accuracies in the
    rounds of validation, `phrasebook_listener` is that of the trained speaker with a listener that reads the forms in
    its messages, divided by that of the trained pair; `phrasebook_speaker` is that of a speaker that covers meanings
    with forms, with the trained listener. Accuracies are means over meanings, then over pairs that meet. The interval
    is Student's over meanings, of the linearised ratio; the chance level is that of guesses, divided by the trained
    pair's accuracy. `csar` takes up to 2,000 messages; of a larger corpus, so many are drawn.

    Undefined for channels of values, where agents see other objects than single ones of attribute values, without an
    inventory, for a pair that is never right, and, if nothing fills messages, where these have a fixed length.
    """
    pair, world = run.pair, run.pair.world
    book: Pair | None = None
    if pair.channel.is_of_values or world.object_shape != (sum(world.num_values or ()),):
        reason: str | None = "messages are not of symbols about objects of attribute values"
    elif world.rounds.sender_sees_all or (own.fill == "nothing" and not pair.channel.has_eos):
        reason = "the sender sees distractors, or messages have a fixed length and nothing fills them"
    else:
        book, reason, source = phrasebook_pair(run, own, options.seed)
    settings: dict[str, Any] = {"task": run.experiment.task.kind, "mode": run.experiment.evaluation.mode}
    settings |= asdict(own) | ({} if book is None else source)
    blank = [unscored(traits, **settings) for traits in (LISTENER, SPEAKER)]
    if book is None:
        return [score(value=None, reason=reason) for score in blank]
    trained, *accuracies = _by_meaning(run, book, own, options.seed)
    if not trained.any():
        return [
            score(value=None, reason="no tested round in which the trained pair is right") for score in blank
        ]
    whole, level = float(trained.mean()), run.players.chance()["accuracy"]
    num_pairs = len(book.listener.network.book.phrases)
    scores = []
    for score, accuracy in zip(blank, accuracies, strict=True):
        share = float(accuracy.mean()) / whole
        linearised = (share + (accuracy - share * trained) / whole).tolist()
        ci95 = clipped(share, mean_and_half_width(linearised)[1], 0.0, inf)
        details = {"accuracy": float(accuracy.mean()), "trained": whole, "pairs": num_pairs}
        chance = Chance.from_guesses(level / whole, linearised)
        scores.append(score(value=share, ci95=ci95, chance=chance, details=details))
    return scores


def _is_held_out(meanings: NDArray[Any], own: PhrasebookOptions, seed: int) -> NDArray[np.bool_]:
    """Whether each meaning, a row, is left out of the phrasebook: a function of its values and the seed."""
    rows, label = np.unique(meanings, axis=0, return_inverse=True)
    draws = [np.random.default_rng([seed, *row]).random() for row in rows.tolist()]
    return np.asarray(np.array(draws) < own.held_out)[label.ravel()]


def _by_meaning(run: "Run", book: "Pair", own: PhrasebookOptions, seed: int) -> tuple[Floats, Floats, Floats]:
    """Accuracy about each meaning: of the trained pairs, with the phrasebook listener, with the phrasebook speaker."""
    import torch

    from ecsuite.games.channels.noise import noise_generator
    from ecsuite.games.players.pair import Pair
    from ecsuite.games.plays.evaluation import spoken_rounds

    world, mode, meanings, found = run.pair.world, run.experiment.evaluation.mode, [], []
    for spoken in spoken_rounds(run.players.eval(), world, "valid", mode):
        rounds = spoken.rounds
        meanings.append(world.describe(spoken.batch).meanings)
        for _, pair in run.players.pairs():
            noise = noise_generator(run.experiment.training.seed, "valid", spoken.first, pair.device)
            with torch.inference_mode():
                message, by_rule = (
                    each.message(rounds.shown, rounds.num_positive, mode, noise)
                    for each in (pair.speaker, book.speaker)
                )
                outcomes = [
                    Pair(speaker, listener).understand(
                        heard, rounds.candidates, rounds.truth, mode=mode, generator=noise
                    )
                    for speaker, listener, heard in (
                        (pair.speaker, pair.listener, message),
                        (pair.speaker, book.listener, message),
                        (book.speaker, pair.listener, by_rule),
                    )
                ]
            found.append(np.stack([each.measures["accuracy"].double().numpy() for each in outcomes]))
    num_pairs = len(run.players.pairs())
    rounds_of = [np.mean(found[n : n + num_pairs], axis=0) for n in range(0, len(found), num_pairs)]
    rows, label = np.unique(np.concatenate(meanings), axis=0, return_inverse=True)
    accuracy, label = np.concatenate(rounds_of, axis=1), label.ravel()
    if own.held_out:
        is_tested = _is_held_out(rows, own, seed)[label]
        _, label = np.unique(label[is_tested], return_inverse=True)
        accuracy = accuracy[:, is_tested]
    one, listened, spoke = (np.bincount(label, row) / np.bincount(label) for row in accuracy)
    return one, listened, spoke


def phrasebook_pair(
    run: "Run", own: PhrasebookOptions, seed: int = 0
) -> tuple["Pair | None", str | None, dict[str, Any]]:
    """A speaker and a listener with the phrasebook of a run, or the reason why there is none; and its source.

    Raises:
        ConfigError: If a file has no inventory, or one that does not fit the game.
    """
    from ecsuite.games.players.pair import make_pair

    source: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        file = own.inventory
        if own.inventory in INDUCED:
            corpus, rng = run.corpus, np.random.default_rng(seed)
            if own.held_out:
                corpus = corpus.take(np.flatnonzero(~_is_held_out(np.asarray(corpus.meanings), own, seed)))
                source = {"seed": seed}
            if own.inventory == "csar" and len(corpus.messages) > MOST_MESSAGES:
                corpus = corpus.take(np.sort(rng.choice(len(corpus.messages), MOST_MESSAGES, replace=False)))
                source = {"messages": MOST_MESSAGES, "seed": seed}
            [score] = find_metric(own.inventory)(corpus, seed=seed)
            if not (pairs := score.details.get("inventory")):
                return None, score.reason or f"{own.inventory} finds no pairs in the corpus", source
            file = str(Path(folder) / "inventory.json")
            Path(file).write_text(json.dumps(pairs))
        else:
            read_phrases(file, "inventory")
            source = {"inventory": f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]}"}
        speaker = PhrasebookSender.Options(inventory=file, size=own.size, order=own.order, fill=own.fill)
        listener = PhrasebookReceiver.Options(inventory=file, size=own.size, unknown=own.unknown)
        parts = {"sender": Part("phrasebook", speaker), "receiver": Part("phrasebook", listener)}
        return make_pair(replace(run.experiment, **parts), run.pair.world).eval(), None, source


def options_of(text: str) -> PhrasebookOptions:
    """The options in a text such as `csar,order=shuffled` or `book.json`; `ConfigError` if there is no such one."""
    found: PhrasebookOptions = options_in(METRICS, f"phrasebook,inventory={text}", PhrasebookOptions)
    if found.inventory not in INDUCED and not Path(found.inventory).is_file():
        raise ConfigError(f"--phrasebook: expected csar, morphemes or a file, got {found.inventory}")
    return found
