"""The report of a study with trained agents: can people learn the language? Tables, JSON and a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.agents_findings import KINDS, Learned
from ecsuite.people.agents_game import BLOCK, ROLES
from ecsuite.people.agents_language import AgentsLanguage
from ecsuite.people.report import SIMULATED, blocks_name, mean_cell
from ecsuite.people.study import Study
from ecsuite.tables.cells import INTERVAL, number
from ecsuite.tables.table import Table, name_column, number_column, row_of


def agents_report_tables(study: Study, language: AgentsLanguage, found: Sequence[Learned]) -> list[Table]:
    """For each role, the share of right answers by block, of people and of the agents.

    Args:
        study: The study.
        language: What the agents say.
        found: By role.
    """
    about = f"Study {study.name}: the language of {language.run} ({len(language.names)} objects)"
    return [_table(study, each, about) for each in found]


def _table(study: Study, found: Learned, about: str) -> Table:
    num_blocks = len(found.accuracy["training"]) if found.participants else 0
    columns = [name_column("examples", merges=True), name_column("who")]
    columns += [number_column(blocks_name(block, BLOCK), parts=INTERVAL) for block in range(num_blocks)]
    rows = []
    for kind, name in KINDS.items() if num_blocks else ():
        rows.append(row_of(name, "participants", *(mean_cell(mean, 2) for mean in found.accuracy[kind])))
        rows.append(row_of(name, "the agents", *(number(share, 2) for share in found.agents[kind])))
    left_out = f"; left out: {found.not_finished} not finished" if found.not_finished else ""
    notes = [f"N = {found.participants} finished{left_out}"]
    if num_blocks:
        notes.append(
            f"mean ± half of its 95 % interval (Student's t); who guesses is right in {found.chance:.2f}"
        )
    if found.as_agents is not None:
        notes.append(f"messages that are exactly the agents' own: {found.as_agents:.0%}")
    notes += [SIMULATED] if study.simulated else []
    title = f"{about}; participants as {found.role}: {ROLES[found.role]}"
    return Table(columns=columns, rows=rows, title=title, notes=notes)


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
