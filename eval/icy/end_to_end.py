"""End to end: how much of a language survives when those who were taught it go on together.

A receiver and a sender are taught the same language, each to the target. Then both train end to end over a channel, and
their accuracy in the original language is measured: at the end (Perkins 2021, Table 18) and all along (figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.agents.spec import Role, parse_agent
from ecsuite.config import ConfigError, look_up
from ecsuite.eval.icy.budget import parameters_of
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.pairs import train_pair
from ecsuite.eval.icy.pretraining import PretrainedAgents, SenderReceiverPair, pretrain
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_budget import published_pair
from ecsuite.eval.icy.supervised import VERSION as TEACHING_VERSION
from ecsuite.eval.statistics.t_intervals import mean_and_half_width, seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import language, majority_accuracy, parse
from ecsuite.jobs.runner import Job, JobRunner

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

PUBLISHED_STEPS = 10_000
"""Updates end to end in Table 18."""

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
    """One a seed: seed, taught (steps, reached, accuracy by role), reason; without a reason what `train_pair` gives."""
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
    runner: JobRunner,
    grammars: Sequence[str] = GRAMMARS,
    channels: Sequence[str] = ("reinforce",),
    max_steps: int = PUBLISHED_STEPS,
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
        runner: Where it is done.
        grammars: Languages.
        channels: Between sender and receiver, see `ecsuite.eval.icy.channels`.
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
    links = [parse_channel(channel) for channel in channels]
    how = replace(protocol, target=target, early_verdict=False)
    agent_pairs = [
        SenderReceiverPair(
            sender=sender,
            receiver=receiver,
            link=link,
            taught_over=link if supervised == "same" else SupervisedChannel(),
        )
        for link in links
        for sender, receiver in named
    ]
    pretrained = pretrain(
        agent_pairs,
        grammars,
        seeds,
        geometry=geometry,
        protocol=how,
        max_steps=max_supervised_steps,
        device=device,
        runner=runner,
    )
    ready = {place: taught for place, taught in pretrained.items() if taught.reason is None}
    jobs = [_job(*place, taught, geometry, how, max_steps, device) for place, taught in ready.items()]
    trained = dict(zip(ready, runner.run(jobs), strict=True))

    runs = {
        place: {
            "seed": place[2],
            "taught": taught.to_json(),
            "reason": taught.reason,
            **trained.get(place, {}),
        }
        for place, taught in pretrained.items()
    }
    floors = {grammar: _floors(grammar, geometry, seeds) for grammar in grammars}
    about = [str(geometry), f"grammars:{GRAMMARS_VERSION}", f"seeds:{','.join(map(str, seeds))}"]
    about += [f"supervised:{supervised}", f"max-supervised-steps:{max_supervised_steps}"]
    about += [f"max-steps:{max_steps}", how.signature(), f"end-to-end:{VERSION}|teaching:{TEACHING_VERSION}"]
    return [
        PairRow(
            sender=pair.sender,
            receiver=pair.receiver,
            channel=str(pair.link),
            parameters={
                role: parameters_of(model, role, geometry, how.hidden_size)
                for role, model in pair.by_role().items()
            },
            seeds=tuple(seeds),
            max_steps=max_steps,
            cells=tuple(
                _cell(grammar, [runs[pair, grammar, seed] for seed in seeds], floors[grammar], how)
                for grammar in grammars
            ),
            signature="|".join(
                [
                    f"icy-end-to-end|sender:{pair.sender}|receiver:{pair.receiver}",
                    pair.link.signature,
                    *about,
                ]
            ),
            published=(
                published_pair(pair.sender, pair.receiver, pair.link.channel)
                if geometry == Geometry()
                else {}
            ),
        )
        for pair in agent_pairs
    ]


def _job(
    pair: SenderReceiverPair,
    grammar: str,
    seed: int,
    taught: PretrainedAgents,
    geometry: Geometry,
    protocol: Protocol,
    max_steps: int,
    device: str,
) -> Job:
    inputs = {
        "sender": pair.sender,
        "receiver": pair.receiver,
        "geometry": geometry,
        "grammar": grammar,
        "seed": seed,
        "channel": str(pair.link),
        "hears_samples": pair.taught_over.channel == "gumbel",
        "protocol": protocol,
        "max_steps": max_steps,
        "device": device,
        "sender_weights": taught.outcomes["sender"]["weights"],
        "receiver_weights": taught.outcomes["receiver"]["weights"],
    }
    key = {
        "what": "end-to-end",
        "sender": pair.sender,
        "receiver": pair.receiver,
        "geometry": str(geometry),
        "grammar": [grammar, GRAMMARS_VERSION],
        "seed": seed,
        "channel": pair.link.signature,
        "taught": [pair.taught_over.signature, taught.cap],
        "protocol": protocol.signature(),
        "max_steps": max_steps,
        "device": device,
        "version": [VERSION, TEACHING_VERSION],
    }
    return Job(function=train_pair, inputs=inputs, key=key, work=max_steps)


def make_table(rows: Sequence[PairRow]) -> Table:
    """Rows for people: accuracies at the end, mean ± half of the 95 % interval, and faint the paper's."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_lines=True)
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
            after = "" if row.max_steps == PUBLISHED_STEPS else f", {PUBLISHED_STEPS:,}"
            labels.append(f"\npaper{after}", "dim")
        table.add_row(name, labels, *(_cell_text(cell, row) for cell in row.cells))
    for role, what in (("sender", "commonest symbol"), ("receiver", "a guess")):
        table.add_row(what, role, *(f"{cell.floors[role]:.3f}" for cell in rows[0].cells), style="dim")
    return table


def notes(rows: Sequence[PairRow]) -> list[str]:
    """What a reader of the table has to know."""
    lines = [
        f"{seeds_text(rows[0].seeds)}. "
        + "; ".join(f"{name.replace('_', ' ')}: {what}" for name, what in MEASURES.items())
    ]
    for row in rows:
        for cell in row.cells:
            who = f"{row.sender} and {row.receiver} over {row.channel}, {cell.grammar.upper()}"
            reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
            if reasons:
                lines.append(f"{who}: {cell.num_masked} of {len(cell.runs)} masked ({'; '.join(reasons)}).")
            held_out = [run["held_out"] for run in cell.runs if run.get("held_out") is not None]
            if held_out:
                lines.append(f"{who}, greedy on held-out meanings: {sum(held_out) / len(held_out):.3f}.")
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
