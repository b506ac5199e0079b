"""The naming game (Steels 1995; Baronchelli et al. 2006, arXiv physics/0509075): agents that agree without training.

A speaker names an object by a word that it knows, or invents a word. If the hearer knows the word, both forget all
other words for the object; otherwise the hearer learns the word.
"""

from dataclasses import dataclass

import numpy as np
import torch

from ecsuite.corpus import Corpus
from ecsuite.games.plays.play import Play
from ecsuite.parts.config import Count


class NamingGame(Play):
    """Naming game with `training.batch_size` rounds per step."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Set by `--set play.num_agents=20`."""

        num_agents: Count = 10
        """Number of agents."""
        num_objects: Count = 20
        """Number of objects."""

    def __init__(self, options, *, experiment, device):
        super().__init__(options, experiment=experiment, device=device)
        number = options.num_agents
        self.knows = np.zeros(
            (number, options.num_objects, number), dtype=bool
        )  # an agent may invent a word an object

    def train_step(self, step):
        """Play the rounds of a step."""
        rng, rounds = self.rng("rounds", step), self.experiment.training.batch_size
        right = 0
        for _ in range(rounds):
            speaker, hearer = rng.choice(len(self.knows), 2, replace=False)
            thing = rng.integers(self.knows.shape[1])
            if not self.knows[speaker, thing].any():
                self.knows[speaker, thing, speaker] = True
            word = rng.choice(np.flatnonzero(self.knows[speaker, thing]))
            if self.knows[hearer, thing, word]:
                self.knows[[speaker, hearer], thing] = np.arange(len(self.knows)) == word
                right += 1
            self.knows[hearer, thing, word] = True
        return {"accuracy": right / rounds}

    def evaluate(self):
        """Return the probability that a hearer knows a speaker's word, over pairs of agents and objects."""
        words = self.knows / np.maximum(self.knows.sum(-1, keepdims=True), 1)
        known = np.einsum("iow,jow->ij", words, self.knows) / self.knows.shape[1]
        return {"accuracy": float(known[~np.eye(len(known), dtype=bool)].mean())}

    def corpus(self, evaluation):
        """Return a corpus with the word of each agent for each object."""
        agents, things, _ = np.indices(self.knows.shape)
        symbols = 1 + things[..., 0] * len(self.knows) + self.knows.argmax(-1)
        return Corpus(
            symbols.reshape(-1, 1).tolist(),
            meanings=things[..., 0].reshape(-1, 1),
            columns={"speaker": agents[..., 0].ravel()},
        )

    def state(self):
        """Return the words that each agent knows."""
        return {"knows": torch.from_numpy(self.knows)}

    def restore(self, state):
        """Restore the words from a state."""
        self.knows = state["knows"].numpy().copy()
