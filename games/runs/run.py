"""A run, finished or not: settings, log, corpus, and agents that can be queried for messages and answers."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import ignore, override, with_changes
from ecsuite.games.config.sections import Experiment, with_training
from ecsuite.games.participants.participant import Ask, Participant, Setting
from ecsuite.games.players.pair import Pair
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.interactions import PROBABILITIES, read_interactions, record_interactions
from ecsuite.games.plays.play import Play, make_play, play_class, players_of
from ecsuite.games.plays.population import Population
from ecsuite.games.runs.checkpoints import (
    agent_weights,
    require_sizes,
    weights_of_corpus,
)
from ecsuite.games.runs.identity import check_data
from ecsuite.games.runs.interventions import Interventions, chosen_interventions, intervene
from ecsuite.games.runs.result import flat_figures, measures_of
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.tasks.tasks import Reconstruction
from ecsuite.games.tasks.views import View
from ecsuite.games.worlds.world import World, evaluations_of, make_world
from ecsuite.runtime.devices import choose_device, unrounded_products
from ecsuite.runtime.errors import ConfigError, DamagedError
from ecsuite.runtime.given_values import as_array, rows_of
from ecsuite.runtime.printable import preformatted
from ecsuite.runtime.ragged import Ragged


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder.

    Agents are loaded on first use, on the CPU and in fp32, from the checkpoint that the corpus was generated with.
    """

    folder: Path
    """Path of the run folder."""
    experiment: Experiment
    """Config of the run."""
    note: Callable[[str], None] = ignore
    """Called with each message about the files of the run."""
    flags_by_key: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Command-line option, such as `--objects`, for each changed `section.key`, used in messages."""

    def __repr__(self) -> str:
        """Folder, experiment, and last evaluation."""
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.measures.items())
        return f"Run {self.folder}: {self.experiment.name}\n{figures or 'not evaluated yet'}"

    def _repr_html_(self) -> str:
        """HTML representation for notebooks."""
        return preformatted(repr(self))

    @cached_property
    def corpus(self) -> Corpus:
        """Corpus of the run: the messages of its senders, with their meanings."""
        return read_corpus(self.folder)

    @property
    def measures(self) -> dict[str, float]:
        """Loss, accuracy and so on of the last evaluation, or of the best one with `keep_best`; empty before the first.

        If the corpus is not from an earlier step, the measures describe the agents that produced it.
        """
        log, last = self.log, -1
        ending = RunFolder(self.folder).ending
        if ending and ending["step"] >= max(log.get("step", [0])):
            return {name: float(value) for name, value in measures_of(ending).items()}
        if (best := RunFolder(self.folder).best_step) is not None and best in (steps := log["step"].tolist()):
            last = steps.index(best)
        return {
            name.removeprefix("valid."): float(values[last])
            for name, values in log.items()
            if name.startswith("valid.")
        }

    @property
    def log(self) -> dict[str, NDArray[np.float64]]:
        """Learning curves: one array per figure, by name: `step`, `train.loss`, `valid.accuracy` and so on."""
        folder = RunFolder(self.folder)
        file = folder.log
        folder.check_log()
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        scores = [{f"metrics.{name}": np.nan for name in line.get("metrics", {})} for line in lines]
        rows = [
            {"step": line["step"], **undefined, **flat_figures(line)}
            for line, undefined in zip(lines, scores, strict=True)
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}

    @property
    def pair(self) -> Pair:
        """The trained sender and receiver, in evaluation mode; the first of several pairs.

        Raises:
            ConfigError: If the folder has no checkpoint, or its data files have changed.
            DamagedError: If no checkpoint can be read.
        """
        return self.players.first_pair

    @property
    def has_agents(self) -> bool:
        """Whether senders and receivers are available: already loaded, or in a checkpoint."""
        folder = RunFolder(self.folder)
        is_trained = bool(folder.checkpoints or folder.best_states)
        return "players" in vars(self) or (is_trained and play_class(self.experiment).can_speak)

    @cached_property
    def play(self) -> Play:
        """The play with the agents that produced the corpus, on the CPU and in fp32; for errors see `pair`."""
        check_data(self.experiment)
        play = make_play(with_training(self.experiment, precision="fp32"), torch.device("cpu"))
        self._restore(play.restore)
        return play

    def _restore(self, load: Callable[[dict[str, Tensor]], Any]) -> None:
        """Load the weights of the agents that produced the corpus; for errors see `pair`."""
        weights = weights_of_corpus(self.folder, self.note)
        if weights is None:
            raise ConfigError(f"{self.folder}: no checkpoint yet")
        try:
            load(weights)
        except (RuntimeError, KeyError):
            raise DamagedError(
                f"{self.folder}: the tensors of the checkpoint do not fit the config"
            ) from None

    @cached_property
    def players(self) -> Population:
        """All trained agents, in evaluation mode; for errors see `pair`."""
        if not play_class(self.experiment).can_speak:
            raise ConfigError(
                f"{self.folder}: play {self.experiment.play.kind} has no senders and receivers: score its "
                "corpus, or audit agents that act (ecsuite audit)"
            )
        players = self.play.players
        if players is None:
            kind = self.experiment.play.kind
            raise ConfigError(f"play {kind}: expected self.players in its constructor, as can_speak is true")
        return players.eval()

    @torch.inference_mode()
    def evaluate(
        self,
        changes: Mapping[str, Any] | None = None,
        assignments: Iterable[str] = (),
        *,
        receiver_from: "Run | Path | str | None" = None,
        device: str = "cpu",
    ) -> dict[str, dict[str, float]]:
        """Evaluate the trained agents, optionally on other objects or with another task.

        Args:
            changes: Values by `section.key`, such as `{"task.num_distractors": 20}`.
            assignments: Changes as texts, such as `task.num_distractors=20`; they take precedence over `changes`.
            receiver_from: Run, or its folder, whose receivers, with weights of equal shapes, replace the run's.
            device: auto, cpu, cuda or mps.

        Returns:
            The measures of each evaluation: `valid`, and further evaluations of the world by name.

        Raises:
            ConfigError: If a change is not valid, or the agents do not fit the changed game.
        """
        experiment, world, players = self.changed(changes, assignments, receiver_from, device)
        others = {"valid": (world, "valid"), **evaluations_of(world, experiment)}
        with unrounded_products(players.device):
            return {
                name: evaluate(players, other, experiment, split) for name, (other, split) in others.items()
            }

    @torch.inference_mode()
    def chance(
        self, changes: Mapping[str, Any] | None = None, assignments: Iterable[str] = ()
    ) -> dict[str, Mapping[str, float]]:
        """Chance levels of the rounds of `evaluate`: measures of the best answers that ignore the message.

        Args:
            changes: See `evaluate`.
            assignments: See `evaluate`.

        Returns:
            The chance level of each measure that has one, by evaluation.
        """
        experiment, world, players = self.changed(changes, assignments, None, "cpu", notes=False)
        others = evaluations_of(world, experiment)
        return {"valid": players.chance()} | {name: players.chance(*where) for name, where in others.items()}

    def interactions(
        self,
        changes: Mapping[str, Any] | None = None,
        assignments: Iterable[str] = (),
        *,
        probabilities: bool = False,
        receiver_from: "Run | Path | str | None" = None,
        device: str = "cpu",
    ) -> Any:
        """Table of evaluation rounds: observations, messages and answers.

        Reads the table that the run stored; without one, or with changes, the agents play the rounds again.

        Args:
            changes: See `evaluate`.
            assignments: See `evaluate`.
            probabilities: Whether to require a column with the probabilities of the answers.
            receiver_from: See `evaluate`.
            device: See `evaluate`.

        Returns:
            A `pyarrow.Table` with a row for each round; `to_pandas()` converts it to a data frame.

        Raises:
            ConfigError: As `evaluate`, or if pyarrow is not installed.
        """
        assigned = _as_list(assignments)
        if not changes and not assigned and receiver_from is None:
            try:
                kept = read_interactions(self.folder)
            except DamagedError as error:
                self.note(f"{error}: its rounds are played again")
                kept = None
            if kept is not None and (PROBABILITIES in kept.column_names or not probabilities):
                return kept
        experiment, world, players = self.changed(changes, assigned, receiver_from, device)
        evaluations = {"valid": (world, "valid"), **evaluations_of(world, experiment)}
        with unrounded_products(players.device):
            return record_interactions(players, evaluations, experiment, probabilities=probabilities)

    def intervene(
        self,
        names: str | Iterable[str] = "all",
        changes: Mapping[str, Any] | None = None,
        assignments: Iterable[str] = (),
        *,
        receiver_from: "Run | Path | str | None" = None,
        device: str = "cpu",
    ) -> Interventions:
        """Edit messages between sender and receiver, and measure the accuracy of the receiver.

        Args:
            names: `permute`, `drop`, `replace`, `noise`, several in a list or separated by commas, or `all`.
            changes: See `evaluate`.
            assignments: See `evaluate`.
            receiver_from: See `evaluate`.
            device: See `evaluate`.

        Raises:
            ConfigError: As `evaluate`, or if an intervention is unknown, or the channel has no symbols.
        """
        if not isinstance(names, str | Iterable):
            raise ConfigError(f"names: expected interventions, or all, got {names!r:.60}")
        listed = names.split(",") if isinstance(names, str) else list(names)
        chosen = chosen_interventions(listed)
        experiment, world, players = self.changed(changes, assignments, receiver_from, device)
        players.eval()
        with unrounded_products(players.device):
            rows = intervene(players.first_pair, world, chosen, experiment.training.seed)
        return Interventions(rows=tuple(rows), chance=players.chance()["accuracy"])

    def changed(
        self,
        changes: Mapping[str, Any] | None,
        assignments: Iterable[str],
        receiver_from: "Run | Path | str | None",
        device: str,
        *,
        notes: bool = True,
    ) -> tuple[Experiment, World, Population]:
        """Apply changes; return the changed experiment, its world and its agents; see `evaluate`.

        With `notes`, messages about the limits of its rounds go to `note`.
        """
        experiment = with_changes(self.experiment, changes or {}, self.flags_by_key)
        given_by = "--set" if self.flags_by_key else "assignments"
        experiment = override(experiment, _as_list(assignments), given_by)
        world = make_world(experiment, trained=self.pair.world)
        players = players_of(experiment, world)
        try:
            players.load_state_dict(self.players.state_dict())
        except RuntimeError:
            raise ConfigError(
                "the agents do not fit the changed game: their weights have other shapes"
            ) from None
        for line in (world.trained_note(self.pair.world), world.untested_note()):
            if line is not None and notes:
                self.note(line)
        if receiver_from is not None:
            folder = receiver_from.folder if isinstance(receiver_from, Run) else receiver_from
            if not isinstance(folder, str | Path):
                raise ConfigError(f"receiver_from: expected a run or its folder, got {folder!r:.60}")
            require_sizes(Path(folder), experiment)
            agents = agent_weights(Path(folder), "receiver", self.note)
            players.set_weights("receiver", agents, str(folder))
        place = choose_device(device)
        return experiment, world, players.to(place)

    def speak(self, meanings: ArrayLike) -> list[list[int]]:
        """Greedy messages of the sender: content symbols, without EOS.

        Args:
            meanings: Attribute values, (number, num_attributes), or objects in the world's format.

        Raises:
            ConfigError: If these are not meanings of the world, or the sender sees several objects.
        """
        return said_of(self.pair, meanings)

    def understand(self, messages: Ragged | ArrayLike, candidates: ArrayLike | None = None) -> NDArray[Any]:
        """Decode messages with the receiver: the best candidate, or the reconstructed object.

        Args:
            messages: Content symbols of each message, (num_messages, any length); EOS ends a message.
            candidates: Meanings to choose from, (number, num_attributes); None: the distinct meanings of the corpus or,
                in reconstruction, all.

        Returns:
            A meaning for each message, (num_messages, num_attributes).

        Raises:
            ConfigError: If a symbol is not in the vocabulary, a message is too long or too short, there are no
                messages, or the receiver sees more than the message.
            CorpusError: If messages are not lists of integers.
        """
        if isinstance(self.pair.task, Reconstruction) and candidates is None:
            return reconstructed(self.pair, self.pair.task, messages)
        if candidates is None:
            if self.corpus.meanings is None:
                raise ConfigError("the corpus has no meanings: give the candidates")
            candidates = np.unique(self.corpus.meanings, axis=0)
        choices = array_of(candidates)
        best: NDArray[Any] = choices[self.scores(messages, choices).argmax(1)]
        return best

    def scores(self, messages: Ragged | ArrayLike, candidates: ArrayLike) -> NDArray[np.float32]:
        """Scores of candidates given messages, by the receiver; higher is a better fit.

        Args:
            messages: Content symbols of each message, (num_messages, any length); EOS ends a message.
            candidates: Meanings to choose from, (number, num_attributes), or objects in the world's format; in
                reconstruction always attribute values.

        Returns:
            Scores, (num_messages, num_candidates): in a game with candidates, the logits of the receiver's softmax; in
            reconstruction, log-probabilities of the values, in nats.

        Raises:
            ConfigError: As `understand`, or if the receiver neither chooses nor names values.
        """
        return scores_of(self.pair, messages, candidates)


def _as_list(assignments: Iterable[str]) -> list[str]:
    """Convert assignments to a list; a single one may be a string."""
    return [assignments] if isinstance(assignments, str) else list(assignments)


def load_run(
    folder: Path | str,
    *,
    trust_code: bool = False,
    note: Callable[[str], None] = ignore,
    flags_by_key: Mapping[str, str] | None = None,
) -> Run:
    """Open a run folder.

    Args:
        folder: The folder, with a `config.yaml`.
        trust_code: Whether to import the foreign parts of its config.
        note: Called with each message about the files of the run.
        flags_by_key: See `Run`.

    Raises:
        ConfigError: If the folder is not a run folder, or its config can't be used.
        UntrustedError: If its config names foreign parts that the user has neither named nor trusted.
    """
    run = RunFolder(Path(folder))
    if not run.is_run:
        has_file = run.path.is_file() and RunFolder(run.path.parent).is_run
        advice = f"; expected the run folder, {run.path.parent}" if has_file else ""
        raise ConfigError(f"{folder}: not a run folder: it has no {run.config.name}{advice}")
    found = run.experiment(note=note, trust_code=trust_code)
    return Run(run.path, found, note, flags_by_key or {})


@torch.inference_mode()
def said_of(pair: Pair, meanings: ArrayLike) -> list[list[int]]:
    """Greedy messages of the sender, without EOS; for arguments and errors see `Run.speak`."""
    if pair.world.rounds.sender_sees_all or pair.world.rounds.num_targets > 1:
        raise ConfigError("the sender of this game sees several objects: its messages are in `corpus`")
    message = pair.speaker.message(_view(pair, meanings), 1, "greedy", None, 0)
    if pair.channel.is_of_values:
        raise ConfigError("the words of this channel are real-valued: its messages are in `corpus`")
    rows = message.symbols.t().tolist()
    return [[symbol for symbol in row if symbol not in (EOS, PAD)] for row in rows]


@torch.inference_mode()
def reconstructed(pair: Pair, task: Reconstruction, messages: Ragged | ArrayLike) -> NDArray[Any]:
    """Objects that the receiver reconstructs, (num_messages, num_attributes); for errors see `Run.understand`."""
    values: NDArray[Any] = task.values(_states(pair, messages))[0].numpy()
    return values


@torch.inference_mode()
def scores_of(pair: Pair, messages: Ragged | ArrayLike, candidates: ArrayLike) -> NDArray[np.float32]:
    """Scores of candidates given messages, (num_messages, num_candidates); see `Run.scores`."""
    choices, states = array_of(candidates), _states(pair, messages)
    if not len(choices):
        raise ConfigError("candidates: expected at least one")
    if isinstance(pair.task, Reconstruction):
        _require_values(pair, choices)
        likelihoods = pair.task.logits(states)[0].log_softmax(-1)  # (num_messages, num_attributes, values)
        asked = pair.task.asked_values(torch.from_numpy(choices.astype(np.int64)))
        places = asked.t()[None].expand(len(likelihoods), -1, -1)
        summed: NDArray[np.float32] = likelihoods.gather(2, places).sum(1).numpy()
        return summed
    if not pair.task.scores_candidates:
        raise ConfigError("the receiver of this game neither chooses among objects nor names values")
    view = _view(pair, choices)
    everyone = torch.arange(len(choices)).expand(states.shape[1], -1)
    seen = View(features=view.features, num_seen=len(choices), indices=everyone)
    found: NDArray[np.float32] = pair.listener.scores(states, seen, None)[0].numpy()
    return found


def array_of(meanings: ArrayLike) -> NDArray[Any]:
    """Convert meanings to an array, (number, ...).

    Raises:
        ConfigError: If the rows differ in length.
    """
    try:
        found = np.asarray(as_array(meanings))
    except ValueError:
        raise ConfigError("meanings: expected rows of equal length") from None
    if not found.ndim:
        raise ConfigError(f"meanings: expected rows, got {meanings!r:.60}")
    return found


def _states(pair: Pair, messages: Ragged | ArrayLike) -> Tensor:
    """The receiver's states after messages, (1, num_messages, state_size)."""
    if isinstance(pair.task, Reconstruction) and pair.task.num_known:
        raise ConfigError("the receiver of this game also sees attributes of the target (task.num_known)")
    return call_receiver(pair.listener.network, _message(pair, messages), torch.float32)[0]


def _view(pair: Pair, meanings: ArrayLike) -> View:
    """View of meanings as objects, one per round."""
    world, given = pair.world, array_of(meanings)
    if world.num_values is not None and world.shows_values:
        _require_values(pair, given)
        given = given.astype(np.int64)
    elif given.shape[1:] != world.object_shape:
        raise ConfigError(f"meanings: expected objects of shape {world.object_shape}, got {given.shape[1:]}")
    features = world.features(torch.from_numpy(np.array(given)), torch.float32)
    return View(features=features, num_seen=1, indices=None)


def _require_values(pair: Pair, meanings: NDArray[Any]) -> None:
    """Raise ConfigError unless meanings are attribute values of the world, (number, num_attributes)."""
    num_values = pair.world.num_values or ()
    fits = meanings.ndim == 2 and meanings.shape[1] == len(num_values) and meanings.dtype.kind in "iu"
    if not fits or (meanings < 0).any() or (meanings >= np.array(num_values)).any():
        raise ConfigError(f"meanings: expected rows of {len(num_values)} attribute values below {num_values}")


def _message(pair: Pair, messages: Ragged | ArrayLike) -> Message:
    """Convert symbol sequences to the receiver's input."""
    channel = pair.channel
    if channel.is_of_values:
        raise ConfigError("the words of this channel are real-valued: messages can't be given as ids")
    given = rows_of(messages, "message")
    given = given.before(EOS) if channel.has_eos else given
    rows = [given[number].tolist() for number in range(len(given))]
    if not rows:
        raise ConfigError("expected at least one message")
    least, many = (0, "up to ") if channel.has_eos else (channel.max_len, "")
    for row in rows:
        is_long = not least <= len(row) <= channel.max_len
        if is_long or not all(0 < symbol <= channel.vocab_size for symbol in row):
            expected = f"{many}{channel.max_len} symbols from 1 to {channel.vocab_size}"
            raise ConfigError(f"message {row}: expected {expected}")
    rows = [[*row, EOS] for row in rows] if channel.has_eos else rows
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
    return Message(symbols=ids.t(), ends=None, length=torch.tensor([float(len(row)) for row in rows]))


class Trained(Participant):
    """The first sender and receiver of a run.

    The symbols of the channel are the symbols of the play in order, and objects have the attributes of the world.

    Raises:
        ConfigError: If the run does not exist, or its game has other symbols or objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of trained networks."""

        run: str = ""
        """The run folder."""

    tasks: ClassVar[tuple[str, ...]] = ("discrimination", "reconstruction")

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        if not options.run:
            raise ConfigError("run: expected a run folder")
        self.run = load_run(options.run)
        channel = self.run.pair.channel
        symbols = setting.words.symbols
        if len(symbols) != channel.vocab_size or setting.words.max_len != channel.max_len:
            raise ConfigError(
                f"run: {options.run} has {channel.vocab_size} symbols, up to {channel.max_len} per message: expected "
                f"equal numbers in play.names and play.max_symbols, got {len(symbols)} and {setting.words.max_len}"
            )
        self._ids = {symbol: number for number, symbol in enumerate(symbols, 1)}
        try:
            self._messages = self.run.speak(setting.values)
        except ConfigError as error:
            raise ConfigError(f"run: {options.run}: {error}: the world of the play differs") from None
        names, trained = ([list(each) for each in of.value_names] for of in (setting, self.run.pair.world))
        if names != trained:
            raise ConfigError(
                f"run: {options.run} was trained on other objects: expected a world with the values "
                f"{', '.join(name for each in trained for name in each):.200}"
            )

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """The most likely message, or the candidate with the highest score."""
        words = self.setting.words
        if ask.role == "speaker":
            said = [words.symbols[symbol - 1] for symbol in self._messages[ask.thing]] or [words.symbols[0]]
            return words.separator.join(said)
        heard = [[self._ids[symbol] for symbol in words.split(ask.message)]]
        things = list(ask.candidates) or list(range(len(self.setting.things)))
        scores: Any = self.run.scores(heard, self.setting.values[things])[0]
        return ask.allowed.choices[int(scores.argmax())]
