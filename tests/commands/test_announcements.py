import shutil
import sys
from pathlib import Path

import pytest

NANO = "--cache kept --device cpu"
STUDIES = {
    "icy": f"icy --model fc1l --grammar perm --seeds 1 {NANO}", "cbm": f"cbm cbm_study.yaml {NANO}",
    "translate": f"translate perm --pairs inputs/pairs.tsv --preset nano {NANO}",
    "xtreme": f"xtreme perm --tasks udpos --data inputs/tasks --languages de --preset nano {NANO}",
    "score": f"score perm --metrics xferbench,preset=nano {NANO}",
    "reference": f"score reference no_pretrain,preset=nano {NANO}",
    "collection": f"score {' '.join(f'perm{number}' for number in range(7))} --metrics topsim --cache kept",
    "sweep": "sweep study.yaml --out kept --device cpu",
}  # fmt: skip


@pytest.fixture(autouse=True)
def study(small_files):
    Path("study.yaml").write_text("base: disc_tiny\nvary: {channel.vocab_size: [3, 4]}\nseeds: 1\n")
    keys = "search: {trials: 3, maximise: topsim, over: {channel.vocab_size: [3, 9, int]}}\nscore: [topsim]\n"
    Path("search.yaml").write_text(f"base: disc_tiny\nseeds: 1\n{keys}")
    for number in range(7):
        shutil.copytree("perm", f"perm{number}")


@pytest.fixture
def announces_nothing(refused):
    def announces_nothing(line, words):
        before = {file for file in Path().rglob("*") if file.is_file()}
        assert words in refused(*line.split())
        assert {file for file in Path().rglob("*") if file.is_file()} == before, line

    return announces_nothing


@pytest.mark.parametrize("name", STUDIES)
def test_where_jobs_cannot_be_computed(announces_nothing, monkeypatch, name):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "ray", None)
    announces_nothing(f"{STUDIES[name]} --on slurm", "--on slurm: there is no sbatch here")
    announces_nothing(f"{STUDIES[name]} --on ray", "'.[ray]'")


MISSING = {
    "matplotlib": [
        f"{STUDIES['icy']} --plot a.svg", f"{STUDIES['cbm']} --plot a.svg", f"{STUDIES['xtreme']} --plot a.svg",
        f"{STUDIES['score']} --plot a.svg", f"{STUDIES['score']} --plot pictures",
        f"{STUDIES['collection']} --plot a.svg", "compare score.json baseline_random.json --plot a.svg",
        "compare table finished --plot a.svg", "cross-play finished --plot a.svg", "show disc_tiny --plot a.svg",
    ],
    "transformers": [
        STUDIES["translate"],
        "xtreme --model bert-base-cased --tasks udpos --data inputs/tasks --languages de --preset nano",
    ],
    "datasets": [
        "data wikipedia --languages da --out folder", "data wmt14 --pairs 10 --out folder/a.gz",
        "train-game hf:mnist",
    ],
    "huggingface_hub": ["data elcc --out folder"],
    "tensorboard": ["train-game disc_tiny --log tensorboard"],
    "optuna": ["sweep search.yaml"],
    "starlette": ["people try concat --no-browser", "people play finished --no-browser"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("library", "line"),
    [(library, line) for library, lines in MISSING.items() for line in lines],
    ids=lambda value: value[:40],
)
def test_where_a_library_is_missing(announces_nothing, monkeypatch, library, line):
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    announces_nothing(line, "pip install -e '.[")
