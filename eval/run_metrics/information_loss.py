"""The loss of a pair, divided into a part of its sender (ambiguity) and a part of its receiver (errors)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import CrossedMean, crossed_mean, standard_error
from ecsuite.parts.config import Count, Levels

if TYPE_CHECKING:
    from torch import Tensor

    from ecsuite.games.players.pair import Pair
    from ecsuite.games.runs.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class InformationLossOptions:
    """Options of `information_loss`."""

    rounds: Count = 100
    """Maximum number of rounds of evaluation or, if the receiver has no candidates, of meanings of the corpus."""
    draws: Levels = 5
    """Number of messages drawn for each of these meanings, if not all possible messages are enumerated."""


DEFAULT = InformationLossOptions()
INFORMATION_LOSS = Traits(
    name="information_loss",
    about="bits of the meaning, given the message",
    high="high if the sender has one message for several meanings, 0 if the best receiver makes no error",
    question="agents",
    direction="lower",
    chance="guesses",
    needs=("agents",),
    depends_on_size="more meanings have more bits",
    options=InformationLossOptions,
)
COADAPTATION_LOSS = replace(
    INFORMATION_LOSS,
    name="coadaptation_loss",
    about="bits of information in messages that the receiver loses",
    high="high if the receiver misreads messages, 0 if it is the best receiver for this sender",
)


@metric(INFORMATION_LOSS, COADAPTATION_LOSS)
def information_loss(run: "Run", options: Options, own: InformationLossOptions = DEFAULT) -> list[Score]:
    """Bits that a pair loses by its sender, and by its receiver (Rita et al. 2022, arXiv 2209.15342).

    With pi the sender's probabilities, rho the receiver's, and p(x | m) = pi(m | x) / sum over x' of pi(m | x'), the
    loss -E log rho(x | m) is `information_loss`, H(x | m) = -E log p(x | m), plus `coadaptation_loss`, E KL(p || rho).
    The paper estimates the first by a trained probe; here it is computed from pi. Example: four meanings, two messages
    and a receiver that guesses: 2 bits = 1 + 1.

    Meanings are the candidates of a round, each equally likely to be the target, mean over rounds of evaluation with
    Student's interval; in reconstruction they are the meanings of the corpus, and -log rho is the sum over attributes
    (the loss in logs is their mean, in nats). Messages meet no noise. With at most 1,024 possible messages all are
    enumerated, and the figures are exact for these rounds; otherwise each meaning has a drawn message, which leaves the
    figures unbiased, and in reconstruction the interval is over draws. For a society: mean over pairs that meet, with a
    jackknife over agents.

    Chance: a receiver that reads nothing, with the loss H(x). So the chance level of `information_loss` is H(x), its
        value for messages without information, and of `coadaptation_loss` the information of messages, H(x) - H(x | m);
        above it, the pair is worse than guesses. Renaming symbols for both agents, and the order of meanings, change
        nothing.

    Undefined if words are values, the sender sees several objects, receivers reason, or answers are not a distribution
    over meanings.
    """
    import torch

    from ecsuite.games.channels.channels import MOST_MESSAGES, num_messages

    kinds = (INFORMATION_LOSS, COADAPTATION_LOSS)
    if (reason := _undivided(run.pair)) is not None:
        return [unscored(each)(value=None, reason=reason) for each in kinds]
    is_exact = num_messages(run.pair.channel) <= MOST_MESSAGES
    settings: dict[str, Any] = {"task": run.experiment.task.kind, "rounds": own.rounds}
    settings |= {"from": "all messages"} if is_exact else {"from": f"{own.draws} draws", "seed": options.seed}
    meetings = run.players.eval().pairs()
    with torch.inference_mode():
        found = [
            np.array(list(_losses(pair, own, options.seed, number, is_exact=is_exact)))
            for number, (_, pair) in enumerate(meetings)
        ]
    pairs = [(meeting.sender, meeting.receiver) for meeting, _ in meetings]
    scores = []
    for column, traits in enumerate(kinds):
        values = [each[:, column] for each in found]
        levels = [each[:, 2] if column == 0 else each[:, 2] - each[:, 0] for each in found]
        mean = _over_pairs(pairs, values)
        apart = _over_pairs(pairs, [each - level for each, level in zip(values, levels, strict=True)])
        details: dict[str, Any] = {"loss": float(np.mean([each[:, :2].sum(1).mean() for each in found]))}
        if len(found) > 1:
            details["by_pair"] = {
                f"{a}-{b}": float(each.mean()) for (a, b), each in zip(pairs, values, strict=True)
            }
        level = mean.mean - apart.mean
        chance = Chance(kind="constant", level=level, error=apart.error, freedom=apart.freedom)
        ci95 = mean.interval(0.0 if is_exact else -inf, inf)
        score = unscored(traits, **settings)
        scores.append(score(value=mean.mean, ci95=ci95, chance=chance, details=details))
    return scores


def divided_loss(logs: Floats, weights: Floats, answers: Floats) -> tuple[float, float]:
    """Information loss and co-adaptation loss in bits, for equally likely meanings.

    Args:
        logs: Log-probability of each message about each meaning, in nats, (num_messages, num_meanings).
        weights: Frequency of each message for each meaning, same shape: probabilities, or shares of draws.
        answers: Log-probability of each meaning given each message for the receiver, same shape.
    """
    posterior = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    shares = weights / (logs.shape[1] * np.log(2))
    return -float((shares * posterior).sum()), float((shares * (posterior - answers)).sum())


def _undivided(pair: "Pair") -> str | None:
    """Reason why the loss of a pair can't be divided; None if it can."""
    from ecsuite.games.tasks.tasks import Discrimination, Reconstruction

    task, rounds = pair.task, pair.world.rounds
    if pair.channel.is_of_values:
        return "the words of this channel are values"
    if rounds.sender_sees_all or rounds.num_targets > 1:
        return "the sender of this game sees several objects"
    if pair.listener.reasoning.asks_others:
        return "the receiver reasons about other messages"
    is_whole = isinstance(task, Reconstruction) and task.asked == "values" and not task.num_known
    if not (isinstance(task, Discrimination) or is_whole):
        return "answers in this task are not a distribution over meanings"
    return None


def _losses(
    pair: "Pair", own: InformationLossOptions, seed: int, number: int, *, is_exact: bool
) -> Iterator[tuple[float, float, float]]:
    """Yield information loss, co-adaptation loss and H(x) of a pair, for each round or each draw of messages."""
    from ecsuite.eval.metrics.agent_answers import log_probabilities
    from ecsuite.games.channels.channels import all_messages
    from ecsuite.games.channels.noise import noise_generator
    from ecsuite.games.players.learning import filled
    from ecsuite.games.tasks.views import View

    speaker, channel = pair.speaker, pair.channel
    for place, (features, values, sets) in enumerate(_meanings(pair, own, seed, is_exact=is_exact)):
        vectors = speaker.meanings(View(features=features, num_seen=1, indices=None), 1, None)
        noise = noise_generator(seed, f"information loss of {number}", place, vectors.device)
        if is_exact:
            ids = all_messages(channel)
            every = log_probabilities(speaker, vectors, ids).sum(-1)
            answers = _scores(pair, ids, features, values)
        for rows in sets:
            if is_exact:
                logs, read = every[:, rows], answers[:, rows]
                weights = np.exp(logs)
            else:
                shown = View(features=features[rows], num_seen=1, indices=None)
                said = filled(speaker.message(shown, 1, "sample", noise, 0).symbols, channel.max_len)
                ids, weights = said[: channel.max_len].t(), np.eye(len(rows))
                logs = log_probabilities(speaker, vectors[rows], ids).sum(-1)
                read = _scores(pair, ids, features[rows], None if values is None else values[rows])
            if values is None:  # the receiver chooses one of the candidates of this round
                read = read - np.logaddexp.reduce(read, axis=1, keepdims=True)
            yield *divided_loss(logs, weights, read), float(np.log2(len(rows)))


def _meanings(
    pair: "Pair", own: InformationLossOptions, seed: int, *, is_exact: bool
) -> "Iterator[tuple[Tensor, Ints | None, list[Ints]]]":
    """Yield features of distinct objects, their values if the task needs them, and the sets to compare."""
    import torch

    from ecsuite.eval.metrics.agent_answers import objects_of

    world = pair.world
    if not pair.task.scores_candidates:
        objects = objects_of(world, own.rounds, seed)
        assert objects is not None
        sets = [np.arange(len(objects.meanings))] * (1 if is_exact else own.draws)
        yield objects.features, objects.meanings.astype(np.int64), sets
        return
    size = world.sizes.evaluation_batch_size
    num_rounds = min(own.rounds, world.num_valid)
    for place in range(-(-num_rounds // size)):
        batch = world.batch("valid", place).cut(num_rounds - place * size)
        seen = batch.candidate_indices()
        used, rows = np.unique(seen, return_inverse=True)
        flat = np.ascontiguousarray(batch.objects[used]).reshape(len(used), -1)
        _, first, same = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        places = same.ravel()[rows.reshape(seen.shape)]
        present = np.ones(seen.shape, bool) if batch.present is None else batch.present
        rows_of_features = torch.from_numpy(np.ascontiguousarray(batch.objects[used[first]]))
        yield (
            world.features(rows_of_features, torch.float32),
            None,
            [row[is_there] for row, is_there in zip(places, present, strict=True)],
        )


def _scores(pair: "Pair", ids: "Tensor", features: "Tensor", values: Ints | None) -> Floats:
    """Scores of objects as candidates after each message, or log-probabilities of their values.

    Returns:
        Shape (num_messages, num_objects).
    """
    from ecsuite.agents.autocast import call_receiver
    from ecsuite.games.players.reasoning import message_of
    from ecsuite.games.tasks.views import View

    listener, task = pair.listener, pair.task
    states, _ = call_receiver(listener.network, message_of(pair.channel, ids), listener.dtype)
    if values is None:
        shown = View(features=features, num_seen=len(features), indices=None, is_shared=True)
        scores: Floats = task.choices(listener.scores(states, shown, None)).double().cpu().numpy()
        return scores
    logs = task.choices(states).double().log_softmax(-1).cpu().numpy()
    return np.sum([logs[:, place, own] for place, own in enumerate(values.T)], axis=0)  # type: ignore[no-any-return]


def _over_pairs(pairs: list[tuple[int, int]], values: list[Floats]) -> CrossedMean:
    """Mean over pairs of senders and receivers or, for a single pair, over its rounds or draws."""
    if len(pairs) == 1:
        [own] = values
        return CrossedMean(mean=float(own.mean()), error=standard_error(own.tolist()), freedom=len(own) - 1)
    table = np.full([1 + max(side) for side in zip(*pairs, strict=True)], np.nan)
    for pair, each in zip(pairs, values, strict=True):
        table[pair] = each.mean()
    first, second = ([(role, number) for number in range(size)] for role, size in enumerate(table.shape))
    return crossed_mean(table, ~np.isnan(table), first, second)
