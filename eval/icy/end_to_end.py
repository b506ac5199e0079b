"""Protocol `end-to-end`: accuracy in the original language of a pretrained pair after end-to-end training.

A sender and a receiver are pretrained on the same language, each to the target. Then both are trained end to end over a
channel, and their accuracy in the original language is measured: at the end (Perkins 2021, Table 18) and during
training (figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.agents.spec import Role
from ecsuite.config import ConfigError, look_up
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.pairs import train_pair
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.pretraining import PretrainedAgents, SenderReceiverPair, pretrain
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_budget import published_pair
from ecsuite.eval.icy.supervised import VERSION as SUPERVISED_VERSION
from ecsuite.eval.statistics.t_intervals import mean_and_half_width, seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import language, majority_accuracy, parse
from ecsuite.jobs.runner import Job, JobRunner

VERSION = 1
"""Increased whenever the same inputs would give different results than before."""

GRAMMARS = ("concat", "perm", "rot", "shufdet", "pairsum")
"""The columns of Table 18."""

MEASURES = {
    "sender": "the sender's symbols, compared with the original language",
    "receiver": "the receiver's attribute values for messages of the original language",
    "end_to_end": "the receiver's attribute values for the sender's messages, mean of the last updates",
    "greedy": "the receiver's attribute values for the sender's argmax symbols",
}
"""Accuracies at the end, 0 to 1."""

PUBLISHED_STEPS = 10_000
"""Updates end to end in Table 18."""

Supervision = Literal["soft", "same"]

SUPERVISIONS: dict[Supervision, str] = {
    "soft": "by cross-entropy",
    "same": "over the same channel as in end-to-end training",
}
"""How agents are pretrained."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairCell:
    """One pair on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """Per seed: seed, taught (steps, reached, accuracy by role), reason; if it is None, result of `train_pair`."""
    figures: Mapping[str, tuple[float, float | None] | None]
    """Each of `MEASURES`: mean and half-width of its 95 % interval, over the completed runs; None if there are none."""
    num_masked: int
    """Number of runs left out because an agent did not reach the target in pretraining."""
    floors: Mapping[str, float]
    """Accuracy without learning, of sender and receiver."""


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
    """Number of end-to-end updates."""
    cells: tuple[PairCell, ...]
    signature: str
    """Everything that can change the results."""
    published: Mapping[str, float]
    """The paper's accuracies after 10,000 updates, of sender or receiver, if it reports any."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON-serialisable data."""
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
    """Pretrain each agent on each language, then train the pairs end to end.

    Args:
        pairs: Names and options of sender and receiver.
        geometry: Sizes of the languages.
        seeds: Seeds of languages, weights, batches and noise.
        protocol: Protocol of pretraining, and training settings; pretraining on other grammars than CONCAT is limited
            to `cap_ratio` times the updates that the slower agent of the pair needed for CONCAT.
        runner: Runs the jobs.
        grammars: Grammars to train on.
        channels: Channels between sender and receiver, see `ecsuite.eval.icy.channels`.
        max_steps: Number of end-to-end updates.
        target: Accuracy that ends pretraining, 0 to 1; runs in which an agent does not reach it are left out.
        supervised: Method of pretraining, a key of `SUPERVISIONS`.
        max_supervised_steps: Maximum number of pretraining updates on CONCAT.
        device: cpu or cuda.

    Returns:
        A row for each channel and pair, ordered by channel, then pair.

    Raises:
        ConfigError: If a name or number is invalid; raised before any training.
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
        (str(parse_model("sender", sender)), str(parse_model("receiver", receiver)))
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
            pretraining_channel=link if supervised == "same" else SupervisedChannel(),
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
    ready = {key: agents for key, agents in pretrained.items() if agents.reason is None}
    jobs = [_job(*key, agents, geometry, how, max_steps, device) for key, agents in ready.items()]
    trained = dict(zip(ready, runner.run(jobs), strict=True))

    runs = {
        key: {
            "seed": key[2],
            "taught": agents.to_json(),
            "reason": agents.reason,
            **trained.get(key, {}),
        }
        for key, agents in pretrained.items()
    }
    floors = {grammar: _floors(grammar, geometry, seeds) for grammar in grammars}
    about = [str(geometry), f"grammars:{GRAMMARS_VERSION}", f"seeds:{','.join(map(str, seeds))}"]
    about += [f"supervised:{supervised}", f"max-supervised-steps:{max_supervised_steps}"]
    about += [
        f"max-steps:{max_steps}",
        how.signature(),
        f"end-to-end:{VERSION}|teaching:{SUPERVISED_VERSION}",
    ]
    return [
        PairRow(
            sender=pair.sender,
            receiver=pair.receiver,
            channel=str(pair.link),
            parameters={
                role: published_parameters(model, role, geometry, how.hidden_size)
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
    pretrained: PretrainedAgents,
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
        "feeds_back_samples": pair.pretraining_channel.channel == "gumbel",
        "protocol": protocol,
        "max_steps": max_steps,
        "device": device,
        "sender_weights": pretrained.outcomes["sender"]["weights"],
        "receiver_weights": pretrained.outcomes["receiver"]["weights"],
    }
    key = {
        "what": "end-to-end",
        "sender": pair.sender,
        "receiver": pair.receiver,
        "geometry": str(geometry),
        "grammar": [grammar, GRAMMARS_VERSION],
        "seed": seed,
        "channel": pair.link.signature,
        "taught": [pair.pretraining_channel.signature, pretrained.cap],
        "protocol": protocol.signature(),
        "max_steps": max_steps,
        "device": device,
        "version": [VERSION, SUPERVISED_VERSION],
    }
    return Job(function=train_pair, inputs=inputs, key=key, work=max_steps)


def make_table(rows: Sequence[PairRow]) -> Table:
    """A table of final accuracies: mean ± half-width of the 95 % interval, and the paper's figures in faint type."""
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
    for role, what in (("sender", "most frequent symbol"), ("receiver", "chance level")):
        table.add_row(what, role, *(f"{cell.floors[role]:.3f}" for cell in rows[0].cells), style="dim")
    return table


def notes(rows: Sequence[PairRow]) -> list[str]:
    """Explanations below the table."""
    lines = [
        f"{seeds_text(rows[0].seeds)}. "
        + "; ".join(f"{name.replace('_', ' ')}: {what}" for name, what in MEASURES.items())
    ]
    for row in rows:
        for cell in row.cells:
            pair = f"{row.sender} and {row.receiver} over {row.channel}, {cell.grammar.upper()}"
            reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
            if reasons:
                lines.append(
                    f"{pair}: {cell.num_masked} of {len(cell.runs)} runs left out ({'; '.join(reasons)})."
                )
            held_out = [run["held_out"] for run in cell.runs if run.get("held_out") is not None]
            if held_out:
                lines.append(f"{pair}, greedy on held-out meanings: {sum(held_out) / len(held_out):.3f}.")
    return [*lines, *(row.signature for row in rows)]


def _cell_text(cell: PairCell, row: PairRow) -> Text:
    texts = []
    for name in MEASURES:
        figure = cell.figures[name]
        if figure is None:
            texts.append(Text("left out", "dim"))
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
    completed = [run for run in runs if run["reason"] is None]
    figures = {
        name: mean_and_half_width([run[name] for run in completed], published=protocol.name == "paper")
        if completed
        else None
        for name in MEASURES
    }
    return PairCell(
        grammar=grammar,
        runs=tuple(runs),
        figures=figures,
        num_masked=len(runs) - len(completed),
        floors=floors,
    )


def _floors(grammar: str, geometry: Geometry, seeds: Sequence[int]) -> dict[str, float]:
    majority = [majority_accuracy(language(grammar, geometry, seed).messages) for seed in seeds]
    return {"sender": sum(majority) / len(majority), "receiver": 1 / geometry.num_values}
