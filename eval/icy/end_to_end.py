"""Protocol `end-to-end`: language drift of a pretrained pair in end-to-end training.

A sender and a receiver are pretrained on the same language, each to the target. Then both are trained end to end over a
channel (Perkins 2021, appendices G and I): the pair is an auto-encoder, the receiver reconstructs the sender's meaning.
The original language is used only for evaluation: the accuracy in it is measured at the end (Table 18) and during
training (figure 7).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.spec import Role
from ecsuite.eval.icy.acquisition import BLOCK, LanguageDataset, TrainingRun
from ecsuite.eval.icy.agents import LogitsBuilder, is_autoregressive, make_agent, parse_model
from ecsuite.eval.icy.channels import (
    Noise,
    SupervisedChannel,
    advantages,
    draw,
    parse_channel,
    score_function_loss,
    straight_through,
)
from ecsuite.eval.icy.protocol import TABLE_18, Protocol, PublishedAccuracies
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.rows import (
    HERE,
    ORIGIN,
    PAPER,
    IcyCell,
    IcyRow,
    JobResults,
    Learning,
    Runs,
    RunValues,
    accuracy_text,
    figure_of,
    floor_of,
    mean_of,
    parameters_of,
)
from ecsuite.eval.icy.study import BASIS, IcyStudy, JobName
from ecsuite.eval.statistics.estimates import joint_bound, mean_and_half_width, seeds_text
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.devices import computing, sent
from ecsuite.runtime.errors import ConfigError, DivergedError
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Column, Table, name_column, row_of

ROLES: tuple[Role, Role] = ("sender", "receiver")

VERSION = 1
"""Increased whenever end-to-end training with the same inputs would give another result."""

NUM_BINS = 50
"""Number of points of a curve; fewer if there are fewer updates."""

FIRST_BLOCK, FIRST_CHECK = 2**30, 2**31
"""First blocks of batches for training and for evaluation; none of them is used in pretraining."""

CURVE_BATCHES, FINAL_BATCHES = 4, 16
"""Number of evaluation batches at a point of a curve, and at the end."""
MEASURES = {
    "sender": "the sender's symbols, compared with the original language",
    "receiver": "the receiver's attribute values for messages of the original language",
    "end_to_end": "the receiver's attribute values for the sender's messages, mean of the last updates",
    "greedy": "the receiver's attribute values for the sender's argmax symbols",
}
"""Accuracies at the end, 0 to 1."""
TAUGHT_KEYS = ("steps", "reached", "accuracy")
"""Values of the pretraining of an agent in a row."""
PUBLISHED_STEPS = 10_000
"""Updates end to end in Table 18."""
PANELS = {
    "loss": "loss end to end",
    "end_to_end": "accuracy end to end",
    "sender": "sender, original language",
    "receiver": "receiver, original language",
}
"""Panels of the curves, with their axis labels."""


class EndToEndAgents(nn.Module):
    """A sender and a receiver, as returned by `make_agent`, that are trained end to end over a channel.

    `feeds_back_samples`: whether the sender was pretrained with samples as feedback instead of their softmax.
    """

    def __init__(
        self,
        sender: nn.Module,
        receiver: nn.Module,
        *,
        link: SupervisedChannel,
        feeds_back_samples: bool,
        geometry: Geometry,
    ) -> None:
        super().__init__()
        self.sender, self.receiver = sender, receiver
        self.link, self.geometry = link, geometry
        self.feeds_back_samples = feeds_back_samples and is_autoregressive(sender)

    def forward(self, meanings: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
        """Loss, and accuracy of the argmax attribute values, over the channel.

        Args:
            meanings: Shape (batch, attributes).
            noise: Noise of this update.
        """
        shape = (len(meanings), self.geometry.message_length, self.geometry.vocab_size + 1)
        symbol_noise = noise.draw(shape, meanings.device)
        logits = self.message_logits(meanings, symbol_noise)
        if self.link.channel == "reinforce":
            symbols = draw(logits, symbol_noise)
            outputs = self.attribute_logits(symbols)
            values = draw(outputs, noise.draw(outputs.shape, outputs.device))
            advantage = advantages((values == meanings).float())  # (batch, attributes)
            loss = score_function_loss(logits, symbols, advantage.mean(1, keepdim=True))
            loss = loss + score_function_loss(outputs, values, advantage)
        else:
            outputs = self.attribute_logits(self._relax(logits, symbol_noise, noise))
            loss = nn.functional.cross_entropy(outputs.flatten(0, 1), meanings.flatten())
        return loss, (outputs.argmax(-1) == meanings).float().mean()

    def message_logits(self, meanings: Tensor, noise: Tensor | None) -> Tensor:
        """Logits of messages, (batch, length, vocab_size + 1); without noise, feedback is the argmax symbol."""
        builder = LogitsBuilder(
            self.geometry.message_length, feeds_back_samples=self.feeds_back_samples, noise=noise
        )
        self.sender(nn.functional.one_hot(meanings, self.geometry.num_values).flatten(1).float(), builder)
        return torch.stack(builder.logits, dim=1)

    def attribute_logits(self, symbols: Tensor) -> Tensor:
        """Logits (batch, attributes, values) for ids (batch, length) or weights (batch, length, symbols)."""
        length = torch.full((len(symbols),), float(symbols.shape[1]), device=symbols.device)
        logits: Tensor = self.receiver(Message(symbols=symbols.transpose(0, 1), ends=None, length=length))
        return logits

    @torch.no_grad()
    def check(self, meanings: Tensor, messages: Tensor) -> dict[str, float]:
        """Accuracies of argmax without noise, 0 to 1.

        Args:
            meanings: Shape (batch, attributes).
            messages: Their messages in the original language, (batch, length).

        Returns:
            `sender`: the sender's symbols in the original language. `receiver`: the receiver's attribute values for
            messages of the original language. `greedy`: the receiver's attribute values for the sender's symbols.
        """
        self.eval()  # without dropout
        symbols = self.message_logits(meanings, None).argmax(-1)
        correct = {
            "sender": symbols == messages,
            "receiver": self.attribute_logits(messages).argmax(-1) == meanings,
            "greedy": self.attribute_logits(symbols).argmax(-1) == meanings,
        }
        self.train()
        shares = torch.stack([right.float().mean() for right in correct.values()]).tolist()
        return dict(zip(correct, shares, strict=True))

    def _relax(self, logits: Tensor, symbol_noise: Tensor, noise: Noise) -> Tensor:
        """The receiver's input over a differentiable channel, (batch, length, symbols)."""
        if self.link.channel == "soft":
            return logits.softmax(-1)
        weights = straight_through(logits, symbol_noise)
        if self.feeds_back_samples and self.link.form == "program":
            # The published program uses the samples of such a sender as logits, and samples once more.
            weights = straight_through(weights, noise.draw(weights.shape, weights.device))
        return weights


def train_end_to_end(
    weights: Mapping[Role, Mapping[str, Tensor]],
    *,
    sender: str,
    receiver: str,
    geometry: Geometry,
    grammar: str,
    seed: int,
    channel: str,
    feeds_back_samples: bool,
    protocol: Protocol,
    max_steps: int,
    device: str,
    report_progress: Callable[[str, float], None] = lambda label, share: None,
) -> dict[str, Any]:
    """Train a pair end to end, with one newly initialised Adam for both.

    Args:
        weights: Parameters of both agents at the start.
        sender: Name and options of the sender.
        receiver: Name and options of the receiver.
        geometry: Sizes of the language.
        grammar: Grammar on which both were pretrained.
        seed: Seed of language, batches and noise.
        channel: Channel between them.
        feeds_back_samples: See `EndToEndAgents`.
        protocol: Batch size, optimiser settings and hidden size.
        max_steps: Number of updates.
        device: cpu, cuda or mps.
        report_progress: Called with label and progress.

    Returns:
        Values at the end: `sender`, `receiver`, `greedy` (see `EndToEndAgents.check`), `end_to_end` and `loss` (over
        the channel, means of the updates before the last point of the curve), `held_out` (`greedy` on held-out
        meanings), and `curve`: lists of the number of `updates` and of all these measures except `held_out`.

    Raises:
        DivergedError: If the loss is not finite.
    """
    torch_device = torch.device(device)
    models: dict[Role, str] = {"sender": sender, "receiver": receiver}
    names = f"{sender} and {receiver}"
    with computing(torch_device, protocol.precision, seed=seed):
        agents = []
        for role, model in models.items():
            agents.append(make_agent(parse_model(role, model), role, geometry, protocol.hidden_size))
            agents[-1].load_state_dict(dict(weights[role]))
        pair = EndToEndAgents(
            *agents, link=parse_channel(channel), feeds_back_samples=feeds_back_samples, geometry=geometry
        ).to(torch_device)
        optimizer = torch.optim.Adam(pair.parameters(), lr=protocol.lr, fused=True)
        run = TrainingRun(grammar=grammar, seed=seed)
        dataset = LanguageDataset(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out)
        noise = Noise(seed, "pair")
        num_bins = min(NUM_BINS, max_steps)
        curve: dict[str, list[float]] = {
            name: [] for name in ("updates", "loss", "end_to_end", "sender", "receiver", "greedy")
        }
        totals = torch.zeros(2, device=torch_device)
        began = 0
        for update in range(max_steps):
            if update % BLOCK == 0:
                block = dataset.block(FIRST_BLOCK + update // BLOCK)[0].to(torch_device)
            loss, accuracy = pair(block[update % BLOCK].t(), noise.at(update))
            optimizer.zero_grad()
            loss.backward()
            if protocol.clip is not None:
                nn.utils.clip_grad_norm_(pair.parameters(), protocol.clip)
            take_step(optimizer)
            totals += torch.stack([loss.detach(), accuracy])
            made, number = update + 1, len(curve["updates"])
            if made * num_bins >= (number + 1) * max_steps:
                means = (totals / (made - began)).tolist()
                totals.zero_()
                if not math.isfinite(means[0]):
                    raise DivergedError(
                        f"{names} on {grammar}, seed {seed}: the loss is {means[0]} in updates {began + 1} to {made}"
                    )
                values = {"updates": made, "loss": means[0], "end_to_end": means[1]}
                values |= pair.check(*_examples(dataset, FIRST_CHECK + number, CURVE_BATCHES, torch_device))
                for name, value in values.items():
                    curve[name].append(value)
                began = made
                report_progress(f"{names} {grammar} {seed} {means[1]:.2f}", made / max_steps)
        final = pair.check(*_examples(dataset, FIRST_CHECK + num_bins, FINAL_BATCHES, torch_device))
        held_out = _held_out(pair, dataset, torch_device)
    means_at_end = {name: curve[name][-1] for name in ("loss", "end_to_end")}
    return {**final, **means_at_end, "held_out": held_out, "curve": curve}


def _examples(
    dataset: LanguageDataset, block: int, number: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The first batches of a block: meanings (number * batch, attributes), messages (number * batch, length)."""
    meanings, messages = dataset.block(block)
    return tuple(  # type: ignore[return-value]
        sent(part[:number].transpose(1, 2).flatten(0, 1), device) for part in (meanings, messages)
    )


def _held_out(pair: EndToEndAgents, dataset: LanguageDataset, device: torch.device) -> float | None:
    """The accuracy `greedy` over all held-out meanings; None if there are none."""
    if not len(dataset.held_out):
        return None
    right = 0.0
    for chosen in np.array_split(dataset.held_out, -(-len(dataset.held_out) // 2048)):
        meanings, messages = (part[0].t().to(device) for part in dataset.examples(chosen[None]))
        right += pair.check(meanings, messages)["greedy"] * len(chosen)
    return right / len(dataset.held_out)


class EndToEnd(Learning):
    """Accuracies of pairs; pairs with an agent that did not reach the target in pretraining do not count."""

    def grammars(self, study: IcyStudy) -> Sequence[str]:
        """The study's grammars; CONCAT is not added."""
        return study.grammars

    def systems(self, study: IcyStudy) -> Iterable[tuple[str, ...]]:
        """Senders with their receivers."""
        return zip(study.models, study.receivers, strict=True)

    def run(self, study: IcyStudy, results: JobResults, name: JobName) -> RunValues | None:
        """Values of a pair's run, which is trained end to end only if both agents were pretrained to the target."""
        if (*name, "pair") not in results:
            return None
        agents, target = {role: results[*name, role] for role in ROLES}, f"{study.training.target:g}"
        seed = name[-1]
        if not all(agent["is_trained"] for agent in agents.values()):
            reason = f"{BASIS} did not reach accuracy {target} within {study.basis_cap} updates"
            return {"seed": seed, "taught": {}, "reason": reason}
        taught = {role: {key: run[key] for key in TAUGHT_KEYS} for role, run in agents.items()}
        failed = [
            f"{role}: accuracy {run['accuracy']:.3f} of {target} in {run['steps']} updates"
            for role, run in taught.items()
            if not run["reached"]
        ]
        pair = results[*name, "pair"].items()
        trained = {key: value for key, value in pair if key not in ("is_trained", "seconds")}
        return {"seed": seed, "taught": taught, "reason": " and ".join(failed) or None, **trained}

    def row(self, study: IcyStudy, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> IcyRow:
        """The row of a pair over a channel."""
        sender, receiver = system
        pairs = zip(ROLES, system, strict=True)
        return IcyRow(
            model=sender,
            receiver=receiver,
            channel=str(link),
            parameters={role: parameters_of(study, model, role) for role, model in pairs},
            seeds=study.seeds,
            cells=tuple(_cell(study, grammar, each) for grammar, each in runs.items()),
            signature="|".join(
                [
                    f"icy-end-to-end|sender:{sender}|receiver:{receiver}|{link.signature}|{study.geometry}",
                    f"grammars:{GRAMMARS_VERSION}|seeds:{','.join(map(str, study.seeds))}",
                    f"supervised:{study.config.supervised}|max-supervised-steps:{study.basis_cap}",
                    f"max-steps:{study.max_steps}|{study.training.signature(study.cap)}",
                    f"end-to-end:{VERSION}|teaching:{PROTOCOL_VERSION}",
                ]
            ),
            published=(
                published_pair(sender, receiver, link.channel)
                if study.geometry == Geometry() and study.config.supervised != "none"
                else {}
            ),
        )

    def row_values(self, study: IcyStudy, row: IcyRow) -> dict[str, Any]:
        """The pair, its channel, and the updates end to end."""
        names = {"sender": row.model, "receiver": row.receiver, "channel": row.channel}
        return {**names, "max_steps": study.max_steps}

    def cell_values(self, row: IcyRow, cell: IcyCell) -> dict[str, Any]:
        """Mean and half-width of each measure, runs that do not count, and accuracies without learning."""
        return {"figures": cell.figures, "num_masked": cell.num_left_out, "floors": cell.floors}

    def table(self, study: IcyStudy, rows: Sequence[IcyRow]) -> Table:
        """Final accuracies: mean ± half-width of the 95 % interval."""
        columns = [name_column(name, merges=True) for name in ("sender", "receiver", "over")]
        columns += [Column("updates", align="right", merges=True), ORIGIN, Column("accuracy")]
        shown = []
        for row in rows:
            about = (row.model, row.receiver, row.channel, study.max_steps)
            for name in MEASURES:
                figures = (accuracy_text(cell, name, "left out") for cell in row.cells)
                is_last = name == list(MEASURES)[-1] and not row.published
                shown.append(row_of(*about, HERE, name.replace("_", " "), *figures, ends_section=is_last))
            if row.published:
                published = (self.paper(row.published.get(cell.name)) for cell in row.cells)
                after = "" if study.max_steps == PUBLISHED_STEPS else f", {PUBLISHED_STEPS:,}"
                label = text("paper", shown=f"paper{after}")
                shown.append(row_of(*about, PAPER, label, *published, role="dim", ends_section=True))
        for role, what in (("sender", "most frequent symbol"), ("receiver", "chance level")):
            floors = (number(cell.floors[role], 3) for cell in rows[0].cells)
            shown.append(row_of(what, None, None, None, HERE, role, *floors, role="dim"))
        return Table(columns=[*columns, *self.cell_columns(rows[0])], rows=shown)

    def notes(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[str]:
        """Explanation of the measures, pairs that are left out, and accuracies on held-out meanings."""
        measures = (f"{name.replace('_', ' ')}: {what}" for name, what in MEASURES.items())
        lines = [f"{seeds_text(rows[0].seeds)}. {'; '.join(measures)}"]
        for row in rows:
            for cell in row.cells:
                pair = f"{row.model} and {row.receiver} over {row.channel}, {cell.name.upper()}"
                reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
                if reasons:
                    count = f"{cell.num_left_out} of {len(cell.runs)} runs"
                    lines.append(f"{pair}: {count} left out ({'; '.join(reasons)}).")
                held_out = [run for run in cell.runs if run.get("held_out") is not None]
                if held_out:
                    lines.append(f"{pair}, greedy on held-out meanings: {mean_of(held_out, 'held_out'):.3f}.")
        return [*lines, *(row.signature for row in rows)]

    def draw(self, study: IcyStudy, rows: Sequence[IcyRow], file: Path) -> None:
        """Draw a panel per measure and a line per grammar, with the 95 % interval shaded, as in figure 7.

        Raises:
            ConfigError: If matplotlib is not installed, the file has another suffix, or there is no run.
        """
        row = rows[0]
        lines = measured_curves(row)
        if not lines:
            raise ConfigError(
                "nothing to draw: no pair was pretrained to the target; raise the cap or lower the target"
            )
        shaded = ", shaded: 95 % CI" if len(row.seeds) > 1 else ""
        title = f"{row.model} and {row.receiver} over {row.channel}, {seeds_text(row.seeds)}{shaded}"
        save(curves(lines, x="updates end to end", y=PANELS, title=title), file)


def _cell(study: IcyStudy, grammar: str, runs: Sequence[RunValues]) -> IcyCell:
    completed = [run for run in runs if run["reason"] is None]
    return IcyCell(
        name=grammar,
        runs=tuple(runs),
        figures={name: figure_of([run[name] for run in completed], are_shares=True) for name in MEASURES},
        num_left_out=len(runs) - len(completed),
        floors={role: floor_of(study, role, grammar) for role in ROLES},
    )


def measured_curves(row: IcyRow) -> list[Curve]:
    """A curve a grammar and measure of `PANELS`: the mean over the seeds and its 95 % interval against the updates.

    There is a point at every evaluation (see `train_end_to_end`), at the same updates for all seeds. Grammars
    without any run are left out.
    """
    lines = []
    for cell in row.cells:
        runs = [run["curve"] for run in cell.runs if run["reason"] is None]
        for name in PANELS if runs else ():
            points = [
                mean_and_half_width(values, are_shares=name != "loss")
                for values in zip(*(run[name] for run in runs), strict=True)
            ]
            limits = (0, math.inf if name == "loss" else 1)
            low, high = zip(*(ends(*point, limits) for point in points), strict=True)
            means = [mean for mean, _ in points]
            grammar = cell.name.upper()
            bounds = [
                joint_bound(measure_bound(name, {name: value}) for value in values)
                for values in zip(*(run[name] for run in runs), strict=True)
            ]
            lines.append(
                Curve(
                    x=runs[0]["updates"],
                    y=means,
                    low=low,
                    high=high,
                    name=grammar,
                    panel=name,
                    bounds=bounds,
                )
            )
    return lines


def published_pair(sender: str, receiver: str, channel: str) -> PublishedAccuracies:
    """The paper's accuracies of a pair after training end to end; empty if it reports none."""
    specs = parse_model("sender", sender), parse_model("receiver", receiver)
    if any("hidden" in dict(spec.options) for spec in specs):
        return {}
    return TABLE_18.get(channel, {}).get(" ".join(spec.name for spec in specs), {})
