"""Logs of Inspect (inspect-ai 0.3.285) of a naming task, as JSON and in its packed form.

    pip install inspect-ai==0.3.285
    python benchmarks/exports/inspect.py tests/formats/exports

writes `inspect.json` and `inspect.eval`. No model is queried: the solver itself names the objects.
"""

import sys
import tempfile
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

COLORS = {"red": "ne", "blue": "wa"}
SHAPES = {"star": "po", "box": "ki"}


@solver
def naming():
    """Names of objects, a word an attribute."""

    async def solve(state, generate):
        said = f"{COLORS[state.metadata['color']]} {SHAPES[state.metadata['shape']]}"
        state.output = ModelOutput.from_content("none", said)
        state.messages.append(state.output.message)
        return state

    return solve


folder = Path(sys.argv[1])
samples = [
    Sample(input=f"Name the {color} {shape}.", metadata={"color": color, "shape": shape})
    for color in COLORS
    for shape in SHAPES
]
for form in ("json", "eval"):
    with tempfile.TemporaryDirectory() as logs:
        task = Task(dataset=samples, solver=naming(), name="naming")
        evaluate(task, model="none", log_format=form, log_dir=logs, display="none")
        (log,) = Path(logs).iterdir()
        (folder / f"inspect.{form}").write_bytes(log.read_bytes())
