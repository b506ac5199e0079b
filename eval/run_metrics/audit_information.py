"""Information of messages in an audit about views and actions: plug-in estimates and accuracies of fresh listeners."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.eval.models.fresh_agents import Training, learning_curves
from ecsuite.eval.statistics.contingency import Floats, entropy
from ecsuite.eval.statistics.estimates import holm
from ecsuite.games.environments.environment import Integers
from ecsuite.games.environments.episodes import Episodes
from ecsuite.games.plays.acting import Acting
from ecsuite.runtime.devices import fixed_threads

MOST_ROWS = 5000
"""Maximum number of messages for training a linear model, and for testing it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """Association of messages with a view or an action, compared with permuted episodes."""

    kind: str
    """signalling: message and view of the speaker; consistency: message and speaker's action at the step; coordination:
    message and hearer's next action; reading: accuracy of a linear model of the last two messages; outsider: accuracy
    of fresh listeners of the last four; influence: change of the hearer's action under other messages."""
    about: str
    """Agents and attribute."""
    value: float
    """Value in bits; an accuracy for reading and outsider."""
    null: float | None = None
    """Mean value for permuted whole episodes; None: it is 0 by construction."""
    p_value: float | None = None
    """Share of permutations with at least this value, including the value itself; None without permutations."""
    p_holm: float | None = None
    """P-value with Holm's correction over all agents and attributes of the kind."""


def with_correction(told: Iterable[Told]) -> list[Told]:
    """Correct p-values by Holm within each kind."""
    found = list(told)
    p_holm = {
        kind: iter(holm([each.p_value for each in found if each.kind == kind]))
        for kind in {each.kind for each in found}
    }
    return [replace(each, p_holm=next(p_holm[each.kind])) for each in found]


def message_information(
    play: Acting, usual: Episodes, rng: np.random.Generator, num_draws: int
) -> Iterator[Told]:
    """Yield the information of messages about views and actions of speakers, and about next actions of hearers."""
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
        about = f"what {spec.name} says, about what it sees"
        yield _information("signalling", about, own, _numbered(meant), rows)
        acting = speaking & usual.acting[..., speaker]
        if spec.num_actions > 1 and acting.any():
            some, about = _Rows(acting, rng, num_draws), f"what {spec.name} says, about what it does"
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
            about = f"what {spec.name} does, about what {specs[speaker].name} said"
            yield _information("coordination", about, heard, done, rows)
            both = np.concatenate([last[:, :, speaker], earlier[:, :, speaker]], 2)
            about = f"action of {spec.name}, from what {specs[speaker].name} said"
            yield from _reading([about], rows.of(both), done[:, None], rows)


class _Rows:
    """Rows of episodes, and permutations of whole episodes.

    An episode gets the rows of another episode with the same number of rows, in order: if rows depend only on their
    number and not on the rest of the episode, all permutations and the original are equally likely.

    Args:
        counts: Mask of the rows, (steps, batch).
        rng: Generator of the permutations.
        num_draws: Number of permutations.
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
            drawn = np.lexsort((rng.random(len(numbers)), numbers))  # within episodes of equal size
            other = np.empty_like(drawn)
            other[by_number] = drawn
            self.shuffles.append(starts[other[self.episode]] + place)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Select the rows of values, (steps, batch, ...)."""
        return values[self.step, self.episode]


def _said_before(said: NDArray[Any], speaking: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last two messages of each agent before each step, (steps, batch, num_agents, width); 0: none."""
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
    """Index of each distinct vector of the last axis."""
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
    """Yield accuracies of a linear model that decodes attributes from messages in episodes not seen in training.

    Attributes, in `wanted`, (num_rows, num_attributes), that vary, one by one; messages are (num_rows, width).
    """
    varies = [place for place, each in enumerate(wanted.T) if len(np.unique(each)) > 1]
    if not varies or not rows.is_learnt.any() or rows.is_learnt.all():
        return
    values = _read_views(messages, wanted[:, varies], rows.is_learnt)
    draws = [_read_views(messages[shuffle], wanted[:, varies], rows.is_learnt) for shuffle in rows.shuffles]
    for place, value, nulls in zip(varies, values.tolist(), np.transpose(draws).tolist(), strict=True):
        null, p_value = float(np.mean(nulls)), _share(nulls, value)
        yield Told(kind="reading", about=names[place], value=value, null=null, p_value=p_value)


def _read_views(messages: NDArray[Any], wanted: Integers, is_learnt: NDArray[np.bool_]) -> Floats:
    """Accuracy of linear classifiers by ridge regression for each attribute."""
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


NUM_HEARD = 4
"""Number of a speaker's last messages that an outsider reads."""
SEEDS = range(2)
"""Seeds of the outsiders."""
TRAINING = Training(lr=0.01, num_updates=200, every=200, num_evaluated=2000)
"""Training of outsiders; more updates with a lower rate decode no more of the guide's messages in `guided_grid`."""
MOST_WORDS = 4096
"""Maximum number of distinct words of values for training outsiders."""


def read_by_outsiders(play: Acting, usual: Episodes, rng: np.random.Generator) -> Iterator[Told]:
    """Yield the accuracy of outsiders in the other half of the episodes: meanings, and hearers' next actions."""
    specs = play.environment.agents
    said, speaking = _symbols(usual, play.channel.is_of_values), usual.speaking
    if said.max() > MOST_WORDS:
        return
    for speaker, spec in enumerate(specs):
        if not spec.speaks:
            continue
        own = np.where(speaking[..., speaker, None], said[:, :, speaker], PAD)
        meant, last = usual.meanings[:, :, speaker], usual.alive.sum(0) - 1
        names = [f"{name}, from what {spec.name} says" for name in play.environment.attribute_names]
        yield from _read(own, meant, speaking[..., speaker], names, last, rng)
        earlier = np.concatenate([np.full_like(own[:1], PAD), own[:-1]])
        for hearer, other in enumerate(specs):
            hears = (usual.heard_from[:, :, hearer] == speaker).any(2) & usual.acting[..., hearer]
            hears[0] = False
            if other.num_actions > 1 and hearer != speaker and hears.any():
                name = f"action of {other.name}, from what {spec.name} said"
                yield from _read(earlier, usual.actions[..., hearer, None], hears, [name], last, rng)


def _symbols(usual: Episodes, is_of_values: bool) -> Integers:
    """Messages as ids from 1, `PAD` after the end, (steps, batch, num_agents, max_len); words of values by index."""
    words = usual.words.cpu().numpy()
    if is_of_values:
        flat = words.reshape(-1, words.shape[-1])
        ids: Integers = 1 + np.unique(flat, axis=0, return_inverse=True)[1].reshape(words.shape[:-1])
        return ids
    silent = words[..., 0] == EOS  # silence is a message of its own
    ids = np.where(words == EOS, PAD, words)
    ids[..., 0] = np.where(silent, words.max() + 1, words[..., 0])
    return ids


def _read(
    said: Integers,
    wanted: Integers,
    counts: NDArray[np.bool_],
    names: Sequence[str],
    last: Integers,
    rng: np.random.Generator,
) -> Iterator[Told]:
    """Yield the accuracy of outsiders for each varying attribute in `wanted`, (steps, batch, num_attributes).

    The null is the accuracy with messages of another episode; `last`, (batch,), is the last step of each episode.
    """
    batch = counts.shape[1]
    places, other = rng.permutation(batch), np.empty(batch, np.int64)
    other[places] = np.roll(places, 1)
    step, episode = np.nonzero(counts)
    is_learnt = episode < batch // 2
    rows = np.concatenate([np.flatnonzero(is_learnt), np.flatnonzero(~is_learnt)])
    number = int(is_learnt.sum())
    if not 0 < number < len(rows):
        return
    step, episode = step[rows], episode[rows]
    values = [np.unique(each, return_inverse=True)[1] for each in wanted[step, episode].T]
    varies = [place for place, each in enumerate(values) if each.max() > 0]
    if not varies:
        return
    shuffled = _texts(said, np.minimum(step, last[other[episode]]), other[episode])
    languages = np.stack([_texts(said, step, episode), shuffled])
    shape = (2, len(SEEDS), *languages.shape[1:])
    with fixed_threads(1), torch.enable_grad():  # sums depend on the number of threads
        curves = learning_curves(
            "receiver",
            np.broadcast_to(languages[:, None], shape),
            np.stack([values[place] for place in varies], 1),
            TRAINING,
            SEEDS,
            num_learnt=number,
        )
    for place, (value, null) in zip(varies, curves.of_attributes.mean(1).T, strict=True):
        yield Told(kind="outsider", about=names[place], value=float(value), null=float(null))


def _texts(said: Integers, step: Integers, episode: Integers) -> Integers:
    """Concatenated last messages of each row, with EOS, (num_rows, NUM_HEARD * max_len + 1)."""
    before = np.pad(said, ((NUM_HEARD - 1, 0), (0, 0), (0, 0)), constant_values=PAD)
    recent = np.stack([before[step + number, episode] for number in range(NUM_HEARD)], 1).reshape(
        len(step), -1
    )
    places = np.argsort(recent == PAD, axis=1, kind="stable")  # symbols first, in order
    texts = np.pad(np.take_along_axis(recent, places, 1), ((0, 0), (0, 1)), constant_values=PAD)
    texts[np.arange(len(texts)), (texts != PAD).sum(1)] = EOS
    return texts
