"""Language of a run's agents for some objects: messages of the sender, and scores of the receiver.

A study stores it with the answers, so that results can be computed and exported without the run.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.grammars.words import stream
from ecsuite.people.pictures import as_png, can_be_drawn, draw, name_of
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

MAX_OBJECTS = 64
"""Maximum number of objects in a study; from larger worlds, a random sample of this size is used."""
MIN_OBJECTS = 8
"""Minimum number of objects; half of them are held out."""
MAX_CANDIDATES, USUAL_DISTRACTORS = 6, 3
"""Maximum number of candidates; number of distractors if the agents' game has no candidates."""
MAX_ROUNDS = 4096
"""Number of rounds of the run's corpus that are searched for objects."""
NOTHING = "-"
"""A message without symbols."""
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"
"""Letters of the syllables that represent symbols if there are more symbols than letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentsLanguage:
    """A trained language for some objects."""

    run: str
    """The run folder."""
    weights: str
    """SHA-256 of the agents' weights."""
    names: tuple[str, ...]
    """Description of each object in words."""
    values: tuple[tuple[int, ...], ...] | None
    """Attribute values of each object; None for objects without attributes."""
    symbols: tuple[tuple[int, ...], ...]
    """Message of the sender about each object, without EOS."""
    scores: tuple[tuple[float, ...], ...]
    """Scores of the receiver, (object of the message, candidate object)."""
    vocab_size: int
    """Number of symbols."""
    min_len: int
    """Minimum length of a message in symbols."""
    max_len: int
    """Maximum length of a message in symbols."""
    num_candidates: int
    """Number of candidates."""
    drawn_by: str
    """Content of pictures: `values` (attributes as colour, shape, number and bar), `images`, or empty (no pictures)."""

    @property
    def width(self) -> int:
        """Number of letters per symbol."""
        if self.vocab_size <= 26:
            return 1
        return 2 if self.vocab_size <= len(CONSONANTS) * len(VOWELS) else 4

    def letter(self, symbol: int) -> str:
        """Letters of a symbol; symbols are numbered from 1."""
        place = symbol - 1
        if self.width == 1:
            return chr(ord("a") + place)
        syllables = []
        for _ in range(self.width // 2):
            place, vowel = divmod(place, len(VOWELS))
            place, consonant = divmod(place, len(CONSONANTS))
            syllables.append(CONSONANTS[consonant] + VOWELS[vowel])
        return "".join(reversed(syllables))

    def text(self, symbols: Sequence[int]) -> str:
        """Letters of a message; a dash for a message without symbols."""
        return "".join(map(self.letter, symbols)) or NOTHING

    def parse(self, typed: str) -> list[int] | None:
        """Parse a typed message into symbols; None if it is not valid."""
        letters, width = "".join(typed.lower().split()), self.width
        if letters == NOTHING:
            return None if self.min_len else []
        symbols = {self.letter(symbol): symbol for symbol in range(1, self.vocab_size + 1)}
        parts = [letters[start : start + width] for start in range(0, len(letters), width)]
        if not max(1, self.min_len) <= len(parts) <= self.max_len or not all(
            part in symbols for part in parts
        ):
            return None
        return [symbols[part] for part in parts]

    @property
    def signature(self) -> str:
        """Everything that determines the language."""
        return (
            f"agents|weights:{self.weights[:12]}|objects:{len(self.names)},candidates:{self.num_candidates}"
        )

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "AgentsLanguage":
        """Read the output of `as_json`."""
        tuples = {key: tuple(map(tuple, content[key])) for key in ("symbols", "scores")}
        values = None if content["values"] is None else tuple(map(tuple, content["values"]))
        return cls(**{**content, **tuples, "names": tuple(content["names"]), "values": values})


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyObjects:
    """The objects of a study in the formats of the run's world."""

    given: NDArray[Any]
    """Inputs of `Run.speak`, (num_objects, *shape)."""
    values: NDArray[np.int64] | None
    """Attribute values, (num_objects, num_attributes); None for objects without attributes."""
    choices: NDArray[Any]
    """Candidates for `Run.scores`."""
    images: NDArray[np.uint8] | None
    """Pixels, (num_objects, height, width, 3); None unless objects are images."""


def read_language(run: "Run", seed: int) -> tuple[AgentsLanguage, StudyObjects]:
    """Compute the language of a run's agents for some of its objects.

    Args:
        run: A run of a game in which the sender sees one object.
        seed: Seed of the sample of objects if there are more than `MAX_OBJECTS`.

    Raises:
        ConfigError: If people can't play this game.
    """
    world, channel = run.pair.world, run.pair.channel
    if world.rounds.sender_sees_all or world.rounds.num_targets > 1:
        raise ConfigError(
            f"{run.folder}: its sender sees several objects: people play games about one object"
        )
    if channel.is_of_values:
        raise ConfigError(
            f"{run.folder}: its channel sends numerical values: people play games with messages of discrete symbols"
        )
    objects = _objects(run, seed)
    symbols = run.speak(objects.given)
    scores = run.scores(symbols, objects.choices)
    digest = hashlib.sha256()
    for name, tensor in sorted(run.players.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    drawn_by = _drawn_by(objects)
    language = AgentsLanguage(
        run=str(run.folder),
        weights=digest.hexdigest(),
        names=_names(objects, world.value_names, drawn_by),
        values=None if objects.values is None else tuple(tuple(map(int, row)) for row in objects.values),
        symbols=tuple(map(tuple, symbols)),
        scores=tuple(tuple(round(float(score), 4) for score in row) for row in scores),
        vocab_size=channel.vocab_size,
        min_len=0 if channel.has_eos else channel.max_len,
        max_len=channel.max_len,
        num_candidates=min(1 + (world.rounds.num_distractors or USUAL_DISTRACTORS), MAX_CANDIDATES),
        drawn_by=drawn_by,
    )
    return language, objects


def _objects(run: "Run", seed: int) -> StudyObjects:
    """Distinct objects of the run's corpus, at most `MAX_OBJECTS`."""
    from ecsuite.games.tasks.tasks import Reconstruction

    world, pair = run.pair.world, run.pair
    targets, values = [], []
    for batch in world.corpus_batches(MAX_ROUNDS):
        targets.append(batch.objects[batch.shown[:, 0]])
        if batch.values is not None:
            values.append(batch.values[batch.shown[:, 0]])
    objects, target_values = np.concatenate(targets), np.concatenate(values) if values else None
    key = objects.reshape(len(objects), -1) if target_values is None else target_values
    first = np.sort(np.unique(key, axis=0, return_index=True)[1])
    if len(first) < MIN_OBJECTS:
        raise ConfigError(
            f"{run.folder}: expected a world with at least {MIN_OBJECTS} objects, got {len(first)}"
        )
    if len(first) > MAX_OBJECTS:
        first = np.sort(stream(seed, "objects").choice(first, MAX_OBJECTS, replace=False))
    is_image = len(world.object_shape) == 3
    if target_values is None and not is_image:
        raise ConfigError(
            f"{run.folder}: its objects are feature vectors, which can't be shown: expected a world of attribute "
            "values or of images"
        )
    chosen_values = None if target_values is None else target_values[first]
    given = chosen_values if chosen_values is not None and world.shows_values else objects[first]
    is_named = isinstance(pair.task, Reconstruction)
    return StudyObjects(
        given=given,
        values=chosen_values,
        choices=chosen_values if is_named and chosen_values is not None else given,
        images=_pixels(objects[first]) if is_image else None,
    )


def _pixels(images: NDArray[Any]) -> NDArray[np.uint8]:
    """Convert images to bytes; floating-point pixels are from 0 to 1."""
    return images if images.dtype == np.uint8 else np.rint(images * 255).clip(0, 255).astype(np.uint8)


def _drawn_by(objects: StudyObjects) -> str:
    if objects.images is not None:
        return "images"
    assert objects.values is not None
    return "values" if can_be_drawn(objects.values.max(0) + 1) else ""


def _names(objects: StudyObjects, value_names: Sequence[Sequence[str]], drawn_by: str) -> tuple[str, ...]:
    """Describe each object in words: by its picture, the names of its values, or its number."""
    if objects.values is None:
        return tuple(f"picture {number + 1}" for number in range(len(objects.given)))
    if drawn_by == "values":
        return tuple(map(name_of, objects.values))
    is_plain = value_names[0][0].startswith("attribute")
    if is_plain and len(value_names) <= len(ascii_uppercase):
        return tuple(
            " ".join(f"{ascii_uppercase[place]}{value}" for place, value in enumerate(row))
            for row in objects.values
        )
    return tuple(
        ", ".join(of[value].replace("=", " ") for of, value in zip(value_names, row, strict=True))
        for row in objects.values
    )


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """The trained agents of a study."""

    run: "Run"
    language: AgentsLanguage
    objects: StudyObjects
    """The objects of the language."""

    def hears(self, symbols: Sequence[int]) -> NDArray[Any]:
        """Scores of the receiver for all objects, given a message."""
        (scores,) = self.run.scores([list(symbols)], self.objects.choices)
        return np.asarray(scores)

    def pictures(self) -> Callable[[int], bytes] | None:
        """Function from the number of an object to its picture as PNG; None if there are no pictures."""
        if self.language.drawn_by == "images" and self.objects.images is not None:
            return [as_png(np.asarray(pixels)) for pixels in self.objects.images].__getitem__
        if self.language.drawn_by == "values" and self.language.values is not None:
            return [draw(values) for values in self.language.values].__getitem__
        return None


def load_run_of_study(study: Study) -> TrainedRun:
    """Load the agents of a study and their language.

    Raises:
        ConfigError: If the run does not exist, or people can't play its game.
    """
    from ecsuite.games.runs.run import load_run
    from ecsuite.people.rounds import is_of_rounds

    run = load_run(Path(study.run))
    if is_of_rounds(run.experiment):
        game = RunFolder(Path(study.run)).config
        raise ConfigError(f"{study.run}: agents who play rounds are met in their game: expected {game}")
    language, objects = read_language(run, study.seed)
    return TrainedRun(run=run, language=language, objects=objects)
