"""The page of every score, made from the traits of the metrics: `python tests/scores_page.py` writes it."""

from pathlib import Path

from ecsuite.commands.part_details import options_of
from ecsuite.eval.metrics import METRIC_OF, METRICS, traits_of
from ecsuite.eval.metrics.traits import QUESTIONS, Question, Traits

FILE = Path(__file__).parents[1] / "docs" / "reference" / "scores.md"
HEAD = """# Every score

Of each score: its name spelt out, which way is better, what is a high value, what it needs of a corpus,
and why the number of messages changes it (which is then in its signature). `ecsuite list metric NAME` says
the same with the metric's definition. The page is made from the source by `python tests/scores_page.py`.
"""
ARROWS = {"higher": "↑", "lower": "↓", None: ""}


def page() -> str:
    """The text of the page."""
    by_question: dict[Question, list[Traits]] = {}
    for name in METRIC_OF:
        by_question.setdefault(traits_of(name).question, []).append(traits_of(name))
    parts = [HEAD]
    for question, heading in QUESTIONS.items():
        lines = ["| score | | what is a high value | needs | size |", "|---|---|---|---|---|"]
        lines += [row(traits) for traits in by_question[question]]
        parts.append("\n".join([f"## {heading}", "", *lines, ""]))
    lines = ["| metric | option | default | values | meaning |", "|---|---|---|---|---|"]
    for name in METRICS.parts:
        options = METRICS.load(name).traits[0].options
        for each in options_of(options) if options else ():
            lines.append(f"| `{name}` | `{each.name}` | `{each.default}` | {each.values} | {each.about} |")
    return "\n".join([*parts, "## Options", "", *lines, ""])


def row(traits: Traits) -> str:
    """A row about a score."""
    metric = METRIC_OF[traits.name]
    of = f" (of `{metric}`)" if metric not in (traits.name, "elcc") else ""
    title = f": {traits.title}" if traits.title else ""
    size = "" if traits.depends_on_size is None else traits.depends_on_size
    cells = [
        f"`{traits.name}`{of}{title}",
        ARROWS[traits.direction],
        traits.high or traits.about,
        ", ".join(traits.needs),
        size,
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    FILE.write_text(page())
