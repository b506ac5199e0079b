import csv
import io
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ecsuite.cli import COMMANDS

CPU = "--device cpu --workers 1 --quiet"
NANO_CPU = f"--preset nano {CPU}"
ICY = "icy icy_study.yaml --seeds 1 --workers 1 --quiet --protocol"
SIZES = "--num-attributes 2 --num-values 3 --word-length 2"
SCORES = "score.json score_perm.json baseline_no_pretrain.json"
CBM = (
    "training.num_examples=64 training.num_epochs=1 evaluation.num_valid=32 evaluation.corpus_size=60 "
    "world.num_values=4 task.num_targets=4 task.num_distractors=4"
)
FAST = {
    "list": "list channel gumbel",
    "list, game": "list game disc_small",
    "list, kinds": "list",
    "score": "score perm --metrics topsim,ami,elcc",
    "score, full": "score perm --metrics topsim,morphemes --all",
    "show": "show finished",
    "evaluate": "evaluate finished",
    "evaluate --intervene": "evaluate finished --intervene drop,noise",
    "cross-play": "cross-play finished",
    "compare": f"compare {SCORES} baseline_random.json",
    "correlate": f"compare correlations {SCORES} --translation inputs/translations.json",
    "table": "compare table finished",
    "icy --plan": f"{ICY} exact --plan",
    "xtreme --baselines": "xtreme --baselines --tasks udpos --data inputs/tasks --quiet",
    "xtreme evaluate": "xtreme evaluate --predictions inputs/predictions --labels inputs/labels --languages available",
}
SLOW = {
    "check": "check gumbel --kind channel", "icy, exact": f"{ICY} exact",
    "icy, budget": f"{ICY} budget --max-steps 50",
    "icy, end-to-end": f"{ICY} end-to-end --receiver fc1l --max-steps 5 --grammar concat",
    "icy, metrics": f"icy --protocol metrics --grammar perm --seeds 1 --quiet {SIZES}",
    "baseline": f"score reference no_pretrain,preset=nano {CPU}",
    "translate": f"translate perm --pairs inputs/pairs.tsv {NANO_CPU}",
    "cbm": "cbm cbm_study.yaml --workers 1 --device cpu --quiet " + " ".join(f"--set {each}" for each in CBM.split()),
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_folder(small_files, monkeypatch):
    """Small files in the folder, and the signals as they were afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def printed_as(ecsuite):
    def printed_as(command, form):
        code, out, err = ecsuite(*command.split(), "--as", form)
        assert code == 0, err
        return out

    return printed_as


@pytest.mark.sample(8)
@pytest.mark.parametrize("command", FAST.values(), ids=FAST)
def test_a_command_prints_its_tables_as_csv_and_markdown(printed_as, command):
    tables = printed_as(command, "csv").rstrip("\n").split("\n\n")
    for table in tables:
        head, *rows = csv.reader(io.StringIO(table))
        assert rows and all(len(row) == len(head) == len(set(head)) for row in rows)
    page = printed_as(command, "markdown")
    assert page.count("\n| --- |") + page.count("\n| ---: |") == len(tables)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_latex_of_every_command_compiles(printed_as):
    commands = FAST | SLOW
    assert {command.split()[0] for command in commands.values()} <= COMMANDS.keys()
    lines = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}"]
    lines += [r"\usepackage{array,booktabs,longtable}", r"\begin{document}"]
    for command in commands.values():
        table = printed_as(command, "latex")
        assert table.count(r"\toprule") == table.count(r"\bottomrule") > 0
        lines += [r"\noindent\tiny", table, r"\clearpage"]
    Path("tables.tex").write_text("\n".join([*lines, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
