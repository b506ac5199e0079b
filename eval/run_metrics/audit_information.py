"""What messages tell in episodes: mutual information, and what a linear model reads, beside shuffled episodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats, entropy
from ecsuite.eval.statistics.differences import holm
from ecsuite.games.environments.environment import Integers
from ecsuite.games.environments.episodes import Episodes
from ecsuite.games.plays.acting import Acting

MOST_ROWS = 5000
"""Most messages that a linear model learns, and is tested on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """How much two things have to do with each other, beside episodes that are paired at random."""

    kind: str
    """signalling: message and meaning; consistency: message and own action at the step; coordination: message and next
    action of a hearer; reading: what a linear model of the last two messages gets right; outsider: what fresh listeners
    get right by the last four; influence: what a hearer would do if another message came."""
    about: str
    """Who, and of what."""
    value: float
    """In bits; of reading, a share."""
    null: float | None = None
    """The same of whole episodes that are shuffled, the mean; None: it is 0 by construction."""
    p_value: float | None = None
    """Share of shuffles with as high a value, with the value itself; None without shuffles."""
    p_holm: float | None = None
    """The same, corrected for all agents and attributes of the kind (Holm)."""


def with_correction(told: Iterable[Told]) -> list[Told]:
    """The same with p-values that are corrected among those of their kind."""
    found = list(told)
    p_holm = {
        kind: iter(holm([each.p_value for each in found if each.kind == kind]))
        for kind in {each.kind for each in found}
    }
    return [replace(each, p_holm=next(p_holm[each.kind])) for each in found]


def informed(play: Acting, usual: Episodes, rng: np.random.Generator, num_draws: int) -> Iterator[Told]:
    """What messages have to do with what speakers see and do, and with what hearers do next."""
    specs = play.environment.agents
    said = usual.said.cpu().numpy()
    codes = _numbered(said)
    last, earlier = _said_before(said, usual.speaking)
    for speaker, spec in enumerate(specs):
        if not spec.speaks:
            continue
        speaking = usual.speaking[..., speaker]
        rows = _Rows(speaking, rng, num_draws)
        own, meant = rows.of(codes[..., speaker]), rows.of(usual.meanings[:, :, speaker])
        about = f"what {spec.name} says, of what it sees"
        yield _information("signalling", about, own, _numbered(meant), rows)
        acting = speaking & usual.acting[..., speaker]
        if spec.num_actions > 1 and acting.any():
            some, about = _Rows(acting, rng, num_draws), f"what {spec.name} says, of what it does"
            done = some.of(usual.actions[..., speaker])
            yield _information("consistency", about, some.of(codes[..., speaker]), done, some)
        both = np.concatenate([said[:, :, speaker], last[:, :, speaker]], 2)
        names = [f"{name}, from what {spec.name} says" for name in play.environment.attribute_names]
        yield from _reading(names, rows.of(both), meant, rows)
    for hearer, spec in enumerate(specs):
        if spec.num_actions == 1:
            continue
        for speaker in np.unique(usual.heard_from[:, :, hearer]):
            if speaker < 0 or speaker == hearer:
                continue
            arrived = (usual.heard_from[:, :, hearer] == speaker).any(2) & usual.acting[..., hearer]
            arrived[0] = False
            rows = _Rows(arrived, rng, num_draws)
            done, heard = (
                rows.of(usual.actions[..., hearer]),
                rows.of(np.roll(codes[..., speaker], 1, axis=0)),
            )
            about = f"what {spec.name} does, of what {specs[speaker].name} said"
            yield _information("coordination", about, heard, done, rows)
            both = np.concatenate([last[:, :, speaker], earlier[:, :, speaker]], 2)
            about = f"action of {spec.name}, from what {specs[speaker].name} said"
            yield from _reading([about], rows.of(both), done[:, None], rows)


class _Rows:
    """Rows of episodes, and shuffles of whole episodes.

    An episode gets the rows of another one that has as many of them, in their order: if they have nothing to do with
    the rest of an episode, but for how many they are, each shuffle is as likely as what was played.

    Args:
        counts: Which rows count, (steps, batch).
        rng: Where the shuffles come from.
        num_draws: Number of shuffles.
    """

    def __init__(self, counts: NDArray[np.bool_], rng: np.random.Generator, num_draws: int) -> None:
        self.episode, self.step = np.nonzero(counts.T)
        self.is_learnt = self.episode < counts.shape[1] // 2
        numbers = counts.sum(0)
        starts = np.cumsum(numbers) - numbers
        place = np.arange(len(self.episode)) - starts[self.episode]
        self.shuffles = []
        by_number = np.argsort(numbers, kind="stable")
        for _ in range(num_draws):
            drawn = np.lexsort((rng.random(len(numbers)), numbers))  # within those of a number
            other = np.empty_like(drawn)
            other[by_number] = drawn
            self.shuffles.append(starts[other[self.episode]] + place)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The rows of values, (steps, batch, ...)."""
        return values[self.step, self.episode]


def _said_before(said: NDArray[Any], speaking: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What each agent said last before each step, and before that, (steps, batch, num_agents, width); 0: nothing."""
    last, earlier = np.zeros_like(said), np.zeros_like(said)
    for step in range(1, len(said)):
        spoke = speaking[step - 1, ..., None]
        last[step] = np.where(spoke, said[step - 1], last[step - 1])
        earlier[step] = np.where(spoke, last[step - 1], earlier[step - 1])
    return last, earlier


def _information(kind: str, about: str, one: Integers, other: Integers, rows: _Rows) -> Told:
    """Mutual information of two codes, (num_rows,)."""
    value, draws = _mutual(one, other), [_mutual(one[shuffle], other) for shuffle in rows.shuffles]
    return Told(kind=kind, about=about, value=value, null=float(np.mean(draws)), p_value=_share(draws, value))


def _numbered(vectors: NDArray[Any]) -> Integers:
    """A number for each different vector of the last axis."""
    found: Integers = np.unique(vectors.reshape(-1, vectors.shape[-1]), axis=0, return_inverse=True)[1]
    return found.reshape(vectors.shape[:-1])


def _mutual(one: Integers, other: Integers) -> float:
    """Plug-in mutual information in bits."""
    if not len(one):
        return 0.0
    pairs = np.unique(one * (other.max() + 1) + other, return_counts=True)[1]
    sides = (np.unique(each, return_counts=True)[1] for each in (one, other))
    return max(0.0, sum(map(entropy, sides)) - entropy(pairs))


def _share(draws: Sequence[float], value: float) -> float:
    """p-value of a permutation test (Phipson & Smyth 2010); rounding does not count."""
    return (1 + sum(draw >= value - 1e-12 for draw in draws)) / (1 + len(draws))


def _reading(names: Sequence[str], messages: NDArray[Any], wanted: Integers, rows: _Rows) -> Iterator[Told]:
    """What a linear model reads from messages, (num_rows, width), in episodes that it did not learn from.

    Each attribute of what is wanted, (num_rows, num_attributes), that varies by itself.
    """
    varies = [place for place, each in enumerate(wanted.T) if len(np.unique(each)) > 1]
    if not varies or not rows.is_learnt.any() or rows.is_learnt.all():
        return
    values = _read(messages, wanted[:, varies], rows.is_learnt)
    draws = [_read(messages[shuffle], wanted[:, varies], rows.is_learnt) for shuffle in rows.shuffles]
    for place, value, nulls in zip(varies, values.tolist(), np.transpose(draws).tolist(), strict=True):
        null, p_value = float(np.mean(nulls)), _share(nulls, value)
        yield Told(kind="reading", about=names[place], value=value, null=null, p_value=p_value)


def _read(messages: NDArray[Any], wanted: Integers, is_learnt: NDArray[np.bool_]) -> Floats:
    """Shares of each attribute that linear classifiers by ridge regression get right."""
    inputs, answers = messages[is_learnt][:MOST_ROWS].astype(np.float64), wanted[is_learnt][:MOST_ROWS]
    values = [np.unique(each) for each in answers.T]
    targets = np.concatenate([each[:, None] == some for each, some in zip(answers.T, values, strict=True)], 1)
    shift, means = inputs.mean(0), targets.mean(0)
    inputs = inputs - shift
    ridge = inputs.T @ inputs + 1e-3 * len(inputs) * np.eye(inputs.shape[1])
    weights = np.linalg.solve(ridge, inputs.T @ (targets - means))
    scores = (messages[~is_learnt][:MOST_ROWS] - shift) @ weights + means
    ends = np.cumsum([len(each) for each in values])[:-1]
    right = wanted[~is_learnt][:MOST_ROWS].T
    return np.array([
        (some[each.argmax(1)] == one).mean()
        for some, each, one in zip(values, np.split(scores, ends, axis=1), right, strict=True)
    ])  # fmt: skip
