"""Covertness: accuracy of a sender's partners minus accuracy of outsiders that overheard some of its rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.bootstrap import mean_interval
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.parts.config import Count
from ecsuite.parts.registry import to_tree
from ecsuite.runtime.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

    from ecsuite.games.players.agent import Listener
    from ecsuite.games.players.pair import Pair
    from ecsuite.games.runs.run import Run

FOLDS = 4
"""Parts of the meanings: one for testing, one for choosing the outsider, the others observed; each is tested once."""
RIDGE = 0.01
"""Penalty of the ridge regression, as a share of the mean squared length of its inputs."""
NUM_CODES = 5
"""Number of random codes in the control."""
UPDATES, BATCH, RATE, LEAST_LOSS = 150, 64, 0.005, 0.05
"""Training of a fresh receiver: updates by Adam, rounds per update, learning rate, and loss at which it ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CovertnessOptions:
    """Options of `covertness`."""

    messages: Count = 200
    """Number of rounds about observed meanings that an outsider observes; all if there are fewer."""
    outsiders: Literal["all", "counting"] = "all"
    """counting: ridge regression and nearest message; all: also a fresh receiver, which is trained."""
    rounds: Count = 1000
    """Maximum number of rounds of evaluation."""


DEFAULT = CovertnessOptions()
COVERTNESS = Traits(
    name="covertness",
    about="accuracy of partners minus that of outsiders",
    high="partners understand what outsiders do not; at chance level, as covert as a random code of the same lengths",
    question="agents",
    bounds=(-1.0, 1.0),
    chance="training",
    needs=("agents",),
    depends_on_size="outsiders learn from more messages",
    has_reliable_interval=False,
    options=CovertnessOptions,
)
MATCHED = replace(
    COVERTNESS,
    name="matched_covertness",
    about="covertness minus that of random codes",
    high="0 if as covert as a random code of the same lengths, below 0 if structure helps outsiders",
    bounds=(-2.0, 2.0),
    chance=None,
)


@metric(COVERTNESS, MATCHED)
def covertness(run: "Run", options: Options, own: CovertnessOptions = DEFAULT) -> list[Score]:
    """Accuracy of a sender's partners minus that of the best outsider after n overheard rounds.

    The word is from Carmeli et al. (2026, arXiv 2601.20641; only the abstract was read): hard to interpret for external
    observers. The formula is ours. Outsiders observe n rounds of evaluation, with message and target, and answer rounds
    about other targets, as receivers do: they choose among the candidates. `linear` predicts the target's features from
    symbols, at their positions and anywhere, by ridge regression, and `nearest` from the observed messages with the
    fewest edits; both choose the most similar candidate. `receiver` is a fresh receiver of the game that learns from
    the observed rounds alone; `guess` reads nothing. Meanings are divided into four parts: each is tested once, with
    the outsider that is best in another part.

    `covertness` is the mean over meanings of the difference in accuracy, with a bootstrap interval over meanings (given
    what outsiders observed and learnt). Its chance level is the control: each meaning gets random symbols, as many as
    it has in each round, and the partner knows this code. So message length alone makes no language covert or open.
    `matched_covertness` is the difference from the control. For a society: the mean over senders, whose partners are
    the receivers that they meet.

    For a curve over n: `--metrics covertness,messages=50` and others. Undefined if words are values, if messages meet
    noise in evaluations, for tasks without a single target among candidates, and for fewer than eight meanings.
    """
    settings: dict[str, Any] = to_tree(own) | {"seed": options.seed, "task": run.experiment.task.kind}
    settings["mode"] = run.experiment.evaluation.mode
    blank = [unscored(traits, **settings) for traits in (COVERTNESS, MATCHED)]
    reason = _undefined(run.pair)
    spoken = [] if reason is not None else overheard(run, own.rounds)
    if spoken and len(np.unique(spoken[0].targets)) < 2 * FOLDS:
        reason = f"fewer than {2 * FOLDS} meanings"
    if reason is not None:
        return [score(value=None, reason=reason) for score in blank]
    outsiders, rng = dict(COUNTING), np.random.default_rng([options.seed, *b"codes"])
    if own.outsiders == "all" and any(True for _ in _fresh_receiver(run, 0).parameters()):
        outsiders["receiver"] = partial(_fresh_receiver_accuracy, run, options.seed)
    languages = [spoken, *([each.recoded(rng) for each in spoken] for _ in range(NUM_CODES))]
    found = [compared(each, own.messages, options.seed, outsiders) for each in languages]
    (gaps, accuracy), codes = found[0], found[1:]
    controls = np.stack([of_code for of_code, _ in codes])  # (NUM_CODES, num_meanings)
    details: dict[str, Any] = {
        "accuracy": accuracy,
        "control": {name: float(np.mean([each[name] for _, each in codes])) for name in accuracy},
        "meanings": len(gaps),
        "rounds": len(spoken[0].targets),  # at most about half of them are observed
    }
    chance = Chance.from_permutations(controls.mean(1), seed=options.seed, bounds=COVERTNESS.bounds)
    values = (gaps, gaps - controls.mean(0))
    more: tuple[dict[str, Any], ...] = ({"chance": chance, "details": details}, {})
    return [
        score(value=float(each.mean()), ci95=mean_interval(each, expanded=True), **others)
        for score, each, others in zip(blank, values, more, strict=True)
    ]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Overheard:
    """Rounds of a sender as outsiders hear them."""

    symbols: Ints
    """Messages, (num_rounds, num_steps): content from 1, then EOS and PAD, which are below 1."""
    vocab_size: int
    objects: "Tensor"
    """Distinct objects as a receiver sees them, (num_objects, *object_shape)."""
    candidates: Ints
    """Indices of objects, (num_rounds, num_candidates)."""
    labels: NDArray[np.bool_]
    """Whether each candidate is the target, (num_rounds, num_candidates)."""
    accuracy: Floats
    """Accuracy of the partners, (num_rounds,)."""

    @property
    def targets(self) -> Ints:
        """Indices of the targets, (num_rounds,)."""
        return self.candidates[self.labels]

    def recoded(self, rng: np.random.Generator) -> "Overheard":
        """Replace the symbols of each object by random ones, with unchanged lengths and a partner that knows the code.

        Codes of different objects differ, if 100 further draws for equal codes achieve this.
        """
        is_content = self.symbols > 0
        lengths = np.full(len(self.objects), is_content.shape[1])
        lengths[self.targets] = is_content.sum(1)
        is_said = np.arange(is_content.shape[1]) < lengths[:, None]
        codes = rng.integers(1, self.vocab_size + 1, is_said.shape)
        for _ in range(100):
            is_repeated = np.ones(len(codes), bool)
            is_repeated[np.unique(codes * is_said, axis=0, return_index=True)[1]] = False
            codes[is_repeated] = rng.integers(1, self.vocab_size + 1, codes[is_repeated].shape)
        words = codes * is_said
        alike = (words[self.candidates] == words[self.targets][:, None]).all(2)
        symbols = np.where(is_content, codes[self.targets], self.symbols)
        return replace(self, symbols=symbols, accuracy=1 / alike.sum(1))

    def chosen(self, asked: Ints, observed: Ints, weights: Floats) -> Floats:
        """Accuracy of the candidate nearest to a mean of observed targets, weighted by (num_asked, num_observed)."""
        vectors = self.objects.flatten(1).double().cpu().numpy()
        means, rows = weights @ vectors[self.targets[observed]], np.arange(len(asked))[:, None]
        squares = (vectors**2).sum(1) - 2 * means @ vectors.T + (means**2).sum(1, keepdims=True)
        distances = squares[rows, self.candidates[asked]]
        is_nearest = distances <= distances.min(1, keepdims=True) + 1e-9
        return np.asarray((is_nearest & self.labels[asked]).sum(1) / is_nearest.sum(1))


Outsider = Callable[[Overheard, Ints, Ints], Floats]
"""Function from heard rounds, indices of observed rounds and of rounds to answer, to the accuracy in the latter."""


def compared(
    language: Sequence[Overheard], number: int, seed: int, outsiders: Mapping[str, Outsider]
) -> tuple[Floats, dict[str, float]]:
    """Accuracy of partners minus the best outsiders', (num_meanings,), and the mean accuracy of each by name.

    `language` has the same rounds with the messages of each sender; outsiders observe at most `number` rounds.
    """
    rng = np.random.default_rng([seed, *b"outsiders"])
    distinct, meaning = np.unique(language[0].targets, return_inverse=True)
    fold = (rng.permutation(len(distinct)) % FOLDS)[meaning]
    table = {name: np.zeros((len(language), len(fold))) for name in ("partner", "best", *outsiders)}
    for place in range(FOLDS):
        is_held, is_tried = fold == place, fold == (place + 1) % FOLDS
        observed = rng.permutation(np.flatnonzero(~(is_held | is_tried)))[:number]
        asked = np.flatnonzero(is_held | is_tried)
        for row, heard in enumerate(language):
            found = {name: outsider(heard, observed, asked) for name, outsider in outsiders.items()}
            tried = {name: float(each[is_tried[asked]].mean()) for name, each in found.items()}
            found |= {"best": found[max(tried, key=tried.__getitem__)], "partner": heard.accuracy[asked]}
            for name, accuracy in found.items():
                table[name][row, is_held] = accuracy[is_held[asked]]
    means = {name: np.bincount(meaning, each.mean(0)) / np.bincount(meaning) for name, each in table.items()}
    return means["partner"] - means["best"], {name: float(each.mean()) for name, each in means.items()}


def _guess(heard: Overheard, observed: Ints, asked: Ints) -> Floats:
    return np.full(len(asked), 1 / heard.labels.shape[1])


def _linear(heard: Overheard, observed: Ints, asked: Ints) -> Floats:
    symbols, both = np.where(heard.symbols > 0, heard.symbols, 0), np.concatenate([observed, asked])
    counts = (symbols[..., None] == np.arange(1, heard.vocab_size + 1)).sum(1)
    products = 1.0 + counts[both] @ counts[observed].T
    for column in symbols.T:  # one input per position
        products += (column[both, None] == column[observed]) & (column[observed] > 0)
    number = len(observed)
    own, centred = products[:number], np.eye(number) - 1 / number
    penalty = RIDGE * np.trace(own) / number * np.eye(number)
    return heard.chosen(
        asked, observed, products[number:] @ np.linalg.solve(own + penalty, centred) + 1 / number
    )


def _nearest(heard: Overheard, observed: Ints, asked: Ints) -> Floats:
    from ecsuite.eval.metrics.topsim import edit_distance

    is_content = heard.symbols > 0
    texts = Ragged.from_lengths(heard.symbols[is_content].astype(np.int32), is_content.sum(1))
    edits = edit_distance(texts, "none")(np.repeat(asked, len(observed)), np.tile(observed, len(asked)))
    edits = edits.reshape(len(asked), -1)
    is_nearest = edits == edits.min(1, keepdims=True)
    return heard.chosen(asked, observed, is_nearest / is_nearest.sum(1, keepdims=True))


COUNTING: Mapping[str, Outsider] = {"guess": _guess, "linear": _linear, "nearest": _nearest}
"""Outsiders that are not trained."""


def _fresh_receiver(run: "Run", seed: int) -> "Listener":
    from ecsuite.runtime.randomness import initial_weights

    with initial_weights(seed):
        listener = run.players.make_pair().eval().listener
    return listener.to(run.players.device).requires_grad_(requires_grad=True)


def _fresh_receiver_accuracy(run: "Run", seed: int, heard: Overheard, observed: Ints, asked: Ints) -> Floats:
    import torch

    from ecsuite.games.players.learning import as_message
    from ecsuite.games.tasks.tasks import Truth
    from ecsuite.games.tasks.views import View
    from ecsuite.runtime.devices import fixed_threads

    listener, rng = _fresh_receiver(run, seed), np.random.default_rng([seed, *b"order"])
    optimizer = torch.optim.Adam(listener.parameters(), lr=RATE)

    def sent(array: NDArray[Any]) -> "Tensor":
        return torch.from_numpy(np.ascontiguousarray(array)).to(listener.device)

    def answers(rows: Ints) -> "tuple[Tensor, Tensor]":
        used, seen = np.unique(heard.candidates[rows], return_inverse=True)
        places = sent(seen.reshape(len(rows), -1))
        view = View(features=heard.objects[sent(used)], num_seen=places.shape[1], indices=places)
        answer, ends = listener.response(as_message(sent(heard.symbols[rows].T)), view, None)
        output = listener.task(answer, Truth(labels=sent(heard.labels[rows]), values=None))
        return (ends * output.loss).sum(0).mean(), (ends * output.measures["accuracy"]).sum(0)

    with fixed_threads(1), torch.enable_grad():  # sums depend on the number of threads
        for _ in range(UPDATES):
            loss, _ = answers(rng.choice(observed, min(BATCH, len(observed)), replace=False))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if float(loss.detach()) < LEAST_LOSS:
                break
        with torch.no_grad():
            return np.asarray(answers(asked)[1].double().cpu().numpy())


def _undefined(pair: "Pair") -> str | None:
    """Reason why covertness is undefined for a pair; None if it is defined."""
    from ecsuite.games.tasks.tasks import Discrimination

    rounds, is_choice = pair.world.rounds, isinstance(pair.task, Discrimination)
    reasons = {
        "the words of this channel are values": pair.channel.is_of_values,
        "in this task receivers do not choose one target among candidates": not is_choice
        or rounds.num_targets > 1,
        "rounds have different numbers of candidates": rounds.fewest_distractors is not None,
        "messages meet noise in evaluations": pair.speaker.has_noise[1],
        "the sender of this game sees several objects": rounds.sender_sees_all,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def overheard(run: "Run", most: int) -> list[Overheard]:
    """At most `most` rounds of validation, with the messages of each sender."""
    import torch

    from ecsuite.games.channels.noise import noise_generator
    from ecsuite.games.players.learning import filled
    from ecsuite.games.plays.evaluation import spoken_rounds

    players, world, experiment = run.players.eval(), run.pair.world, run.experiment
    batches, mode, device = list[Any](), experiment.evaluation.mode, players.device
    said, right = ([list[Any]() for _ in players.senders] for _ in range(2))
    with torch.inference_mode():
        for spoken in spoken_rounds(players, world, "valid", mode):
            shape = spoken.batch.labels.shape
            if spoken.first >= most or (batches and shape[1:] != batches[0].labels.shape[1:]):
                break  # the last batch may have fewer candidates
            batches.append(spoken.batch)
            noise = noise_generator(experiment.training.seed, "valid", spoken.first, device)
            played = players.understood(spoken.rounds, mode, noise, messages=spoken.messages)
            outputs = [(number, each) for (number, _), _, each in played]
            for sender in range(len(said)):
                own = [each for number, each in outputs if number == sender]
                said[sender].append(filled(own[0].message.symbols, players.channel.max_len + 1).t())
                right[sender].append(
                    torch.stack([each.measures["accuracy"].double() for each in own]).mean(0)
                )
    objects = np.concatenate([batch.objects for batch in batches])
    flat = objects.reshape(len(objects), -1)
    _, first, label = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    starts = np.cumsum([0, *(len(batch.objects) for batch in batches)])
    rows = [start + batch.candidate_indices() for start, batch in zip(starts, batches, strict=False)]
    features = world.features(torch.from_numpy(np.ascontiguousarray(objects[first])), torch.float32)
    return [
        Overheard(
            symbols=torch.cat(symbols)[:most].cpu().numpy(),
            vocab_size=players.channel.symbol_size - 1,
            objects=features.to(device),
            candidates=label.ravel()[np.concatenate(rows)[:most]],
            labels=np.concatenate([batch.labels for batch in batches])[:most],
            accuracy=torch.cat(accuracy)[:most].cpu().numpy(),
        )
        for symbols, accuracy in zip(said, right, strict=True)
    ]
