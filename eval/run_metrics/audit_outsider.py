"""How well an outsider reads what agents that act say: fresh listeners who learn it from half of the episodes.

The listeners are those of `ease_of_learning`. Unlike the linear model they read in order, and may find what symbols
mean together; what neither reads may be there for the agents alone, who have learnt together.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.eval.models.fresh_agents import Training, learning_curves
from ecsuite.eval.run_metrics.audit_information import Told
from ecsuite.games.environments.environment import Integers
from ecsuite.games.environments.episodes import Episodes
from ecsuite.games.plays.acting import Acting
from ecsuite.runtime.devices import fixed_threads

NUM_HEARD = 4
"""Messages that an outsider reads: the last ones of a speaker."""
SEEDS = range(2)
"""Of outsiders."""
TRAINING = Training(lr=0.01, num_updates=200, every=200, num_evaluated=2000)
"""More updates with a lower rate read no more of what the guide of `guided_grid` says."""
MOST_WORDS = 4096
"""Different words of values beyond which no outsider learns them."""


def read_by_outsiders(play: Acting, usual: Episodes, rng: np.random.Generator) -> Iterator[Told]:
    """What outsiders tell from messages in the other half of the episodes: meanings, and hearers' next actions."""
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
    """Messages as ids from 1, `PAD` after their end, (steps, batch, num_agents, max_len); words of values by number."""
    words = usual.words.cpu().numpy()
    if is_of_values:
        flat = words.reshape(-1, words.shape[-1])
        ids: Integers = 1 + np.unique(flat, axis=0, return_inverse=True)[1].reshape(words.shape[:-1])
        return ids
    silent = words[..., 0] == EOS  # a message of its own, beside those of content symbols
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
    """The accuracy of outsiders for each attribute of what is wanted, (steps, batch, num_attributes), that varies.

    Beside them are those who get messages of another episode, its last ones where it was over, (batch,), before.
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
    """The last messages of each row, one after the other, with EOS, (num_rows, NUM_HEARD * max_len + 1)."""
    before = np.pad(said, ((NUM_HEARD - 1, 0), (0, 0), (0, 0)), constant_values=PAD)
    recent = np.stack([before[step + number, episode] for number in range(NUM_HEARD)], 1).reshape(
        len(step), -1
    )
    places = np.argsort(recent == PAD, axis=1, kind="stable")  # symbols first, in their order
    texts = np.pad(np.take_along_axis(recent, places, 1), ((0, 0), (0, 1)), constant_values=PAD)
    texts[np.arange(len(texts)), (texts != PAD).sum(1)] = EOS
    return texts
