"""End to end: how much of a language survives when those who were taught it go on together.

A receiver and a sender are taught the same language, each to the target. Then both train end to end over a channel, and
their accuracy in the original language is measured: at the end (Perkins 2021, Table 18) and all along (figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from ecsuite.agents.parameters import published_parameters
from ecsuite.agents.spec import Role, parse_agent
from ecsuite.config import ConfigError, look_up
from ecsuite.eval.icy.budget import BASIS, teaching
from ecsuite.eval.icy.course import Run
from ecsuite.eval.icy.links import Link, parse_link
from ecsuite.eval.icy.pairs import train_pair
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_budget import published_pair
from ecsuite.eval.icy.statistics import mean_and_half_width
from ecsuite.eval.icy.workshop import Job, Workshop
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import language, majority_accuracy, parse

VERSION = 1
"""Raised whenever the same inputs would give other figures than before."""

GRAMMARS = ("concat", "perm", "rot", "shufdet", "pairsum")
"""The columns of Table 18."""

MEASURES = {
    "sender": "the sender's symbols, by the original language",
    "receiver": "the receiver's answers to the original language",
    "end_to_end": "its answers to the sender over the channel, mean of the last updates",
    "greedy": "its answers to the sender's likeliest symbols",
}
"""Accuracies at the end, 0 to 1."""

Supervision = Literal["soft", "same"]

SUPERVISIONS: dict[Supervision, str] = {
    "soft": "by cross-entropy",
    "same": "over the channel that joins them afterwards",
}
"""How agents are taught before they meet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairCell:
    """One pair on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """One a seed: seed, taught (by role: steps, reached, accuracy), reason; without a reason what `train_pair` gives."""
    figures: Mapping[str, tuple[float, float | None] | None]
    """Each of `MEASURES`: mean and half of its 95 % interval, over the runs that were made; None if none was."""
    num_masked: int
    """Runs that were not made, because an agent was not taught to the target."""
    floors: Mapping[str, float]
    """Accuracy that needs no learning, of sender and receiver."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRow:
    """One pair over one channel."""

    sender: str
    receiver: str
    channel: str
    parameters: Mapping[Role, int]
    """As the paper counts them."""
    seeds: tuple[int, ...]
    max_steps: int
    """Updates end to end."""
    cells: tuple[PairCell, ...]
    signature: str
    """Everything that can change the figures."""
    published: Mapping[str, float]
    """The paper's accuracies after 10,000 updates, the sender's or the receiver's, where it has any."""

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return asdict(self)


def end_to_end_rows(
    pairs: Sequence[tuple[str, str]],
    *,
    geometry: Geometry,
    seeds: Sequence[int],
    protocol: Protocol,
    workshop: Workshop,
    grammars: Sequence[str] = GRAMMARS,
    channels: Sequence[str] = ("reinforce",),
    max_steps: int = 10_000,
    target: float = 0.99,
    supervised: Supervision = "soft",
    max_supervised_steps: int = 20_000,
    device: str = "cpu",
) -> list[PairRow]:
    """Teach each agent each language, then train the pairs end to end.

    Args:
        pairs: Sender and receiver, names and options.
        geometry: Of the languages.
        seeds: Of languages, weights, batches and noise.
        protocol: How supervision is measured, and how all are trained; `cap_ratio` times the updates that the slower
            of a pair took for CONCAT end the supervision in other grammars.
        workshop: Where it is done.
        grammars: Languages.
        channels: Between sender and receiver, see `ecsuite.eval.icy.links`.
        max_steps: Updates end to end.
        target: Accuracy that ends supervision, 0 to 1; pairs of which one has not come to it are masked.
        supervised: How they are taught, a key of `SUPERVISIONS`.
        max_supervised_steps: Updates after which the supervision in CONCAT is given up.
        device: cpu or cuda.

    Returns:
        A row for each channel and pair, pairs changing faster.

    Raises:
        ConfigError: If a name or number is wrong; nothing has been trained then.
    """
    if not 0 < target <= 1:
        raise ConfigError(f"target: expected an accuracy above 0 and at most 1, got {target:g}")
    for name, number in (("max-steps", max_steps), ("max-supervised-steps", max_supervised_steps)):
        if number < 1:
            raise ConfigError(f"{name}: expected at least 1, got {number}")
    if not seeds:
        raise ConfigError("seeds: expected at least one")
    look_up("kind of supervision", supervised, {str(key): value for key, value in SUPERVISIONS.items()})
    named = [
        (str(parse_agent("sender", sender)), str(parse_agent("receiver", receiver)))
        for sender, receiver in pairs
    ]
    if any(sender == "hashtable" for sender, _ in named):
        raise ConfigError("hashtable has no weights to train end to end; name another sender")
    for grammar in grammars:
        parse(grammar)
    links = [parse_link(channel) for channel in channels]
    how = replace(protocol, target=target, early_verdict=False)
    school = _School(geometry, how, workshop, device)
    kinds = list(product(links, named))

    asked = [
        (_Pupil(role, model, _taught_over(link, supervised)), BASIS, seed, max_supervised_steps)
        for link, pair in kinds
        for role, model in _by_role(pair)
        for seed in seeds
    ]
    school.teach(asked)
    # What a grammar may take: `cap_ratio` times what the slower of the pair took for CONCAT with the same seed.
    caps: dict[tuple[Link, tuple[str, str], int], int] = {}
    for (link, pair), seed in product(kinds, seeds):
        both = [
            school.outcome(
                _Pupil(role, model, _taught_over(link, supervised)), BASIS, seed, max_supervised_steps
            )
            for role, model in _by_role(pair)
        ]
        if all(outcome["reached"] for outcome in both):
            caps[link, pair, seed] = int(how.cap_ratio * max(outcome["steps"] for outcome in both))
    school.teach(
        [
            (_Pupil(role, model, _taught_over(link, supervised)), grammar, seed, cap)
            for (link, pair, seed), cap in caps.items()
            for role, model in _by_role(pair)
            for grammar in grammars
            if grammar != BASIS
        ]
    )

    runs: dict[tuple[Link, tuple[str, str], str, int], dict[str, Any]] = {}
    jobs: list[tuple[tuple[Link, tuple[str, str], str, int], Job]] = []
    for (link, pair), grammar, seed in product(kinds, grammars, seeds):
        over = _taught_over(link, supervised)
        cap = max_supervised_steps if grammar == BASIS else caps.get((link, pair, seed))
        place = (link, pair, grammar, seed)
        if cap is None:
            reason = f"{BASIS} was not learnt to {target:g} within {max_supervised_steps} updates"
            runs[place] = {"seed": seed, "taught": None, "reason": reason}
            continue
        taught = {
            role: school.outcome(_Pupil(role, model, over), grammar, seed, cap)
            for role, model in _by_role(pair)
        }
        said = {
            role: {key: outcome[key] for key in ("steps", "reached", "accuracy")}
            for role, outcome in taught.items()
        }
        failed = [
            f"the {role} came to {outcome['accuracy']:.3f} of {target:g} in {outcome['steps']} updates"
            for role, outcome in taught.items()
            if not outcome["reached"]
        ]
        runs[place] = {"seed": seed, "taught": said, "reason": " and ".join(failed) or None}
        if not failed:
            jobs.append((place, _pair_job(place, geometry, how, max_steps, device, over, cap, taught)))
    for (place, _), result in zip(jobs, workshop.run([job for _, job in jobs]), strict=True):
        runs[place] |= result

    floors = {grammar: _floors(grammar, geometry, seeds) for grammar in grammars}
    about = [str(geometry), f"grammars:{GRAMMARS_VERSION}", f"seeds:{','.join(map(str, seeds))}"]
    about += [
        f"supervised:{supervised}",
        f"max-supervised-steps:{max_supervised_steps}",
        f"max-steps:{max_steps}",
    ]
    about += [how.signature(), f"end-to-end:{VERSION}"]
    return [
        PairRow(
            sender=pair[0],
            receiver=pair[1],
            channel=str(link),
            parameters={
                role: _parameters(model, role, geometry, how.hidden_size) for role, model in _by_role(pair)
            },
            seeds=tuple(seeds),
            max_steps=max_steps,
            cells=tuple(
                _cell(grammar, [runs[link, pair, grammar, seed] for seed in seeds], floors[grammar], how)
                for grammar in grammars
            ),
            signature="|".join(
                ["icy-end-to-end", f"sender:{pair[0]}", f"receiver:{pair[1]}", link.signature, *about]
            ),
            published=published_pair(*pair, link.channel) if geometry == Geometry() else {},
        )
        for link, pair in kinds
    ]


@dataclass(frozen=True, slots=True)
class _Pupil:
    """An agent that is taught, and over which channel."""

    role: Role
    model: str
    link: Link


_Ask = tuple[_Pupil, str, int, int]
"""A pupil, a grammar, a seed and a cap."""


class _School:
    """Teaches, and remembers outcomes."""

    def __init__(self, geometry: Geometry, protocol: Protocol, workshop: Workshop, device: str) -> None:
        self.geometry, self.protocol, self.workshop, self.device = geometry, protocol, workshop, device
        self.outcomes: dict[_Ask, Mapping[str, Any]] = {}

    def teach(self, asked: Sequence[_Ask]) -> None:
        """Teach all that is asked, each once."""
        new = list(dict.fromkeys(ask for ask in asked if ask not in self.outcomes))
        results = self.workshop.run([self.job(*ask) for ask in new])
        self.outcomes.update({ask: result[0] for ask, result in zip(new, results, strict=True)})

    def outcome(self, pupil: _Pupil, grammar: str, seed: int, cap: int) -> Mapping[str, Any]:
        """What came of it."""
        return self.outcomes[pupil, grammar, seed, cap]

    def job(self, pupil: _Pupil, grammar: str, seed: int, cap: int) -> Job:
        """The job of teaching."""
        return teaching(
            model=pupil.model,
            role=pupil.role,
            geometry=self.geometry,
            runs=[Run(grammar=grammar, seed=seed, cap=cap)],
            protocol=self.protocol,
            link=pupil.link,
            device=self.device,
            keeps_weights=True,
        )


def _taught_over(link: Link, supervised: Supervision) -> Link:
    return link if supervised == "same" else Link()


def _by_role(pair: tuple[str, str]) -> list[tuple[Role, str]]:
    return [("receiver", pair[1]), ("sender", pair[0])]


def _pair_job(
    place: tuple[Link, tuple[str, str], str, int],
    geometry: Geometry,
    protocol: Protocol,
    max_steps: int,
    device: str,
    over: Link,
    cap: int,
    taught: Mapping[Role, Mapping[str, Any]],
) -> Job:
    link, (sender, receiver), grammar, seed = place
    inputs = {
        "sender": sender,
        "receiver": receiver,
        "geometry": geometry,
        "grammar": grammar,
        "seed": seed,
        "channel": str(link),
        "hears_samples": over.channel == "gumbel",
        "protocol": protocol,
        "max_steps": max_steps,
        "device": device,
        "sender_weights": taught["sender"]["weights"],
        "receiver_weights": taught["receiver"]["weights"],
    }
    key = {
        "what": "end-to-end",
        "sender": sender,
        "receiver": receiver,
        "geometry": str(geometry),
        "grammar": [grammar, GRAMMARS_VERSION],
        "seed": seed,
        "channel": link.signature,
        "taught": [over.signature, cap],
        "protocol": protocol.signature(),
        "max_steps": max_steps,
        "device": device,
        "version": VERSION,
    }
    return Job(function=train_pair, inputs=inputs, key=key, work=max_steps)


def make_table(rows: Sequence[PairRow]) -> Table:
    """Rows for people: accuracies at the end, mean ± half of the 95 % interval, and faint the paper's."""
    table = Table(pad_edge=False, show_lines=True)
    table.add_column("sender, receiver", no_wrap=True)
    table.add_column("accuracy", no_wrap=True)
    for cell in rows[0].cells:
        table.add_column(cell.grammar.upper(), justify="right", no_wrap=True)
    for row in rows:
        name = Text.assemble(
            f"{row.sender}\n{row.receiver}", (f"\nover {row.channel}\n{row.max_steps:,} updates", "dim")
        )
        labels = Text("\n".join(name.replace("_", " ") for name in MEASURES))
        if row.published:
            labels.append("\npaper", "dim")
        table.add_row(name, labels, *(_cell_text(cell, row) for cell in row.cells))
    for role, what in (("sender", "commonest symbol"), ("receiver", "a guess")):
        table.add_row(what, role, *(f"{cell.floors[role]:.3f}" for cell in rows[0].cells), style="dim")
    return table


def notes(rows: Sequence[PairRow]) -> list[str]:
    """What a reader of the table has to know."""
    seeds = rows[0].seeds
    count = f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
    lines = [
        f"{count} ({span}). "
        + "; ".join(f"{name.replace('_', ' ')}: {what}" for name, what in MEASURES.items())
    ]
    for row in rows:
        for cell in row.cells:
            reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
            if reasons:
                who = f"{row.sender} and {row.receiver} over {row.channel}, {cell.grammar.upper()}"
                lines.append(f"{who}: {cell.num_masked} of {len(cell.runs)} masked ({'; '.join(reasons)}).")
    return [*lines, *(row.signature for row in rows)]


def _cell_text(cell: PairCell, row: PairRow) -> Text:
    texts = []
    for name in MEASURES:
        figure = cell.figures[name]
        if figure is None:
            texts.append(Text("masked", "dim"))
        else:
            spread = "" if figure[1] is None else f" ± {figure[1]:.3f}"
            texts.append(Text(f"{figure[0]:.3f}{spread}"))
    if row.published:
        value = row.published.get(cell.grammar)
        texts.append(Text("" if value is None else f"{value:.3f}", "dim"))
    return Text("\n").join(texts)


def _cell(
    grammar: str, runs: Sequence[Mapping[str, Any]], floors: Mapping[str, float], protocol: Protocol
) -> PairCell:
    made = [run for run in runs if run["reason"] is None]
    figures = {
        name: mean_and_half_width([run[name] for run in made], published=protocol.name == "paper")
        if made
        else None
        for name in MEASURES
    }
    return PairCell(
        grammar=grammar, runs=tuple(runs), figures=figures, num_masked=len(runs) - len(made), floors=floors
    )


def _floors(grammar: str, geometry: Geometry, seeds: Sequence[int]) -> dict[str, float]:
    commonest = [majority_accuracy(language(grammar, geometry, seed).messages) for seed in seeds]
    return {"sender": sum(commonest) / len(commonest), "receiver": 1 / geometry.num_values}


def _parameters(model: str, role: Role, geometry: Geometry, hidden_size: int) -> int:
    return published_parameters(
        model,
        role,
        num_attributes=geometry.num_attributes,
        num_values=geometry.num_values,
        vocab_size=geometry.vocab_size,
        length=geometry.message_length,
        hidden=hidden_size,
    )
