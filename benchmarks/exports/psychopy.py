"""A wide CSV of PsychoPy (psychopy 2026.2.5) of a naming task, as its ExperimentHandler writes it without a window.

    pip install --no-deps psychopy==2026.2.5
    pip install numpy scipy pandas openpyxl requests packaging pyyaml json_tricks msgpack xlrd six future i18next
    pip install pyglet pillow matplotlib
    python benchmarks/exports/psychopy.py tests/formats/exports

writes `psychopy.csv`. Four objects are shown and named, a word an attribute; one of them twice without an answer.
"""

import sys
from pathlib import Path

from psychopy import data

COLORS = {"red": "ne", "blue": "wa"}
SHAPES = {"star": "po", "box": "ki"}

file = Path(sys.argv[1], "psychopy")
study = data.ExperimentHandler(
    name="naming",
    extraInfo={"participant": "01", "session": "001"},
    dataFileName=str(file),
    savePickle=False,
    saveWideText=True,
)
objects = [{"color": color, "shape": shape} for color in COLORS for shape in SHAPES]
trials = data.TrialHandler(nReps=2, method="sequential", trialList=objects, name="trials")
study.addLoop(trials)
for trial in trials:
    said = f"{COLORS[trial['color']]} {SHAPES[trial['shape']]}"
    trials.addData("typed.text", "" if trials.thisN == 4 else said)
    trials.addData("key.keys", None)
    study.nextEntry()
study.close()
