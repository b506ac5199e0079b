"""Records of agents in an environment: a corpus, and a table of interactions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.corpus import EPISODE, SPEAKER, Corpus
from ecsuite.games.channels.channels import Channel
from ecsuite.games.environments.environment import PURPOSES, Environment
from ecsuite.games.environments.episodes import Episodes
from ecsuite.runtime.ragged import Ragged

MAX_EPISODES = 10
"""Maximum number of episodes of a corpus, in multiples of the messages per speaker."""


def corpus_of(
    batches: Iterable[Episodes], environment: Environment, channel: Channel, seed: int, size: int
) -> Corpus:
    """Corpus of the messages of each speaker, step by step, with meanings, actions, and rewards.

    Args:
        batches: Infinite stream of episodes.
        environment: Environment of the episodes.
        channel: Channel of the messages.
        seed: Seed of the run.
        size: Messages per speaker; fewer if `MAX_EPISODES * size` episodes do not suffice.
    """
    specs = environment.agents
    missing = {number: size for number, spec in enumerate(specs) if spec.speaks}
    rows, words, first = list[Any](), list[Any](), 0
    for batch in batches:
        episode, step, speaker = _select_messages(batch, missing)
        at = step, episode, speaker
        rows.append(
            (first + episode, step, speaker, batch.actions[at], batch.rewards[at], batch.meanings[at])
        )
        words.append(batch.words.cpu().numpy()[at])
        first += batch.alive.shape[1]
        if not any(missing.values()) or first > MAX_EPISODES * size:
            break
    episodes, steps, who, actions, rewards, meanings = map(np.concatenate, zip(*rows, strict=True))
    said = np.concatenate(words)
    if channel.is_of_values:
        messages, symbol_names = channel.as_symbols(torch.from_numpy(said))
    else:
        is_said = said != PAD
        messages = Ragged.from_lengths(said[is_said].astype(np.int32), is_said.sum(1))
        symbol_names = None
    names = np.array([spec.name for spec in specs])
    steps_per_turn = environment.steps_per_turn
    turns = {} if steps_per_turn is None else {"turn": steps // steps_per_turn + 1}
    return Corpus(
        messages=messages,
        eos=EOS if channel.has_eos else None,
        symbol_names=symbol_names,
        meanings=meanings,
        attribute_names=environment.attribute_names,
        columns={
            EPISODE: episodes, "step": steps, **turns, SPEAKER: names[who], "action": actions, "reward": rewards,
            **environment.columns(seed, PURPOSES["corpus"] + episodes),
        },
        metadata=channel.sizes,
    )  # fmt: skip


def _select_messages(batch: Episodes, missing: dict[int, int]) -> tuple[NDArray[np.int64], ...]:
    """Select messages of a batch, as episode, step and speaker indices; `missing` is decreased by their number."""
    speakers = list(missing)
    counts = batch.speaking.transpose(1, 0, 2)[:, :, speakers]  # (batch, steps, num_speakers)
    episode, step, place = np.nonzero(counts)
    speaker = np.array(speakers)[place]
    taken = np.zeros(len(episode), bool)
    for each in speakers:
        own = np.flatnonzero(speaker == each)[: missing[each]]
        taken[own] = True
        missing[each] -= len(own)
    return episode[taken], step[taken], speaker[taken]


def interactions_of(batches: Iterable[Episodes], environment: Environment) -> Any:
    """Table of observations, messages heard and sent, actions and rewards by agent and step, a `pyarrow.Table`."""
    import pyarrow

    tables, first = [], 0
    for batch in batches:
        for number, spec in enumerate(environment.agents):
            episode, step = np.nonzero(batch.alive.T)
            at = step, episode
            words = batch.words[:, :, number].cpu().numpy()[at]
            said = [(each[each != PAD] if each.ndim == 1 else each).tolist() for each in words]
            columns = {
                "episode": first + episode,
                "step": step,
                "agent": [spec.name] * len(step),
                "seen": batch.seen[number].cpu().numpy()[at].tolist(),
                "heard": batch.heard[number].flatten(2).cpu().numpy()[at].tolist(),
                "message": said if spec.speaks else [None] * len(said),
                "action": batch.actions[..., number][at],
                "reward": batch.rewards[..., number][at],
                "counts": batch.counts[..., number][at],
            }
            tables.append(pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()}))
        first += batch.alive.shape[1]
    return pyarrow.concat_tables(tables, promote_options="permissive").sort_by(
        [("episode", "ascending"), ("step", "ascending")]
    )
