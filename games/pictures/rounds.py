"""Pictures and texts of the rounds of a game.

A contact sheet shows rounds on one page, targets above distractors (CBM paper, figure 3).
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.config.sections import Experiment, with_training
from ecsuite.games.plays.play import play_class
from ecsuite.games.worlds.world import Batch, World, make_world
from ecsuite.runtime.errors import ConfigError, missing_extra, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
"""File formats of a sheet."""
PER_LINE = 10
"""Number of objects per line."""
MIN_COLUMNS = 4
"""Minimum width of a page in objects, so that headings fit."""
SIDE = 1.0
"""Width of an object on the page, in inches."""
MIN_HEIGHT = 0.75
"""Minimum height of a line of objects, in inches, so that its rotated label fits."""
GAP = 0.0625
"""Space between objects, in inches: 8 pixels; an object is 128 pixels wide."""
MARGIN = 0.25
"""Page margin and space between its parts, in inches."""
PIXELS_PER_INCH = 128
"""Twice the side of an image, so that each image pixel becomes a sharp 2 x 2 square."""
SMALL, LARGE = 7.0, 10.0
"""Font sizes of attribute values and of headings, in points (72 per inch)."""
LETTER_WIDTH = 0.75
"""Typical letter width of a heading relative to the font size."""
LINE = 1.35
"""Line height relative to the font size."""
LEFT = 0.625
"""Left edge of the objects, in inches."""
BAR = 0.5
"""Horizontal position of the bar next to a group of objects, in inches."""
TARGET_COLOUR, DISTRACTOR_COLOUR = "#009E73", "#D55E00"
"""Colours from the palette of Okabe and Ito, which is suitable for colour-blind readers."""
MAX_NUMBERS = 4
"""Maximum number of values of a feature vector shown as text."""
MAX_VALUE = 15
"""Maximum number of characters of a value in the table of an object."""
MAX_HEIGHT = 400.0
"""Maximum height of a page that matplotlib draws reliably, in inches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownRound:
    """A round of a game to draw."""

    objects: NDArray[Any]
    """Pictures, uint8 (num_objects, height, width, 3), or attribute values, integers (num_objects, num_attributes)."""
    labels: NDArray[np.bool_]
    """Whether each object is a target, (num_objects,)."""
    title: str = ""
    """Text above the round."""
    names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute, such as `color=red`; empty: `attribute0=3`."""

    def text(self, index: int) -> str:
        """Text of an object that is not an image: its values, or the first numbers of its vector."""
        values = self.objects[index].tolist()
        if self.objects.dtype.kind in "iu":
            return "  ".join(self.value_name(place, value) for place, value in enumerate(values))
        more = f" ... ({len(values)} numbers)" if len(values) > MAX_NUMBERS else ""
        return " ".join(f"{value:.3g}" for value in values[:MAX_NUMBERS]) + more

    def value_name(self, attribute: int, value: int) -> str:
        """Name of a value."""
        return self.names[attribute][value] if self.names else f"attribute{attribute}={value}"


def draw_rounds(
    rounds: Sequence[ShownRound],
    *,
    title: str = "",
    format: Literal["png", "svg"] = "png",  # noqa: A002 (matplotlib's own word)
) -> bytes:
    """Draw rounds one above another as png or svg, targets above distractors.

    Objects that are attribute values become small tables, `attribute0=3` for value 3 of the first attribute; the
    values that all targets of a round share are bold, also in its distractors.

    Returns:
        Content of the image file; equal rounds give equal bytes.

    Raises:
        ConfigError: If matplotlib is not installed, or the rounds can't be drawn.
    """
    if format not in FORMATS:
        raise unknown_name("picture format", format, FORMATS)
    figure = lay_out(rounds, title)
    from matplotlib import rc_context

    buffer = BytesIO()
    # By default, ids in an SVG are random, and its images are merged into one image of lower resolution.
    with rc_context({"svg.hashsalt": "ecsuite", "image.composite_image": False}):
        figure.savefig(buffer, format=format, metadata={"Software" if format == "png" else "Date": None})
    return buffer.getvalue()


def lay_out(rounds: Sequence[ShownRound], title: str) -> "Figure":
    """Lay out rounds on a page; see `draw_rounds`."""
    try:
        from matplotlib.figure import Figure  # not pyplot, which has global state and may need a display
    except ImportError:
        raise missing_extra("a picture needs matplotlib", "plots") from None

    for shown in rounds:
        objects = shown.objects
        if objects.ndim != 4 and (objects.ndim != 2 or objects.dtype.kind not in "iu"):
            raise ConfigError(
                f"a contact sheet shows pictures or attribute values, but these objects are {objects.dtype} of shape "
                f"{objects.shape[1:]}: leave out --plot to see them as text"
            )
    most = max((max(shown.labels.sum(), (~shown.labels).sum()) for shown in rounds), default=0)
    if not most:
        raise ConfigError("a contact sheet needs a round with an object")
    width = LEFT + min(max(most, MIN_COLUMNS), PER_LINE) * (SIDE + GAP) - GAP + MARGIN
    figure = Figure(dpi=PIXELS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    bottom = draw_heading(axes, title, MARGIN, width, weight="bold")
    for shown in rounds:
        bottom = draw_round(axes, shown, bottom, width)
        if bottom > MAX_HEIGHT:
            raise ConfigError(f"a contact sheet of {len(rounds)} rounds is too long to draw: show fewer")
    figure.set_size_inches(width, bottom)
    axes.set_xlim(0, width)
    axes.set_ylim(bottom, 0)
    return figure


# Coordinates are in inches from the top left corner of the page; each function returns the bottom of its drawing.


def draw_round(axes: "Axes", shown: ShownRound, top: float, width: float) -> float:
    """Draw a round and its title."""
    top = draw_heading(axes, shown.title, top, width, weight="normal")
    for name, colour, members in (
        ("targets", TARGET_COLOUR, np.flatnonzero(shown.labels)),
        ("distractors", DISTRACTOR_COLOUR, np.flatnonzero(~shown.labels)),
    ):
        if not len(members):
            continue
        bottom = top
        for start in range(0, len(members), PER_LINE):
            bottom = draw_line(axes, shown, members[start : start + PER_LINE], bottom)
        axes.plot([BAR, BAR], [top, bottom - GAP], color=colour, linewidth=2.5, solid_capstyle="butt")
        middle = (top + bottom - GAP) / 2
        axes.text(BAR - GAP, middle, name, fontsize=SMALL, rotation=90, ha="right", va="center", color=colour)
        top = bottom + GAP
    return top + MARGIN - GAP


def draw_line(axes: "Axes", shown: ShownRound, members: NDArray[np.int64], top: float) -> float:
    """Draw one line of objects."""
    bottom_of_line = top + MIN_HEIGHT
    for column, thing in enumerate(shown.objects[members]):
        left = LEFT + column * (SIDE + GAP)
        if thing.ndim == 3:
            bottom = top + SIDE * len(thing) / len(thing[0])
            axes.imshow(thing, extent=(left, left + SIDE, bottom, top), interpolation="none", aspect="auto")
        else:
            bottom = draw_values(axes, thing, shown, left, top)
        bottom_of_line = max(bottom_of_line, bottom)
    # Images begin at integer pixels, so that they are sharp.
    return ceil((bottom_of_line + GAP) * PIXELS_PER_INCH) / PIXELS_PER_INCH


def draw_values(axes: "Axes", values: NDArray[np.int64], shown: ShownRound, left: float, top: float) -> float:
    """Draw an object as a framed table of its attributes; values that all targets share are bold."""
    targets = shown.objects[shown.labels]
    is_shared = (targets == values).all(0) & bool(len(targets))
    bottom = top + GAP
    for attribute, (value, is_bold) in enumerate(zip(values, is_shared, strict=True)):
        font = {"fontsize": SMALL, "family": "monospace", "weight": "bold" if is_bold else "normal"}
        name = shown.value_name(attribute, int(value))
        name = name if len(name) <= MAX_VALUE else name[: MAX_VALUE - 1] + "…"
        bottom = write_line(axes, name, left + GAP, bottom, font)
    frame_x, frame_y = [left, left + SIDE, left + SIDE, left, left], [top, top, bottom, bottom, top]
    axes.plot(frame_x, frame_y, color="0.6", linewidth=0.8)
    return bottom


def draw_heading(axes: "Axes", text: str, top: float, width: float, weight: str) -> float:
    """Write a heading across the page, wrapped to several lines if needed."""
    letters = int((width - 2 * MARGIN) * 72 / (LARGE * LETTER_WIDTH))
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, letters)]
    bottom = top
    for line in lines:
        font = {"fontsize": LARGE, "family": "sans-serif", "weight": weight}
        bottom = write_line(axes, line, MARGIN, bottom, font)
    return bottom + GAP if lines else top


def write_line(axes: "Axes", text: str, left: float, top: float, font: dict[str, Any]) -> float:
    """Write one line."""
    axes.text(left, top, text, va="top", parse_math=False, **font)
    return float(top + font["fontsize"] * LINE / 72)


MAX_ROUNDS = 50
"""Maximum number of rounds."""
MAX_LISTED = 6
"""Maximum number of targets, and of distractors, of a round in text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """The first rounds of a split of a game."""

    heading: str
    """Game, split and seed."""
    rounds: tuple[ShownRound, ...]

    @property
    def has_images(self) -> bool:
        """Whether the objects are images."""
        return self.rounds[0].objects.ndim == 4

    def draw(self, path: Path) -> None:
        """Draw the rounds to a .png or .svg file, targets above distractors.

        Raises:
            ConfigError: If the file has another suffix, matplotlib is missing, or the objects can't be drawn.
        """
        if path.suffix.removeprefix(".") not in FORMATS:
            raise ConfigError(f"{path}: expected the name of a picture, ending in .png or .svg")
        kind = "svg" if path.suffix == ".svg" else "png"
        write_atomically(path, draw_rounds(self.rounds, title=self.heading, format=kind))  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """Rounds as text: a title, and a line per object; titles only if objects are images."""
        lines = [self.heading]
        for shown in self.rounds:
            lines += ["", shown.title]
            if self.has_images:
                continue
            for word, members in (
                ("target", np.flatnonzero(shown.labels)),
                ("distractor", np.flatnonzero(~shown.labels)),
            ):
                lines += [f"  {word:<10}  {shown.text(index)}" for index in members[:MAX_LISTED].tolist()]
                if len(members) > MAX_LISTED:
                    lines.append(f"  {'':<10}  and {len(members) - MAX_LISTED} more {word}s")
        return lines


def make_preview(experiment: Experiment, *, num_rounds: int = 2, split: str = "train") -> Preview:
    """Make a preview of the receiver's candidates in the first rounds of a split.

    Raises:
        ConfigError: If the game can't be made, or an argument is not valid.
    """
    if not play_class(experiment).can_speak:
        raise ConfigError(
            f"{experiment.name}: play {experiment.play.kind} has no rounds of a sender and a receiver to show: train it"
        )
    if not 1 <= num_rounds <= MAX_ROUNDS:
        raise ConfigError(f"--rounds {num_rounds}: expected 1 to {MAX_ROUNDS}")
    # The rounds of a batch may share their objects, so the batch size is as in training unless more rounds are needed.
    size = max(num_rounds, experiment.training.batch_size)
    world = make_world(with_training(experiment, batch_size=size))
    if split not in world.splits:
        raise unknown_name("split", split, world.splits)
    batch = world.as_asked(world.draw(split, 0, size).cut(num_rounds), split, 0)
    present = np.ones_like(batch.labels) if batch.present is None else batch.present
    rounds = zip(batch.candidate_indices(), batch.labels, present, round_titles(world, batch), strict=True)
    return Preview(
        heading=f"{experiment.name}, {split}, seed {experiment.training.seed}",
        rounds=tuple(
            ShownRound(
                objects=batch.objects[candidates[is_there]],
                labels=labels[is_there],
                title=title,
                names=world.value_names if world.num_values is not None else (),
            )
            for candidates, labels, is_there, title in rounds
        ),
    )


def round_titles(world: World, batch: Batch) -> list[str]:
    """Title of each round: its rule, such as `round 1: color=red and shape=circle`, its file, or its number."""
    numbers = range(1, len(batch) + 1)
    if batch.rules is not None and world.rules is not None and "file" in world.rules.columns:
        files = world.rules.columns["file"][batch.rules]
        return [f"round {number}: {file}" for number, file in zip(numbers, files, strict=True)]
    if (
        batch.rules is None
        or world.rules is None
        or world.rules.concepts is None
        or world.rules_are_objects  # such rules have the values of the objects
    ):
        return [f"round {number}" for number in numbers]
    rules = [world.rules.concepts[rule].tolist() for rule in batch.rules.tolist()]
    names = [[world.rules.concept_names[concept] for concept in rule] for rule in rules]
    return [f"round {number}: {rule_text(each)}" for number, each in zip(numbers, names, strict=True)]


def rule_text(names: Sequence[str]) -> str:
    """Join the concepts of a rule to a text, such as `red or circle`."""
    connective = " or " if "or" in names else " and "  # ShapeWorld's rules have it among the concepts
    return connective.join(name for name in names if name not in ("and", "or"))
