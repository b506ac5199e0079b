"""Languages in contact: what speakers said before members of two communities met."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ecsuite.agents.message import PAD
from ecsuite.games.players.agents import Agents
from ecsuite.games.players.learning import filled
from ecsuite.games.worlds.world import Batch

MOST_MEANINGS = 500
"""Meanings at most whose messages are kept."""
COMMUNITY, BEFORE = "community", "before"
"""Columns of a corpus: the community of the speaker, and its message about the meaning before contact."""


class Contact:
    """The messages that each speaker gave about meanings of the corpus when the epoch of the first contact began.

    Args:
        players: Whose speakers; the messages are one of their buffers, `before_contact`.
        corpus_size: Of the run.
    """

    def __init__(self, players: Agents, corpus_size: int) -> None:
        self.players, self.epoch = players, players.schedule.contact
        self.keeps = self.epoch is not None and not players.channel.is_of_values
        self.batches: list[Batch] = []
        if not self.keeps:
            return
        self.batches = list(players.world.corpus_batches(min(corpus_size, MOST_MEANINGS)))
        shape = (len(players.senders), sum(map(len, self.batches)), players.channel.max_len + 1)
        players.register_buffer("before_contact", torch.full(shape, PAD))

    @torch.no_grad()
    def begin_epoch(self, epoch: int) -> None:
        """Keep what each speaker says, where this is the epoch of the first contact."""
        if not self.keeps or epoch != self.epoch:
            return
        players = self.players
        players.eval()
        for number, speaker in enumerate(players.senders):
            said = [
                filled(
                    speaker.generate_message(batch, "greedy", None).symbols, players.channel.max_len + 1
                ).t()
                for batch in self.batches
            ]
            players.before_contact[number] = torch.cat(said)
        players.train()

    def columns(self, speaker: int, described: Any) -> Mapping[str, Any]:
        """The columns `community` and `before` of some messages of a speaker; none where there is no contact.

        Args:
            speaker: Its number.
            described: What the messages are about, a `Description`.
        """
        if not self.keeps:
            return {}
        kept = self.players.before_contact[speaker].cpu().numpy()
        world = self.players.world
        texts: dict[bytes, str] = {}
        keys = [key for batch in self.batches for key in _keys(world.describe(batch).meanings)]
        for key, row in zip(keys, kept, strict=True):
            texts.setdefault(key, " ".join(str(symbol) for symbol in row if symbol != PAD))
        # With EOS, so that an empty message is not taken for none.
        found = [texts.get(key, "") for key in _keys(described.meanings)]
        community = self.players.schedule.communities[0][speaker]
        return {COMMUNITY: np.full(len(found), community), BEFORE: np.array(found, dtype=np.str_)}


def _keys(meanings: Any) -> list[bytes]:
    """What tells meanings apart."""
    return [np.ascontiguousarray(meaning).tobytes() for meaning in meanings]
