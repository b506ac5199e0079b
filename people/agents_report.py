"""The report of a study with trained agents: can people learn the language? In text, as JSON and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.reports.canvas import format_curves, new_figure, save
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
    """Draw the share of right answers by block, a panel a role; dashed lines are the agents', dotted is chance."""
    figure = new_figure(4.2 * len(found), 3.2, layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, each in zip(panels, found, strict=True):
        ends = [BLOCK * (block + 1) for block in range(len(each.accuracy["training"]))]
        for kind, name in KINDS.items():
            means = [mean.mean for mean in each.accuracy[kind]]
            line = axes.errorbar(
                ends, means, [mean.half_width or 0.0 for mean in each.accuracy[kind]], marker="o", label=name
            )
            colour = line.lines[0].get_color()
            axes.plot(ends, each.agents[kind], linestyle="--", color=colour, label=f"{name}: agents")
        axes.axhline(each.chance, linestyle=":", color="0.4", label="chance")
        simulated = ", simulated" if study.simulated else ""
        axes.set_title(f"as {each.role} (N={each.participants}{simulated})")
        axes.set_ylim(0, 1.03)
        format_curves(axes, "examples", "share of right answers" if each is found[0] else "")
        axes.legend(loc="lower right")
    save(figure, file)
