import json

import pytest

from compared_sources import paper_results
from ecsuite.corpus import Corpus
from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.comparison import PAPER_CHRF
from ecsuite.eval.xferbench.correlation import read_translation
from ecsuite.formats import write_corpus
from ecsuite.runtime.errors import ConfigError


@pytest.fixture(autouse=True)
def paper(monkeypatch, ecsuite, tmp_path):
    """Few resamples, and the paper's Table 5 as runs in the folder."""
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 999)
    for result in paper_results():
        write(tmp_path / "runs" / result.name / "results.json", {"by_target": dict(result.by_target[0])})


@pytest.fixture
def printed(ecsuite):
    def printed(*arguments):
        code, out, err = ecsuite(*arguments)
        assert (code, err) == (0, "")
        return out

    return printed


def write(file, data):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def test_compare_writes_json_and_a_picture(as_json, tmp_path):
    files = ("--out", "made/a.json", "--plot", "made/a.png")
    data = as_json("compare", "runs", *files, "--baseline", "French")
    assert data == json.loads((tmp_path / "made/a.json").read_text())
    assert (data["baseline"], len(data["sources"]), len(data["differences"])) == ("French", 17, 16)
    assert (tmp_path / "made/a.png").read_bytes().startswith(b"\x89PNG")


NO_INPUTS = "expected scores of a collection, or XferBench results and --translation FILE, or --paper"
MISTAKES = {
    "compare runs/French --metric topsim": "runs/French/results.json: no score topsim",
    "compare runs/French --metric topsim --plot new/a.png": "runs/French/results.json: no score topsim",
    "compare none --plot new/a.png": "none: no such file or folder of results",
    "compare runs/French --baseline Frensh": "unknown baseline 'Frensh'; did you mean 'French'",
    "compare runs/French --plot new/a.jpg": "new/a.jpg: expected the name of a picture, ending in .svg, .pdf, .png",
    "compare runs/French --out runs": "runs: expected a file name, got a folder", "compare correlations": NO_INPUTS,
    "compare correlations runs": "expected two metrics that differ between corpora, got 0",
    "compare correlations runs --translation runs --metric blue": "unknown metric 'blue'; did you mean 'bleu'",
    "compare correlations --paper --metric bleu": "--metric: not read by --paper; read by --translation",
    "compare correlations runs --translation chrf.json --metric bleu": "all sources have the same translation",
}  # fmt: skip


@pytest.mark.parametrize("line", MISTAKES)
def test_what_is_refused_leaves_no_folder(ecsuite, tmp_path, line):
    write(tmp_path / "chrf.json", [{"name": name, "bleu": 1.0} for name in PAPER_CHRF["frozen"]])
    out = () if "--out" in line else ("--out", "new/a.json")
    code, printed, err = ecsuite(*line.split(), *out)
    assert (code, printed) == (2, "") and err.startswith(MISTAKES[line]), err
    assert not (tmp_path / "new").exists()


def test_correlate_the_paper(printed, as_json):
    out = printed("compare", "correlations", "--paper")
    for value in ("-0.75", "-0.84", "-0.79"):
        assert value in out.split("Pearson correlations as printed")[0]
    settings = as_json("compare", "correlations", "--paper")["settings"]
    assert list(settings) == ["full", "frozen", "reduced"]
    assert [each["name"] for each in settings["full"]["coefficients"]] == ["Pearson", "Kendall", "Spearman"]


def test_correlate_files(printed, tmp_path):
    entries = [{"name": name, "chrf": value} for name, value in PAPER_CHRF["frozen"].items()]
    write(tmp_path / "chrf.json", entries[:-1])
    out = printed("compare", "correlations", "runs", "--translation", "chrf.json", "--out", "a.json")
    assert "all: left out, because in one list only: No pretrain." in out
    assert len(json.loads((tmp_path / "a.json").read_text())["settings"][""]["sources"]) == 16


NO_RESULT = "expected an object with `name` and `chrf`, or a list of such"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "1: not JSON"),
        ("[" * 100_000, "not JSON: nesting that is too deep"),
        ('{"name": "a", "chrf": 1' + "0" * 400 + "}", "not JSON: expected integers below"),
        ('{"name": "a"}', NO_RESULT), ("[3]", NO_RESULT),
        ('{"name": "a", "chrf": "x"}', "chrf of a: expected a number, got 'x'"),
        (None, "no such file or folder of translation results"),
        ("folder", "expected a translation result, a JSON object with `name` and `chrf`"),
    ],
)  # fmt: skip
def test_mistakes_in_translations(tmp_path, text, message):
    file = tmp_path / "a.json"
    if text == "folder":
        file.mkdir()
    elif text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_translation([file], "chrf")
    line = ":" if message[0].isdecimal() else ": "
    assert str(error.value).startswith(f"{file}{line}{message}")


def test_translations_that_were_measured_otherwise(tmp_path):
    choices = [("a", "full", "mini", 0), ("a", "full", "mini", 1), ("b", "frozen", "full", 0)]
    entries = [
        {"name": name, "chrf": 1.0, "setting": setting, "signature": f"translate|preset:{preset}|seed:{seed}"}
        for name, setting, preset, seed in choices
    ]
    file = write(tmp_path / "a.json", entries)
    assert read_translation([file], "chrf") == {"full": {"a": 1.0}, "frozen": {"b": 1.0}}
    entries[2]["setting"] = "full"
    write(file, entries)
    with pytest.raises(ConfigError, match=r"^b cannot be compared with a: preset full, not mini$"):
        read_translation([file], "chrf")


def test_similarity_of_two_languages(printed, ecsuite, tmp_path):
    for name, messages in (("one", [[1], [2, 3], [3]]), ("other", [[1], [2, 2], [3]])):
        write_corpus(Corpus(messages, meanings=[[0, 0], [0, 1], [1, 1]]), tmp_path / name)
    found = json.loads(printed("compare", "one", "other", "--metric", "language_similarity", "--json"))
    assert found["scores"][0]["value"] == pytest.approx(5 / 6)
    code, _, err = ecsuite("compare", "one", "--metric", "language_similarity")
    assert (code, err) == (2, "language_similarity compares 2 languages, got 1 results\n")


def test_trainings_of_one_game_are_one_source_in_xferbench_too(ecsuite, tmp_path):
    """Three seeds of two channels, whose difference is that of the table: over trainings, not over languages."""
    for kind, level in (("a", 6.0), ("b", 5.9)):
        for seed in (1, 2, 3):
            folder = tmp_path / "mine" / f"{kind}{seed}"
            folder.mkdir(parents=True)
            config = {"name": "game", "channel": {"kind": kind}, "training": {"seed": seed}}
            (folder / "metadata.json").write_text(json.dumps({"config": config}))
            (folder / "config.yaml").write_text(json.dumps(config))
            values = {target: level + seed / 5 + place / 10 for place, target in enumerate("abcdefgh")}
            score = {"name": "xferbench", "value": sum(values.values()) / 8, "details": {"by_target": values},
                     "signature": "xferbench|preset:mini|targets:embedded|precision:fp32|seed:0|v:1"}  # fmt: skip
            (folder / "scores.json").write_text(json.dumps({"corpus": {}, "scores": [score]}))
    code, out, err = ecsuite("compare", tmp_path / "mine", "--metric", "xferbench", "--json")
    assert code == 0, err
    data = json.loads(out)
    [difference] = data["differences"]
    assert [len(source["seeds"]) for source in data["sources"]] == [3, 3]
    assert difference["mean"] == pytest.approx(0.1) and difference["conclusion"] == "not significant"


def test_python_compares_xferbench_as_the_command(as_json):
    """Two of the paper's sources, of one seed: over languages."""
    import ecsuite as ec

    told = as_json("compare", "runs/French", "runs/Disc, small", "--metric", "xferbench")["differences"]
    found = ec.compare("runs/French", "runs/Disc, small", metric="xferbench")["differences"]
    assert [(each["mean"], each["p_value"], each["conclusion"]) for each in found] == [
        (each["mean"], each["p_value"], each["conclusion"]) for each in told
    ]
