"""The report of a study with trained agents: can people learn the language? In text, as JSON and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.figures.canvas import ends, save
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.agents_findings import KINDS, Learned
from ecsuite.people.agents_game import BLOCK, ROLES
from ecsuite.people.agents_language import AgentsLanguage
from ecsuite.people.findings import Mean
from ecsuite.people.report import SIMULATED
from ecsuite.people.study import Study


def agents_report_lines(study: Study, language: AgentsLanguage, found: Sequence[Learned]) -> list[str]:
    """The report, line by line.

    Args:
        study: The study.
        language: What the agents say.
        found: By role.
    """
    lines = [f"Study {study.name}: the language of {language.run} ({len(language.names)} objects)"]
    if study.simulated:
        lines += [SIMULATED]
    for each in found:
        lines += [
            "",
            f"Participants as {each.role}: {ROLES[each.role]}",
            f"  N = {each.participants} finished",
        ]
        if each.not_finished:
            lines[-1] += f"; left out: {each.not_finished} not finished"
        if not each.participants:
            continue
        lines += _table(each)
        if each.as_agents is not None:
            lines += [f"  messages that are exactly the agents' own: {each.as_agents:.0%}"]
    return lines


def _table(found: Learned) -> list[str]:
    """The share of right answers by block, of people and of the agents."""
    num_blocks = len(found.accuracy["training"])
    heads = [f"{BLOCK * block + 1}-{BLOCK * (block + 1)}" for block in range(num_blocks)]
    lines = [f"  {'examples':26}" + "".join(f"{head:>13}" for head in heads)]
    for kind, name in KINDS.items():
        lines += [
            f"  {name + ': participants':26}" + "".join(f"{_cell(mean):>13}" for mean in found.accuracy[kind])
        ]
        lines += [f"  {'  the agents':26}" + "".join(f"{share:>13.2f}" for share in found.agents[kind])]
    return [
        *lines,
        f"  mean ± half of its 95 % interval (Student's t); who guesses is right in {found.chance:.2f}",
    ]


def _cell(mean: Mean) -> str:
    return f"{mean.mean:.2f}" + ("" if mean.half_width is None else f" ± {mean.half_width:.2f}")


def agents_result(study: Study, language: AgentsLanguage, found: Sequence[Learned]) -> dict[str, Any]:
    """The report, JSON-ready."""
    content = {
        "study": study.name,
        "protocol": study.played_protocol,
        "simulated": study.simulated,
        "language": language.signature,
        "roles": [each.as_json() for each in found],
    }
    return with_format("result", content)


def draw_learning(study: Study, found: Sequence[Learned], file: Path) -> None:
    """Draw the share of right answers by block, a panel a role; dashed lines are the agents'."""
    lines = []
    for each in found:
        panel = f"as {each.role} (N={each.participants}{', simulated' if study.simulated else ''})"
        blocks = [BLOCK * (block + 1) for block in range(len(each.accuracy["training"]))]
        for kind, name in KINDS.items():
            means = each.accuracy[kind]
            low, high = zip(*(ends(mean.mean, mean.half_width) for mean in means), strict=True)
            y = [mean.mean for mean in means]
            lines.append(Curve(x=blocks, y=y, low=low, high=high, name=name, kind="people", panel=panel))
            lines.append(Curve(x=blocks, y=each.agents[kind], name=name, kind="agents", panel=panel))
        lines.append(
            Curve(x=blocks, y=[each.chance] * len(blocks), name="chance", kind="agents", panel=panel)
        )
    save(curves(lines, x="examples", y="share of right answers", limits=(0, 1.03)), file)
