"""Audit of messages in a world with steps: rewards with changed messages, information of messages, and influence.

Lowe et al. (2019, "On the pitfalls of measuring emergent communication", arXiv 1903.05168): agents may say what they
see (positive signalling) while nobody acts on it (positive listening), so both are measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.eval.run_metrics.audit_information import (
    Told,
    message_information,
    read_by_outsiders,
    with_correction,
)
from ecsuite.eval.statistics.estimates import (
    NO_INTERVAL,
    Difference,
    corrected,
    mean_and_half_width,
    paired_difference,
)
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.games.environments.agents import ScriptedAgents
from ecsuite.games.environments.environment import Environment
from ecsuite.games.environments.episodes import Deliver, Episodes, Policies, Policy
from ecsuite.games.plays.acting import Acting, severed
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import estimate, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

CONDITIONS = {
    "severed": "no agent hears anything",
    "shuffled in time": "a message from another step of the episode",
    "swapped": "the message at this step of another episode",
    "constant": "always the speaker's most frequent message",
    "own last": "the hearer's own last message",
}
"""Message ablations, with a description of the message that is heard."""
MOST_MESSAGES = 32
"""Maximum number of alternative messages per step for the influence: the most frequent ones."""
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """Reward per episode under a message ablation."""

    name: str
    reward: float
    """Mean over episodes."""
    half_width: float | None
    """Half-width of its 95 % interval; None for equal rewards."""
    cost: float | None
    """Cost of the messages of an episode, mean over agents, not part of the reward; None: no cost."""
    loss: Difference | None
    """Reward without ablation minus this reward, over the same episodes; None for the condition without ablation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """Result of an audit."""

    conditions: Sequence[Condition]
    """Conditions; the first is without ablation."""
    told: Sequence[Told]
    scripted: float | None
    """Reward of scripted agents; None: the world has none for this channel."""
    oracle: float | None
    """Expected reward of the best agents that see everything; None: unknown."""
    num_episodes: int
    is_heard: bool
    """Whether any message reaches an agent."""

    @property
    def conclusion(self) -> str:
        """The conclusion in a sentence."""
        if not self.is_heard:
            return "No message reaches an agent, so messages can't matter."
        losses = {
            condition.name: condition.loss for condition in self.conditions if condition.loss is not None
        }
        if (swapped := losses["swapped"]).conclusion == "higher":
            how = f"with messages of other episodes the reward is {swapped.mean:.3g} lower"
            return f"Messages matter: {how}; agents use their content."
        if losses["severed"].conclusion == "higher":
            return (
                f"Messages matter, but not their content: severed, the reward is {losses['severed'].mean:.3g} "
                "lower; swapped, it is not."
            )
        says = any(each.kind == "signalling" and (each.p_holm or 1) <= ALPHA for each in self.told)
        hears = any(each.kind == "influence" and each.value > 0.001 for each in self.told)
        if says and hears:
            return (
                "Messages depend on what speakers see and change the actions of hearers, but not the reward."
            )
        if says:
            return "Messages depend on what speakers see, but change no action: they are not used."
        if hears:
            return "Messages change the actions of hearers, but do not depend on what speakers see: they act as noise."
        return "Messages do not depend on what speakers see, and change no action: they are not used."

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON-ready data."""
        return {
            "num_episodes": self.num_episodes,
            "conditions": [
                {
                    "name": each.name, "reward": each.reward, "half_width": each.half_width,
                    "cost": each.cost,
                    "loss": None if each.loss is None else each.loss.to_json(),
                }
                for each in self.conditions
            ],
            "scripted": self.scripted, "oracle": self.oracle,
            "told": [asdict(each) for each in self.told],
            "conclusion": self.conclusion,
        }  # fmt: skip


@torch.no_grad()
def audit(
    play: Acting,
    *,
    agents: Policies | None = None,
    num_episodes: int = 512,
    num_draws: int = 399,
    by: str | None = None,
) -> Audit:
    """Play the same episodes with and without message ablations, and measure information and influence of messages.

    Args:
        play: Play with the world, the channel and the agents.
        agents: Agents to play instead.
        num_episodes: Number of episodes, at least 8, which are not those of training.
        num_draws: Permutations of whole episodes.
        by: `step` or `turn`: also sever and swap messages at single steps or turns.

    Raises:
        ConfigError: If nobody speaks, there are fewer than 8 episodes, or there are no turns.
    """
    if num_episodes < 8:
        raise ConfigError(f"--episodes: expected at least 8, got {num_episodes}")
    if not any(spec.speaks for spec in play.environment.agents):
        raise ConfigError("no agent of this world speaks: expected a world with messages")
    played = _Played(play, agents, num_episodes)
    rng = play.rng("audit", 0)
    usual = played.episodes()
    alternatives, weights = _alternatives(usual)
    influence = _Influence(alternatives, weights, play, usual)
    played.episodes(watch=influence)
    deliveries = dict(_deliveries(usual, rng))
    if by is not None:
        deliveries |= _by_part(usual, play.environment, by, deliveries)
    changed = {name: played.episodes(deliver=deliver) for name, deliver in deliveries.items()}
    losses = corrected([paired_difference(usual.returns - each.returns) for each in changed.values()])
    conditions = [
        _condition(play, name, episodes, loss)
        for (name, episodes), loss in zip(
            [("as said", usual), *changed.items()], [None, *losses], strict=True
        )
    ]
    try:
        scripted = float(
            played.episodes(
                agents=ScriptedAgents(play.environment, play.channel), severs=False
            ).returns.mean()
        )
    except ConfigError:
        scripted = None
    told = [
        *with_correction(message_information(play, usual, rng, num_draws)),
        *read_by_outsiders(play, usual, rng),
        *influence.results(),
    ]
    return Audit(
        conditions=conditions,
        told=told,
        scripted=scripted,
        oracle=play.environment.oracle_reward,
        num_episodes=num_episodes,
        is_heard=bool((usual.heard_from >= 0).any()),
    )


class _Played:
    """Plays the episodes of an audit."""

    def __init__(self, play: Acting, agents: Policies | None, number: int) -> None:
        self.play, self.agents, self.numbers = play, agents or play.agents, np.arange(number)

    def episodes(
        self,
        *,
        deliver: Deliver | None = None,
        watch: Any = None,
        agents: Policies | None = None,
        severs: bool = True,
    ) -> Episodes:
        """Play the episodes with changed messages; severed agents hear nothing."""
        deliver = severed if severs and self.play.options.is_severed else deliver or _as_said
        generator = self.play.noise("audit", 0)
        return self.play.play(
            self.numbers,
            "greedy",
            generator,
            purpose="audit",
            agents=agents or self.agents,
            deliver=deliver,
            watch=watch,
        )


def _as_said(step: int, said: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
    return said, heard


def _condition(play: Acting, name: str, episodes: Episodes, loss: Difference | None) -> Condition:
    mean, half_width = mean_and_half_width(episodes.returns.tolist())
    cost = float(play.costs(episodes).sum(0).mean()) if play.options.length_cost else None
    return Condition(name=name, reward=mean, half_width=half_width, cost=cost, loss=loss)


def _deliveries(usual: Episodes, rng: np.random.Generator) -> Mapping[str, Deliver]:
    """Delivery function of messages for each condition."""
    said, last = usual.said, len(usual.said) - 1
    batch, number = said.shape[1:3]
    lengths = usual.alive.sum(0)
    # Permuted steps, independently for each episode.
    keys = rng.random(usual.alive.shape)
    # In dialogues some agents act without speaking: the speaker of a step is then fixed, and matters.
    has_turns = (usual.counts & ~usual.speaking).any()
    if not has_turns:
        said = _of_whoever_speaks(said, usual.speaking)
    orders = [
        torch.from_numpy(_shuffled_steps(usual.speaking[..., each] if has_turns else usual.alive, keys)).to(
            said.device
        )
        for each in range(number)
    ]
    places = rng.permutation(batch)
    other = np.empty(batch, np.int64)
    other[places] = np.roll(places, 1)
    common = torch.stack(
        [_most_common(said[:, :, each], usual.speaking[..., each]) for each in range(number)]
    )
    rows = torch.arange(batch, device=said.device)
    speakers = torch.arange(number, device=said.device)[None, :, None]

    def shuffled(step: int, now: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
        at = min(step, last)
        return torch.stack([said[order[at], rows, each] for each, order in enumerate(orders)], 1), heard

    def swapped(step: int, now: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
        of_other = np.minimum(min(step, last), lengths[other] - 1)
        return said[
            torch.from_numpy(of_other).to(said.device), torch.from_numpy(other).to(said.device)
        ], heard

    def constant(step: int, now: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
        return common.expand_as(now), heard

    def own(step: int, now: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
        return now, speakers.expand_as(heard).where(heard >= 0, -1)

    return dict(zip(CONDITIONS, (severed, shuffled, swapped, constant, own), strict=True))


def _of_whoever_speaks(said: Tensor, speaking: NDArray[np.bool_]) -> Tensor:
    """Messages, (steps, batch, num_agents, width), where agents that do not speak get the message of one that does."""
    one = torch.from_numpy(speaking.argmax(2)).to(said.device)[..., None, None].expand_as(said[:, :, :1])
    of_one = said.gather(2, one) * torch.from_numpy(speaking.any(2)).to(said)[..., None, None]
    return said.where(torch.from_numpy(speaking).to(said.device)[..., None], of_one)


def _shuffled_steps(may: NDArray[np.bool_], keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Permute the steps with messages in the order of keys, (steps, batch) each."""
    order = np.argsort(np.where(may, keys, 2.0), axis=0)
    shuffled: NDArray[np.int64] = np.take_along_axis(order, (may.cumsum(0) - 1).clip(0), 0)
    return shuffled


def _by_part(
    usual: Episodes, environment: Environment, by: str, deliveries: Mapping[str, Deliver]
) -> dict[str, Deliver]:
    """Ablations severed and swapped at single steps or turns, with the names of the speakers."""
    size = {"step": 1, "turn": environment.steps_per_turn}.get(by)
    if size is None:
        expected = "step, or turn in a dialogue" if by != "turn" else "step: this world has no turns"
        raise ConfigError(f"--by {by}: expected {expected}")
    found = {}
    for first in range(0, len(usual.alive), size):
        spoke = usual.speaking[first : first + size].sum((0, 1)).tolist()
        if any(spoke):
            who = ", ".join(
                spec.name for spec, speaks in zip(environment.agents, spoke, strict=True) if speaks
            )
            place = f"{by} {first // size + 1 if by == 'turn' else first}" + (
                f": {who}" if by == "step" else ""
            )
            for name in ("severed", "swapped"):
                found[f"{name}, {place}"] = _only_at(range(first, first + size), deliveries[name])
    return found


def _only_at(steps: range, deliver: Deliver) -> Deliver:
    return lambda step, said, heard: deliver(step, said, heard) if step in steps else (said, heard)


def _most_common(said: Tensor, counts: NDArray[np.bool_]) -> Tensor:
    messages = said[torch.from_numpy(counts).to(said.device)]
    if not len(messages):
        return torch.zeros_like(said[0, 0])
    distinct, number = messages.unique(dim=0, return_counts=True)
    most_common: Tensor = distinct[number.argmax()]
    return most_common


def _alternatives(usual: Episodes) -> tuple[Tensor, Tensor]:
    """The most frequent messages, (num_messages, message width), and their shares."""
    counts = torch.from_numpy(usual.speaking).to(usual.said.device) & (usual.said.abs().sum(-1) >= 0)
    is_speaker = torch.tensor([message is not None for message in usual.messages[0]], device=counts.device)
    messages, number = usual.said[counts & is_speaker].unique(dim=0, return_counts=True)
    kept = number.argsort(descending=True)[:MOST_MESSAGES]
    return messages[kept], number[kept].double() / number[kept].sum()


class _Influence:
    """Causal influence of messages on the actions of hearers (Jaques et al. 2019, arXiv 1810.08647).

    At each step, with everything else fixed: sum_m p(m) KL(p(a | m) || sum_m' p(m') p(a | m')) in bits, where p(m) is
    the frequency of message m; it is the mutual information of message and action for random messages. For hearers that
    ignore messages it is exactly 0. Steps at which no message reaches the hearer, or at which its action does not
    count, such as after the end of an episode, are left out.
    """

    def __init__(self, messages: Tensor, weights: Tensor, play: Acting, usual: Episodes) -> None:
        self.messages, self.weights, self.play = messages, weights, play
        self.usual = usual
        self.sums: dict[tuple[int, int], list[Tensor]] = {}

    def __call__(self, step: int, agent: int, decide: Policy, seen: Tensor, heard: Tensor) -> None:
        """Compute the influence on an agent at a step; see `Watch`."""
        if self.play.environment.agents[agent].num_actions == 1 or not 0 < step < len(self.usual.acting):
            return
        hears = self.usual.heard_from[step, :, agent, : heard.shape[1]] >= 0
        counts = hears & self.usual.acting[step, :, agent, None]  # (batch, num_heard)
        for slot in np.flatnonzero(counts.any(0)).tolist():
            likely = []
            for message in self.messages:
                other = heard.clone()
                other[:, slot] = message
                likely.append(
                    self.play.learner.probabilities(decide(agent, seen, other, keeps=False).scores.double())
                )
            of_each = torch.stack(likely, 1)  # (batch, messages, actions)
            mean = (of_each * self.weights[:, None]).sum(1, keepdim=True)
            gain = torch.special.xlogy(of_each, of_each) - torch.special.xlogy(of_each, mean)
            bits = (gain.sum(2) * self.weights).sum(1) / np.log(2)
            bits = bits.where(bits > 1e-9, 0.0)  # rounding error
            self.sums.setdefault((agent, slot), []).append(
                bits[torch.from_numpy(counts[:, slot]).to(bits.device)]
            )

    def results(self) -> Iterator[Told]:
        """Yield the mean influence over all counted steps, for each hearer and each message that it hears."""
        specs = self.play.environment.agents
        for (agent, slot), bits in self.sums.items():
            name = specs[agent].name
            about = (
                f"of what {name} hears"
                if specs[agent].num_heard == 1
                else f"of what {name} hears, {slot + 1}"
            )
            yield Told(kind="influence", about=f"{about}, on its action", value=float(torch.cat(bits).mean()))


USUAL = "as said"
"""Condition without ablation."""


def report(found: Audit) -> Report:
    """Tables of rewards and measures of messages, with the conclusion."""
    notes = [
        found.conclusion,
        f"{found.num_episodes:,} episodes, the same in each row; ±: 95 % interval; lost: as said minus row",
        "told: mutual information and influence in bits; reading: accuracy of a linear model of the last two messages "
        "in other episodes; outsider: accuracy of fresh listeners that hear the last four",
        "shuffled: mean with whole episodes permuted; influence needs none, as messages without it have exactly 0",
    ]
    if found.conditions[0].cost is not None:
        notes.append("cost: cost of symbols, which is part of neither the reward nor the lost reward")
    notes += [NO_INTERVAL] * any(each.half_width is None for each in found.conditions)
    notes.append(
        "to measure the value of messages, train again with --set play.is_severed=true, play.broadcasts=heard (in "
        "place of messages, what speakers saw and did) or all (an oracle): ecsuite train-game RUN/config.yaml --set …"
    )
    if found.oracle is not None:
        notes.insert(2, f"the best agents that see everything get {found.oracle:.4g} per episode on average")
    if found.scripted is not None:
        notes.insert(2, f"scripted agents of this world get {found.scripted:.4g} per episode")
    return Report(
        tables=[_rewards(found), _measures_table(found)],
        notes=tuple(notes),
        data=found.to_json(),
        draw=partial(_draw, found),
    )


def _rewards(found: Audit) -> Table:
    rows = []
    for each in found.conditions:
        lost = nothing()
        if each.loss is not None:
            low, high = each.loss.ci95 or (0.0, 0.0)  # equal losses have an interval without a width
            lost = estimate(each.loss.mean, (high - low) / 2 if high > low else None)
        name, _, place = each.name.partition(", ")
        what = CONDITIONS.get(name, "the messages as said") + (", in this part only" if place else "")
        p = nothing() if each.loss is None else p_value(each.loss.p_holm)
        paid = [] if each.cost is None else [number(each.cost), number(each.reward - each.cost)]
        rows.append(row_of(each.name, estimate(each.reward, each.half_width), *paid, lost, p, text(what)))
    has_costs = found.conditions[0].cost is not None
    costs = (number_column("cost"), number_column("net", heading="less cost")) if has_costs else ()
    columns = (
        name_column("heard"),
        number_column("reward", heading="reward per episode"),
        *costs,
        number_column("lost"),
        number_column("p", heading="p (Holm)"),
        Column("what", heading="what is heard", wraps=True),
    )
    return Table(columns=columns, rows=rows, title="reward")


def _measures_table(found: Audit) -> Table:
    rows = [
        row_of(
            each.kind,
            text(each.about),
            number(each.value),
            nothing("0 exactly") if each.null is None else number(each.null),
            nothing() if each.p_holm is None else p_value(each.p_holm),
        )
        for each in found.told
    ]
    columns = (
        name_column("measure"),
        Column("of", wraps=True),
        number_column("value"),
        number_column("shuffled"),
        number_column("p", heading="p (Holm)"),
    )
    return Table(columns=columns, rows=rows, title="told")


def _draw(found: Audit, *paths: Path) -> None:
    points = [
        Point(
            row=each.name,
            value=each.reward,
            low=None if each.half_width is None else each.reward - each.half_width,
            high=None if each.half_width is None else each.reward + each.half_width,
        )
        for each in found.conditions
    ]
    usual = found.conditions[0].reward
    lines = {USUAL: usual} | ({} if found.scripted is None else {"scripted agents": found.scripted})
    lines |= {} if found.oracle is None else {"best, seeing everything": found.oracle}
    panel = Panel(points=points, axis="reward of an episode", lines=lines)
    save(intervals(panel, title="reward by what is heard", notes=[found.conclusion]), *paths)
