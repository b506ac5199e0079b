"""The methods section says what the files of runs say, with the works that it cites, and nothing else."""

import json
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest

import ecsuite as ec

CHANCE = (
    "The chance level of accuracy, for the best of several strategies that read no message (by position, frequency "
    "and similarity), is 0.25."
)
GAME = (
    "Agents were trained on the game game with ecsuite (The ecsuite authors 2026). The world is attributes (objects "
    "with attribute values, drawn at random; one target per round): number of attributes 2, number of values 4. The "
    "task is discrimination (identify the sender's object among candidates): number of distractors 3. The channel is "
    "gumbel (Gumbel-softmax) (Jang et al. 2017; Maddison et al. 2017): vocabulary size 5, message length limit 3, "
    "temperature 1.0, temperature decay 1.0, minimum temperature 0.1."
)
TRAINING = (
    "Training minimises the loss of the task. The optimiser is adam (Kingma & Ba 2015): learning rate 0.001. The "
    "schedule of the learning rate is constant (the same learning rate at every step). Training lasts at most 2 "
    "epochs of 512 rounds, in batches of 64, that is 16 steps, in fp32. Agents are evaluated every 8 steps, and "
    "nothing stops training before its end."
)
RUNS = (
    "The agents were trained once, with seed 1, which determines all random draws. "
    "Training ended after all epochs, at step 16."
)
SCORES = (
    "Languages were scored by the following metrics. topsim (topographic similarity) (Brighton & Kirby 2006; "
    "Lazaridou et al. 2018): similar meanings have similar messages; 1 if both distances rank all pairs of messages "
    "alike (message distance edit/mean, meaning distance hamming, eos strip, pairs all, version 4)."
)


def test_the_known_text_of_a_known_run(ecsuite, small_files):
    code, out, err = ecsuite("methods", "finished", "--metrics", "topsim")
    assert (code, err) == (0, "")
    paragraphs = out.split("\n\n")
    assert [paragraphs[place] for place in (0, 2, 3, 5)] == [GAME, TRAINING, RUNS, SCORES]
    assert CHANCE in paragraphs[4]
    assert paragraphs[6].startswith("Results were computed with ecsuite ") and "EPYC" not in out
    assert paragraphs[7] == "**References**"
    assert "- Diederik P. Kingma, Jimmy Ba (2015). Adam: " in paragraphs[8]
    assert "The machine: " in ecsuite("methods", "finished", "--hardware")[1]


def test_the_keys_of_latex_are_those_of_its_bibtex(ecsuite, small_files, tmp_path):
    code, out, err = ecsuite("methods", "finished", "--as", "latex", "--bib", "a.bib")
    assert (code, err) == (0, "")
    keys = {key for keys in re.findall(r"\\cite{([^}]*)}", out) for key in keys.split(",")}
    assert keys == set(re.findall(r"@\w+{(\w+),", (tmp_path / "a.bib").read_text())) and "kingma2015" in keys
    assert r"~\cite{jang2017,maddison2017}" in out and r"past end blank" in out
    ecsuite("methods", "finished", "--bib", "a.bib")
    cited = ecsuite("cite", "finished")[1]
    of_run = set(re.findall(r"@\w+{(\w+),", cited)) - {"boldt2024xferbench"}
    assert of_run <= set(re.findall(r"@\w+{(\w+),", (tmp_path / "a.bib").read_text()))


def test_studies_and_grammars_tell_their_settings(small_files, tmp_path):
    text = str(ec.methods("perm"))
    assert text.startswith("The corpus perm has ") and "the artificial language perm (perm: " in text
    assert "number of attributes 2, number of values 3, word length 2" in text and "(Perkins 2021)" in text
    runs = [{"seed": 1, "reached": True}, {"seed": 2, "reached": False}]
    study = {
        "protocol": "exact", "role": "sender", "models": ["husendz:dgsend"], "receivers": [], "grammars": ["rot"],
        "target": 0.8, "cap_ratio": 20.0, "hidden_size": 128, "supervised": "soft", "num_values": 10,
    }  # fmt: skip
    rows = [{"model": "husendz:dgsend", "seeds": [1, 2], "cells": [{"grammar": "rot", "runs": runs}]}]
    (tmp_path / "icy.json").write_text(json.dumps({"format": 1, "study": study, "rows": rows}))
    text = str(ec.methods(tmp_path / "icy.json"))
    assert "The models, as senders, are husendz:dgsend (Perkins 2021; Dagan et al. 2020)." in text
    assert "Settings: target 0.8, cap ratio 20.0, hidden size 128, number of values 10." in text
    assert "within the maximum number of updates by husendz:dgsend on rot (seed 2)." in text
    with open("finished/metadata.json") as file:
        config = json.load(file)["config"]
    run = {"seed": 1, "chance": {"accuracy": 0.25}}
    row = {"name": "thing_qt", "config": config, "runs": [run], "failures": {"2": "it diverged"}}
    study = {"name": "cbm_table1", "about": "", "published": "table1", "seeds": [1, 2]}
    data = {"format": 1, "study": study, "rows": [row], "findings": []}
    (tmp_path / "cbm.json").write_text(json.dumps(data))
    text = str(ec.methods(tmp_path / "cbm.json"))
    assert text.startswith(GAME) and "Each was trained with 2 seeds (1 and 2)" in text
    assert "All means exclude the runs that failed: thing_qt with seed 2: it diverged." in text
    assert CHANCE in text


@pytest.mark.slow
@pytest.mark.skipif(which("pdflatex") is None, reason="LaTeX is not installed")
def test_the_text_compiles_and_all_works_are_found(small_files, tmp_path):
    """A check by the programs of authors: pdflatex and bibtex; looked at in November 2026."""
    found = ec.methods("finished", hardware=True)
    (tmp_path / "methods.tex").write_text(found.text("latex"))
    (tmp_path / "works.bib").write_text(found.bibtex())
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\begin{document}\input{methods}"
        r"\bibliographystyle{plain}\bibliography{works}\end{document}"
    )
    for program in ("pdflatex", "bibtex", "pdflatex", "pdflatex"):
        options = ["-interaction=nonstopmode", "-halt-on-error"] if program == "pdflatex" else []
        subprocess.run([program, *options, "paper"], cwd=tmp_path, check=True, capture_output=True)
    assert "undefined" not in (tmp_path / "paper.log").read_text(errors="replace")
    assert (tmp_path / "paper.bbl").read_text().count("bibitem{") == found.bibtex().count("@")


def test_games_that_are_played_are_not_said_to_be_trained(small_files):
    Path("naming").mkdir()
    play = "{kind: naming, window: 30, participant: {kind: collapsing}}"
    Path("naming", "config.yaml").write_text(f"name: naming\nplay: {play}\ntraining: {{seed: 4}}\n")
    Path("naming", "metadata.json").write_text('{"training": {"stopped": "epochs", "step": 9}}')
    told = ec.methods("finished", "naming")
    text = str(told)
    assert "were trained on the game game with" in text and "Agents played the game naming" in text
    assert "The game was played once, with seed 4" in text and "The agents were trained once, with seed 1" in text
    one, other = told.to_json()["paragraphs"]["game"].split("\n\n")
    assert "trained on the game game" in one and "played the game naming" in other
