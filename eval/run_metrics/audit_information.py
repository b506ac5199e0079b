"""What messages tell in episodes: mutual information, and what a linear model reads, beside shuffled episodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import entropy
from ecsuite.eval.statistics.corrections import holm
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
    specs, batch = play.environment.agents, usual.said.shape[1]
    said, orders = usual.said.cpu().numpy(), [rng.permutation(batch) for _ in range(num_draws)]
    codes = np.unique(said.reshape(-1, said.shape[-1]), axis=0, return_inverse=True)[1].reshape(
        said.shape[:3]
    )
    last, earlier = _said_before(said, usual.speaking)
    for speaker, spec in enumerate(specs):
        if not spec.speaks:
            continue
        counts, own = usual.speaking[..., speaker], codes[..., speaker]
        meant = usual.meanings[:, :, speaker]
        together = np.unique(meant.reshape(-1, meant.shape[-1]), axis=0, return_inverse=True)[1].reshape(
            own.shape
        )
        yield _information(
            "signalling", f"what {spec.name} says, of what it sees", own, together, counts, orders
        )
        both = counts & usual.acting[..., speaker]
        if spec.num_actions > 1 and both.any():
            done = usual.actions[..., speaker]
            yield _information(
                "consistency", f"what {spec.name} says, of what it does", own, done, both, orders
            )
        both = np.concatenate([said[:, :, speaker], last[:, :, speaker]], 2)
        for place, name in enumerate(play.environment.attribute_names):
            about = f"{name}, from what {spec.name} says"
            yield from _reading(about, both, meant[..., place], counts, orders)
    for hearer, spec in enumerate(specs):
        if spec.num_actions == 1:
            continue
        for speaker in np.unique(usual.heard_from[:, :, hearer]):
            if speaker < 0 or speaker == hearer:
                continue
            arrived = (usual.heard_from[:, :, hearer] == speaker).any(2) & usual.acting[..., hearer]
            arrived[0] = False
            done, heard = usual.actions[..., hearer], np.roll(codes[..., speaker], 1, axis=0)
            about = f"what {spec.name} does, of what {specs[speaker].name} said"
            yield _information("coordination", about, heard, done, arrived, orders)
            both = np.concatenate([last[:, :, speaker], earlier[:, :, speaker]], 2)
            about = f"action of {spec.name}, from what {specs[speaker].name} said"
            yield from _reading(about, both, done, arrived, orders)


def _said_before(said: NDArray[Any], speaking: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What each agent said last before each step, and before that, (steps, batch, num_agents, width); 0: nothing."""
    last, earlier = np.zeros_like(said), np.zeros_like(said)
    for step in range(1, len(said)):
        spoke = speaking[step - 1, ..., None]
        last[step] = np.where(spoke, said[step - 1], last[step - 1])
        earlier[step] = np.where(spoke, last[step - 1], earlier[step - 1])
    return last, earlier


def _information(
    kind: str,
    about: str,
    one: Integers,
    other: Integers,
    counts: NDArray[np.bool_],
    orders: Sequence[Integers],
) -> Told:
    """Mutual information of two codes, (steps, batch), where they count; of shuffles, one of another episode."""
    value = _mutual(one[counts], other[counts])
    draws = []
    for order in orders:
        both = counts & counts[:, order]
        draws.append(_mutual(one[:, order][both], other[both]))
    return Told(kind=kind, about=about, value=value, null=float(np.mean(draws)), p_value=_share(draws, value))


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


def _reading(
    about: str,
    messages: NDArray[Any],
    wanted: Integers,
    counts: NDArray[np.bool_],
    orders: Sequence[Integers],
) -> Iterator[Told]:
    """What a linear model reads from messages, (steps, batch, width), in episodes that it did not learn from."""
    batch = counts.shape[1]
    is_learnt = np.arange(batch) < batch // 2
    if len(np.unique(wanted[counts])) < 2:
        return
    value = _read(messages, wanted, counts, is_learnt)
    draws = []
    for order in orders:
        draws.append(_read(messages[:, order], wanted, counts & counts[:, order], is_learnt))
    if value is not None and None not in draws:
        known = [draw for draw in draws if draw is not None]
        yield Told(
            kind="reading", about=about, value=value, null=float(np.mean(known)), p_value=_share(known, value)
        )


def _read(
    messages: NDArray[Any], wanted: Integers, counts: NDArray[np.bool_], is_learnt: NDArray[np.bool_]
) -> float | None:
    """Share of what was wanted that a linear classifier by ridge regression gets right; None: there is too little."""
    learnt, tested = counts & is_learnt, counts & ~is_learnt
    if not learnt.any() or not tested.any():
        return None
    inputs, answers = messages[learnt][:MOST_ROWS].astype(np.float64), wanted[learnt][:MOST_ROWS]
    values, places = np.unique(answers, return_inverse=True)
    shift, targets = inputs.mean(0), np.eye(len(values))[places]
    inputs = inputs - shift
    ridge = inputs.T @ inputs + 1e-3 * len(inputs) * np.eye(inputs.shape[1])
    weights = np.linalg.solve(ridge, inputs.T @ (targets - targets.mean(0)))
    scores = (messages[tested][:MOST_ROWS] - shift) @ weights + targets.mean(0)
    return float((values[scores.argmax(1)] == wanted[tested][:MOST_ROWS]).mean())
