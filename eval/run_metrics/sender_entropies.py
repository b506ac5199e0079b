"""Entropies, redundancy and effective length of messages, from the probabilities of their sender.

No rounds are played: the probabilities of symbols are those from which `evaluation.mode: sample` draws.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width
from ecsuite.parts.config import Count, Levels

if TYPE_CHECKING:
    from ecsuite.games.players.agent import Speaker
    from ecsuite.games.runs.run import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyOptions:
    """Options of `message_entropy`."""

    meanings: Count = 100
    """Maximum number of meanings of the corpus, all equally likely."""
    draws: Levels = 5
    """Number of messages drawn for each meaning, if not all possible messages are enumerated."""


DEFAULT = EntropyOptions()
MESSAGE_ENTROPY = Traits(
    name="message_entropy",
    about="bits of a message, from the sender's probabilities",
    high="bits of the meanings plus random variation; low with few messages",
    question="agents",
    needs=("agents",),
    depends_on_size="more meanings have more bits",
    options=EntropyOptions,
)
CONDITIONAL_ENTROPY = replace(
    MESSAGE_ENTROPY,
    name="conditional_entropy",
    about="bits of a message, given its meaning",
    high="high if the sender has many messages for a meaning, 0 if only one",
)
REDUNDANCY = replace(
    MESSAGE_ENTROPY,
    name="redundancy",
    about="share of a message that earlier symbols predict",
    high="1 if earlier symbols determine the next, 0 if all are equally likely",
    bounds=(0.0, 1.0),
)
EFFECTIVE_LENGTH = replace(
    MESSAGE_ENTROPY,
    name="effective_length",
    about="number of positions that carry the meaning",
    high="high if many positions carry the meaning evenly, 1 if a single one does",
)


@metric(MESSAGE_ENTROPY, CONDITIONAL_ENTROPY, REDUNDANCY, EFFECTIVE_LENGTH)
def message_entropy(run: "Run", options: Options, own: EntropyOptions = DEFAULT) -> list[Score]:
    """Entropies of messages in bits, from the sender's probabilities (Shannon 1948; with noise, Klamra et al. 2025).

    `message_entropy` is H(message), `conditional_entropy` H(message | meaning); both are sums over positions by the
    chain rule, with EOS as a symbol. `redundancy` is 1 - H / H_max, where H_max is the entropy of equally likely
    symbols, including EOS, in messages of the same length. With I_i the information about the meaning that the symbol
    at position i adds to earlier symbols, `effective_length` is 2 to the entropy of the shares of I_i: 3 if three
    positions carry equal information. The details have all measures by position.

    With at most 1,024 possible messages, all are enumerated and the figures are exact; otherwise messages are drawn,
    and the interval is Student's over draws, each with one message per meaning. For a society: the mean over senders,
    with Student's interval over senders.

    Undefined if words are values; `effective_length` also if messages carry no information.
    """
    kinds = (MESSAGE_ENTROPY, CONDITIONAL_ENTROPY, REDUNDANCY, EFFECTIVE_LENGTH)
    from ecsuite.games.channels.channels import MOST_MESSAGES, num_messages

    channel = run.pair.channel
    if channel.is_of_values:
        return [unscored(each)(value=None, reason="the words of this channel are values") for each in kinds]
    is_exact = num_messages(channel) <= MOST_MESSAGES
    of_speakers = [
        _of_speaker(run, number, speaker, options.seed, own, is_exact=is_exact)
        for number, speaker in enumerate(run.players.eval().senders)
    ]
    settings: dict[str, Any] = (
        {"from": "all messages"} if is_exact else {"from": f"{own.draws} draws", "seed": options.seed}
    )
    num_meanings = of_speakers[0][0].num_meanings
    scores = []
    for traits in kinds:
        values = [[getattr(each, traits.name) for each in speaker] for speaker in of_speakers]
        score = unscored(traits, meanings=num_meanings, **settings)
        if any(value is None for each in values for value in each):
            scores.append(score(value=None, reason="messages carry no information about their meanings"))
            continue
        means = [mean_and_half_width(each)[0] for each in values]
        value, half_width = mean_and_half_width(means if len(means) > 1 else values[0])
        by_position = {
            "entropy": _mean_of([each.entropies for speaker in of_speakers for each in speaker]),
            "redundancy": _mean_of([each.redundancies for speaker in of_speakers for each in speaker]),
            "information": _mean_of([each.information for speaker in of_speakers for each in speaker]),
        }
        details: dict[str, Any] = {"by_position": by_position} if traits is kinds[0] else {}
        if len(means) > 1:
            details["by_speaker"] = means
        _, most = traits.bounds or (0.0, inf)
        ci95 = clipped(value, half_width, 0.0, most)
        scores.append(score(value=value, ci95=ci95, details=details))
    return scores


@dataclass(frozen=True, kw_only=True, slots=True)
class Entropies:
    """Entropies of messages from the probabilities of their sender, in bits by position, (max_len,) each."""

    entropies: Floats
    """H(symbol | symbols before)."""
    conditional: Floats
    """H(symbol | symbols before, meaning)."""
    most: Floats
    """Entropy at the position if all symbols were equally likely."""
    num_meanings: int

    @property
    def message_entropy(self) -> float:
        """H(message) in bits."""
        return float(self.entropies.sum())

    @property
    def conditional_entropy(self) -> float:
        """H(message | meaning) in bits."""
        return float(self.conditional.sum())

    @property
    def redundancies(self) -> Floats:
        """Redundancy 1 - H / H_max at each position; 0 if no message is that long."""
        return 1 - np.divide(self.entropies, self.most, out=np.ones_like(self.most), where=self.most > 0)

    @property
    def redundancy(self) -> float:
        """Redundancy 1 - H / H_max of the message."""
        return 1 - self.message_entropy / float(self.most.sum())

    @property
    def information(self) -> Floats:
        """Information about the meaning that each position adds, in bits."""
        return (self.entropies - self.conditional).clip(min=0)

    @property
    def effective_length(self) -> float | None:
        """Effective number of positions: 2 to the entropy of their shares of information; None without information."""
        total = self.information.sum()
        if total < 1e-9:
            return None
        shares = self.information[self.information > 0] / total
        return float(2 ** -(shares * np.log2(shares)).sum())


def entropies_of(
    log_probabilities: Floats, weights: Floats, is_said: NDArray[np.bool_], num_symbols: int
) -> Entropies:
    """Entropies of messages from known probabilities.

    Args:
        log_probabilities: Log probability of each symbol given earlier symbols and a meaning, in nats, (num_messages,
            num_meanings, max_len); 0 after the end.
        weights: Probability of each pair of meaning and message, (num_messages, num_meanings), with the sum 1.
        is_said: Whether a position has a symbol, (num_messages, max_len).
        num_symbols: Number of symbols, including EOS if messages may end.
    """
    before = log_probabilities.cumsum(-1)
    mixed = np.logaddexp.reduce(before, axis=1) - np.log(before.shape[1])  # (num_messages, max_len)
    steps = np.diff(mixed, axis=1, prepend=0.0)
    of_messages = weights.sum(1)
    return Entropies(
        entropies=-(of_messages @ steps) / np.log(2),
        conditional=-np.einsum("mx,mxl->l", weights, log_probabilities) / np.log(2),
        most=(of_messages @ is_said) * np.log2(num_symbols),
        num_meanings=before.shape[1],
    )


def _of_speaker(
    run: "Run", number: int, speaker: "Speaker", seed: int, own: EntropyOptions, *, is_exact: bool
) -> list[Entropies]:
    """Entropies of a speaker: one item if they are exact, otherwise one per draw."""
    import torch

    from ecsuite.eval.metrics.agent_answers import log_probabilities
    from ecsuite.games.channels.channels import all_messages
    from ecsuite.games.channels.noise import noise_generator
    from ecsuite.games.players.learning import filled

    channel, batches = speaker.channel, list(speaker.world.corpus_batches(own.meanings))
    num_symbols = channel.vocab_size + channel.has_eos
    with torch.inference_mode():
        meanings = [speaker.meanings(speaker.shown(batch), batch.num_positive, None) for batch in batches]
        vectors = torch.cat(meanings)[: own.meanings]
        if is_exact:
            ids = all_messages(channel)
            logs = log_probabilities(speaker, vectors, ids)
            return [
                entropies_of(logs, np.exp(logs.sum(-1)) / len(vectors), ids.cpu().numpy() >= 0, num_symbols)
            ]
        found = []
        for draw in range(own.draws):
            noise = noise_generator(seed, f"message entropy of {number}", draw, vectors.device)
            said = [
                filled(speaker.generate_message(batch, "sample", noise).symbols, channel.max_len)[
                    : channel.max_len
                ]
                for batch in batches
            ]
            ids, places = torch.cat(said, 1).t()[: len(vectors)].unique(dim=0, return_inverse=True)
            weights = np.zeros((len(ids), len(vectors)))
            weights[places.cpu().numpy(), np.arange(len(vectors))] = 1 / len(vectors)
            logs = log_probabilities(speaker, vectors, ids)
            found.append(entropies_of(logs, weights, ids.cpu().numpy() >= 0, num_symbols))
    return found


def _mean_of(arrays: list[Floats]) -> list[float]:
    means: list[float] = np.mean(arrays, axis=0).tolist()
    return means
