"""Teaching of given languages to senders and receivers before they play.

A teaching step is a learning step (`ecsuite.games.players.learning`) with messages of a grammar or a corpus. It
depends only on the step number and on buffers, so that a run resumes from any of its checkpoints.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.options import NOTHING, InitialLanguage
from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
from ecsuite.games.channels.channels import Channel
from ecsuite.games.config.sections import ROLES, Role
from ecsuite.games.players.agent import Listener, Speaker
from ecsuite.games.players.learning import (
    LEARNING_LOSS,
    Learners,
    as_message,
    is_learning,
    learn_meanings,
    learn_messages,
    require_symbols,
)
from ecsuite.games.players.pair import StepResult
from ecsuite.games.worlds.object_worlds import ObjectWorld
from ecsuite.games.worlds.world import Batch, World
from ecsuite.grammars.clauses import WEIGHT, clause_variants, is_clauses
from ecsuite.grammars.icy import ALIASES
from ecsuite.grammars.making import make_corpus
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.errors import ConfigError, CorpusError, shown

MOST_MEANINGS = 2**16
"""Maximum number of meanings of a world that are checked for messages in a language."""


class TaughtLanguage:
    """Messages of a language, by meaning.

    Args:
        place: Setting, for error messages.
        options: Options of the language.
        world: Source of the meanings.
        channel: Source of the symbols.
        seed: Seed of the run; determines the taught meanings and their messages.

    Raises:
        ConfigError: If there is no such language, a meaning lacks a message, or a message does not fit the channel.
    """

    def __init__(
        self, place: str, options: InitialLanguage.Options, world: World, channel: Channel, seed: int
    ) -> None:
        self.place, self.options, self.seed = place, options, seed
        corpora = [_corpus(place, name, options, world, channel) for name in options.languages]
        shares = options.shares or (1.0,) * len(corpora)
        meanings = np.concatenate([np.asarray(corpus.meanings, dtype=np.float64) for corpus in corpora])
        distinct, of_rows = np.unique(meanings, axis=0, return_inverse=True)
        self.numbers = {row.tobytes(): number for number, row in enumerate(distinct)}
        """Index of each meaning, by its values."""
        self.messages = _padded(place, corpora, channel)
        """Message of each row, (num_rows, num_steps), with EOS and PAD after its end."""
        weights = np.concatenate(
            [share * _weights(corpus) for share, corpus in zip(shares, corpora, strict=True)]
        )
        self._sort(of_rows.ravel(), weights)
        taught = np.random.default_rng([seed, *b"taught meanings"]).permutation(len(distinct))
        self.is_taught = np.zeros(len(distinct), dtype=bool)
        self.is_taught[taught[: max(1, round(options.share * len(distinct)))]] = True
        self._require_meanings(world)
        self._drawn: tuple[int, NDArray[np.int64]] | None = None

    def rounds(self, world: World, batch: Batch, *, is_taught: bool) -> tuple[Batch, NDArray[np.int64]]:
        """Select the rounds of a batch about taught meanings, or about the others, with the indices of their meanings.

        Raises:
            ConfigError: If the language has no message for the meaning of a round that would be taught.
        """
        meanings = np.asarray(world.describe(batch).meanings, dtype=np.float64)
        numbers = np.array([self.numbers.get(row.tobytes(), -1) for row in meanings], dtype=np.int64)
        if is_taught and (numbers < 0).any():
            raise self._missing_meaning(meanings[numbers < 0][0])
        rows = np.flatnonzero((numbers >= 0) & (self.is_taught[numbers] == is_taught))
        return batch.take(rows), numbers[rows]

    def ids(self, meanings: NDArray[np.int64], epoch: int) -> Tensor:
        """Messages about meanings, by their indices, in an epoch: ids, (num_steps, batch)."""
        epoch = epoch if self.options.redraw else 0
        if self._drawn is None or self._drawn[0] != epoch:
            draws = np.random.default_rng([self.seed, epoch, *b"variants"]).random(len(self.numbers))
            place = (self.cumulative <= draws[:, None] * self.cumulative[:, -1:]).sum(1)
            self._drawn = epoch, self.rows[np.arange(len(place)), place.clip(max=self.rows.shape[1] - 1)]
        return torch.from_numpy(self.messages[self._drawn[1][meanings]].T.copy())

    def has(self, meanings: NDArray[np.int64], said: Tensor) -> Tensor:
        """Whether messages, ids (num_steps, batch), belong to the language for meanings, by index (batch,)."""
        ids = np.full((said.shape[1], max(len(said), self.messages.shape[1])), PAD)
        ids[:, : len(said)] = said.t().cpu().numpy()
        known = np.full((len(self.messages), ids.shape[1]), PAD)
        known[:, : self.messages.shape[1]] = self.messages
        same = (known[self.rows[meanings]] == ids[:, None]).all(-1)
        weights = np.diff(self.cumulative[meanings], axis=1, prepend=0.0)
        return torch.from_numpy((same & (weights > 0)).any(1))

    def described(self) -> Mapping[str, Any]:
        """Numbers of meanings and hash, for the metadata of the run."""
        digest = hashlib.sha256(self.messages.tobytes() + self.cumulative.tobytes()).hexdigest()
        return {"meanings": int(self.is_taught.sum()), "of": len(self.is_taught), "sha256": digest}

    def _sort(self, of_rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Compute the rows of each meaning, (num_meanings, most rows of one), and cumulative sums of their weights."""
        order = np.argsort(of_rows, kind="stable")
        counts = np.bincount(of_rows)
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        self.rows = np.zeros((len(counts), counts.max()), dtype=np.int64)
        shown_weights = np.zeros(self.rows.shape)
        self.rows[of_rows[order], place] = order
        shown_weights[of_rows[order], place] = weights[order]
        self.cumulative = shown_weights.cumsum(1)
        if (self.cumulative[:, -1] <= 0).any():
            raise ConfigError(f"{self.place}.shares: expected more than 0 for a language with this meaning")

    def _require_meanings(self, world: World) -> None:
        """Raise `ConfigError` if the language has no message for a training meaning."""
        if not isinstance(world, ObjectWorld):
            self.rounds(world, world.batch("train", 0), is_taught=True)
            return
        for batch in world.corpus_batches(MOST_MEANINGS):
            described = world.describe(batch)
            is_trained = described.columns.get("split", np.full(len(batch), "train")) == "train"
            for row in np.asarray(described.meanings, dtype=np.float64)[is_trained]:
                if row.tobytes() not in self.numbers:
                    raise self._missing_meaning(row)

    def _missing_meaning(self, meaning: NDArray[np.float64]) -> ConfigError:
        values = ", ".join(f"{value:g}" for value in meaning.tolist())
        return ConfigError(
            f"{self.place}: {' and '.join(self.options.languages)}: no message for meaning {values} of the world: "
            "expected a message for each training meaning"
        )


def is_grammar(name: str) -> bool:
    """Whether a name of a language is a grammar, built-in or user code, rather than a corpus."""
    first = name.replace("+", ",").partition(",")[0].strip()
    return is_foreign(name) or ALIASES.get(first.lower(), first.lower()) in GRAMMARS.parts


def content_of(languages: Sequence[str]) -> str:
    """SHA-256 of languages: messages and meanings of corpora, names of grammars."""
    found = hashlib.sha256()
    for name in languages:
        if is_grammar(name):
            found.update(name.encode())
            continue
        corpus = _read(name)
        found.update(corpus.content().values.tobytes() + corpus.content().offsets.tobytes())
        found.update(b"" if corpus.meanings is None else np.ascontiguousarray(corpus.meanings).tobytes())
    return found.hexdigest()


def _corpus(
    place: str, name: str, options: InitialLanguage.Options, world: World, channel: Channel
) -> Corpus:
    """Corpus of a language, with meanings in the form of the world."""
    try:
        corpus = _grammar_corpus(name, options, world, channel) if is_grammar(name) else _read(name)
    except (ConfigError, CorpusError) as error:
        raise ConfigError(f"{place}: {error}") from None
    if corpus.meanings is None or not len(corpus.messages):
        raise ConfigError(
            f"{place}: {name} has no {'meanings' if len(corpus.messages) else 'messages'}: expected both"
        )
    width = world.describe(world.batch("train", 0)).meanings.shape[1]
    found = (
        corpus.meanings.reshape(len(corpus.messages), -1).shape[1]
        if corpus.meanings.dtype.kind in "iuf"
        else 0
    )
    if found != width:
        raise ConfigError(
            f"{place}: {name} has meanings of {found} numbers, but meanings of the world have {width}"
        )
    return corpus


def _read(name: str) -> Corpus:
    """Read a corpus from a file or folder."""
    if not Path(name).exists():
        raise ConfigError(f"{shown(name)} is neither a grammar nor a corpus: see `ecsuite list grammars`")
    return read_corpus(name)


def _grammar_corpus(name: str, options: InitialLanguage.Options, world: World, channel: Channel) -> Corpus:
    """Generate the corpus of a grammar, in the sizes of the world and the channel."""
    if name.partition(",")[0].strip().lower() in BASELINES:
        raise ConfigError(f"{name} has no meanings: expected a language with meanings")
    sizes = world.num_values
    if sizes is None:
        raise ConfigError(f"{name}: the objects of the world have no attribute values: expected a corpus")
    if is_clauses(name):
        if len(sizes) != 3 or sizes[0] != sizes[1]:
            raise ConfigError(
                f"{name}: expected a world of agents, patients and actions, such as world events"
            )
        return clause_variants(name, options.seed, entities=sizes[0], actions=sizes[2])
    if len(set(sizes)) > 1:
        raise ConfigError(f"{name}: expected attributes with equal numbers of values, got {list(sizes)}")
    if channel.max_len < len(sizes):
        raise ConfigError(
            f"{name}: messages have {len(sizes)} words: expected channel.max_len of at least {len(sizes)}, got "
            f"{channel.max_len}"
        )
    try:
        return make_corpus(
            name,
            seed=options.seed,
            num_attributes=len(sizes),
            num_values=sizes[0],
            word_length=channel.max_len // len(sizes),
            vocab_size=channel.vocab_size,
        )
    except ConfigError as error:
        said = (
            str(error)
            .replace("--word-length", "channel.max_len")
            .replace("--vocab-size", "channel.vocab_size")
        )
        raise ConfigError(said) from None


def _weights(corpus: Corpus) -> NDArray[np.float64]:
    """Frequency of each message of a corpus: its column `weight`, or all equal."""
    try:
        weights = np.asarray(corpus.columns.get(WEIGHT, np.ones(len(corpus.messages))), dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(1, np.nan)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ConfigError("a corpus that is taught: expected weights of at least 0")
    return weights


def _padded(place: str, corpora: Sequence[Corpus], channel: Channel) -> NDArray[np.int64]:
    """Messages of corpora, (num_messages, max_len, plus 1 with EOS), with EOS and PAD after their ends."""
    named: dict[str, int] = {}
    symbols = np.concatenate([_numbered(corpus, named) for corpus in corpora])
    lengths = np.concatenate([corpus.content().lengths for corpus in corpora])
    for wrong in (symbols.max(initial=1), symbols.min(initial=1)):
        if not 1 <= wrong <= channel.vocab_size:
            raise ConfigError(
                f"{place}: the channel has no symbol {wrong}: expected symbols from 1 to {channel.vocab_size} "
                "(channel.vocab_size)"
            )
    for wrong in (lengths.max(), lengths.min()):
        if wrong > channel.max_len or (not channel.has_eos and wrong < channel.max_len):
            raise ConfigError(
                f"{place}: a message has {wrong} symbols, but messages of the channel have "
                f"{'at most' if channel.has_eos else 'exactly'} {channel.max_len} (channel.max_len)"
            )
    padded = np.full((len(lengths), channel.max_len + channel.has_eos), PAD, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = symbols
    if channel.has_eos:
        padded[np.arange(len(padded)), lengths] = EOS
    return padded


def _numbered(corpus: Corpus, named: dict[str, int]) -> NDArray[np.int64]:
    """Symbols of all messages, without EOS; named symbols are added to `named` and numbered from 1."""
    symbols = corpus.content().values.astype(np.int64)
    if corpus.symbol_names is None:
        return symbols
    used, places = np.unique(symbols, return_inverse=True)
    numbers = [named.setdefault(corpus.symbol_names[each], len(named) + 1) for each in used.tolist()]
    return np.array(numbers, dtype=np.int64)[places]


STEPS, RIGHT, TOTAL, NEW_RIGHT, NEW_TOTAL = range(5)
"""Columns of the teaching state of a role: number of steps (0: not finished), and numbers of correct rounds and of all
rounds at its end, over all agents, about taught meanings and about other meanings."""
ALL_RIGHT = 1 - 1e-6
"""Accuracy of a round from which the answer counts as fully correct."""


class Teaching:
    """Teaching of languages to agents, and its progress.

    Args:
        population: The agents, and the buffer `taught` of their results.

    Raises:
        ConfigError: If a language lacks a message for a meaning, a message does not fit the channel, or agents
            are frozen.
    """

    def __init__(self, population: Learners) -> None:
        self.population, self.seed = population, population.seed
        self.num_rounds = min(population.world.num_valid, population.world.num_train)
        self.languages: dict[Role, TaughtLanguage] = {}
        self.options: dict[Role, InitialLanguage.Options] = {}
        for role in ROLES:
            part = population.sides(role)[0].taught
            if part == NOTHING:
                continue
            if role in population.frozen:
                raise ConfigError(
                    f"{role}.taught: the {role}s are frozen (training.freeze_{role}): teach them in another run, and "
                    f"give its folder as training.init_{role}"
                )
            require_symbols(population.senders[0], f"{role}.taught")
            self.options[role] = options = part.options
            self.languages[role] = TaughtLanguage(
                f"{role}.taught", options, population.world, population.channel, self.seed
            )
        if self.languages:
            population.register_buffer("taught", torch.zeros(len(ROLES), 5, dtype=torch.long))
        self.ended: dict[Role, int] = {}
        """Number of teaching steps of a role, once teaching has ended; until then, devices are synchronised."""

    @property
    def num_steps(self) -> int:
        """Steps before agents play; an upper bound until teaching has ended."""
        return max((self._steps_of(role) for role in self.languages), default=0)

    def is_learning(self, role: Role, step: int) -> bool:
        """Whether agents of a role are taught at a step."""
        return role in self.languages and step < self._steps_of(role)

    def end_step(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """End the teaching of a role after a pass if it is complete; when all roles have ended, agents begin to play.

        The optimizer state is then reset, as for agents that begin with the weights of another run.

        Args:
            step: Number of steps made.
            optimizer: Optimizer of the agents.
        """
        for role, options in self.options.items():
            is_last = step == options.epochs * self._per_pass(role)
            is_asked = is_last or options.until_accuracy is not None
            if step % self._per_pass(role) or step > self._steps_of(role) or not is_asked:
                continue
            found = self.counts(role)
            lowest = float((found[:, RIGHT] / found[:, TOTAL].clamp(min=1)).min())
            if is_last or lowest >= cast(float, options.until_accuracy):
                kept = found.sum(0)
                kept[STEPS] = step
                self.population.taught[ROLES.index(role)] = kept
        if step == self.num_steps:
            optimizer.state.clear()

    def learn(self, step: int) -> StepResult:
        """Compute the loss of the agents of all roles that are taught at a step."""
        population = self.population
        results, num_plays = [], dict[Role, dict[int, int]]()
        for role in ROLES:
            if not self.is_learning(role, step):
                continue
            agents = population.sides(role)
            batch, message = self._teaching_batch(role, step)
            num_plays[role] = dict.fromkeys(range(len(agents)), 1)
            noises = population.noises(step, range(role == "receiver", 2 * len(agents), 2))
            if not len(batch):
                continue
            messages = [message] * len(agents)
            if role == "sender":
                results.append(learn_messages(cast(list[Speaker], agents), batch, messages, noises))
            else:
                pairs = [population.pair(0, index) for index in range(len(agents))]
                results.append(learn_meanings(pairs, batch, messages, noises))
        population.num_plays = num_plays
        zero = torch.zeros((), device=population.device)
        objective = torch.stack([result.objective for result in results]).sum() if results else zero
        losses = [result.measures[LEARNING_LOSS] for result in results]
        measures = {LEARNING_LOSS: torch.stack(losses).mean() if losses else zero}
        return is_learning(StepResult(objective=objective, measures=measures))

    @torch.no_grad()
    def counts(self, role: Role, *, others: bool = True) -> Tensor:
        """Count the rounds in which agents of a role agree with the language, (num_agents, 5).

        A message is correct if the language has it for the meaning, an answer if the task accepts it. Rounds are
        taught rounds of the first training epoch and, with `others`, untaught rounds of validation, at most the
        number of rounds of an evaluation.
        """
        population, language, world = self.population, self.languages[role], self.population.world
        counts = torch.zeros(len(population.sides(role)), 5, dtype=torch.long)
        sizes = world.sizes.batch_size, world.sizes.evaluation_batch_size
        population.eval()
        for split, size, right in list(zip(("train", "valid"), sizes, (RIGHT, NEW_RIGHT), strict=True))[
            : 1 + others
        ]:
            for number in range(-(-self.num_rounds // size)):
                batch = world.batch(split, number).cut(self.num_rounds - number * size)
                batch, meanings = language.rounds(world, batch, is_taught=right == RIGHT)
                if not len(batch):
                    continue
                message = as_message(language.ids(meanings, 0).to(population.device))
                for index in range(len(counts)):
                    are_right = self._are_right(role, index, batch, meanings, message)
                    counts[index, right] += int(are_right.sum())
                    counts[index, right + 1] += len(batch)
        population.train()
        return counts

    def accuracies(self) -> dict[str, float]:
        """Current accuracy of each role on its taught language: `taught_sender`, `taught_receiver`."""
        figures = {}
        for role in self.languages:
            found = self.counts(role, others=False).sum(0)
            figures[f"taught_{role}"] = int(found[RIGHT]) / max(int(found[TOTAL]), 1)
        return figures

    def described(self) -> dict[str, Any]:
        """Taught languages and their results, for the metadata of the run."""
        described: dict[str, Any] = {}
        for role, language in self.languages.items():
            steps, right, total, new_right, new_total = self.population.taught[ROLES.index(role)].tolist()
            described[role] = {
                **language.described(),
                "steps": steps,
                "accuracy": right / total if total else None,
                "accuracy_of_others": new_right / new_total if new_total else None,
            }
        return {"taught": described} if described else {}

    def _are_right(
        self, role: Role, index: int, batch: Batch, meanings: NDArray[np.int64], message: Message
    ) -> Tensor:
        """Whether an agent is correct in each round, (batch,)."""
        side = self.population.sides(role)[index]
        if isinstance(side, Speaker):
            said = side.generate_message(batch, "greedy", None)
            return self.languages[role].has(meanings, said.symbols)
        assert isinstance(side, Listener)
        pair = self.population.pair(0, index)
        understood = pair.understand(message, *pair.round_parts(batch), mode="greedy", generator=None)
        return understood.measures["accuracy"] > ALL_RIGHT

    def _teaching_batch(self, role: Role, step: int) -> tuple[Batch, Message]:
        """Rounds of a teaching step, and the messages in them."""
        world, language = self.population.world, self.languages[role]
        epoch, place = divmod(step, self._per_pass(role))
        size = self.options[role].batch_size or world.sizes.batch_size
        drawn = world.draw("train", step, size).cut(world.num_train - place * size)
        batch, meanings = language.rounds(world, world.as_asked(drawn, "train", step), is_taught=True)
        return batch, as_message(language.ids(meanings, epoch).to(self.population.device))

    def _per_pass(self, role: Role) -> int:
        """Number of steps per pass over the training examples."""
        size = self.options[role].batch_size or self.population.world.sizes.batch_size
        return -(-self.population.world.num_train // size)

    def _steps_of(self, role: Role) -> int:
        """Number of teaching steps of a role; an upper bound until teaching has ended."""
        if role not in self.ended:
            done = int(self.population.taught[ROLES.index(role), STEPS].item())
            if not done:
                return self.options[role].epochs * self._per_pass(role)
            self.ended[role] = done
        return self.ended[role]
