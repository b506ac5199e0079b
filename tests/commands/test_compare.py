"""`compare` and `correlate` as users type them."""

import json

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.compare import compare
from ecsuite.commands.correlate import correlate
from ecsuite.config import ConfigError
from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.comparison.anchors import PAPER_CHRF, paper_results
from ecsuite.eval.xferbench.comparison.correlation_report import read_translation


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 999)


@pytest.fixture
def ecsuite(monkeypatch, tmp_path):
    """Runs a command in a folder that holds the paper's Table 5 as runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for result in paper_results():
        folder = tmp_path / "runs" / result.name
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"by_target": dict(result.by_target[0])}))
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(compare)
    app.command()(correlate)

    def ecsuite(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return ecsuite


def test_compare_prints_tables_and_notes(ecsuite):
    out = ecsuite("compare", "runs/French", "runs/Random", "runs/No pretrain")
    assert "unsigned (another program)" in out
    assert "French" in out and "better" in out and "worse" in out and "baseline" in out
    assert "No published scores: the protocol of unsigned results is unknown." in out
    assert "difference" not in ecsuite("compare", "runs/French")


def test_compare_writes_json_and_a_picture(ecsuite, tmp_path):
    out = ecsuite(
        "compare", "runs", "--out", "made/a.json", "--picture", "made/a.png", "--json", "--baseline", "French"
    )
    data = json.loads(out)
    assert data == json.loads((tmp_path / "made/a.json").read_text())
    assert (data["baseline"], len(data["sources"]), len(data["differences"])) == ("French", 17, 16)
    assert (tmp_path / "made/a.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_says_how_many_pairs_are_corrected(ecsuite):
    out = ecsuite("compare", "runs/French", "runs/Random", "runs/Russian")
    assert "3 comparisons, corrected by Holm's procedure" in out
    assert "with Holm's correction for 3 comparisons" in " ".join(out.split())
    data = json.loads(ecsuite("compare", "runs/French", "runs/Random", "runs/Russian", "--json"))
    assert data["correction"] == {"method": "Holm", "comparisons": 3}
    assert all(each["p_holm"] >= each["p_value"] for each in data["differences"])


def test_compare_any_metric(ecsuite, tmp_path):
    for name, value in (("a", 0.25), ("b", 0.75), ("c", 0.5)):
        score = {
            "name": "topsim",
            "value": value,
            "ci95": [value - 0.1, value + 0.1],
            "signature": "topsim|v:2",
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "scores": [score]}))
    out = ecsuite("compare", "a.json", "b.json", "c.json", "--metric", "topsim")
    assert "All pairs: first minus second, 3 comparisons" in out
    assert ["b", "-", "a", "0.5000", "0.3586", "…", "0.6414", "<.001", "higher"] in [
        line.split() for line in out.splitlines()
    ]
    assert "p: with Holm's correction for 3 comparisons; higher or lower: below .05." in out
    assert all(len(line) <= 80 for line in out.split("95 % CI and p:")[0].splitlines())
    found = json.loads(
        ecsuite(
            "compare",
            "a.json",
            "b.json",
            "--metric",
            "topsim",
            "--baseline",
            "a",
            "--json",
            "--out",
            "d.json",
        )
    )
    assert found == json.loads((tmp_path / "d.json").read_text())
    assert (found["metric"], found["differences"][0]["verdict"]) == ("topsim", "higher")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs/French", "--metric", "topsim"], "runs/French/results.json: no score topsim in it"),
        (
            ["runs/French", "--metric", "topsim", "--picture", "a.png"],
            "--picture: not read by --metric topsim; read by xferbench",
        ),
        (["none"], "none: no such file or folder of results"),
        (["runs/French", "--baseline", "Frensh"], "unknown baseline 'Frensh'; did you mean 'French'"),
        (
            ["runs/French", "--picture", "a.jpg"],
            "a.jpg: expected the name of a picture, ending in .svg or .png",
        ),
        (["runs/French", "--out", "runs"], "runs: expected a file name, got a folder"),
    ],
)
def test_mistakes_in_compare(ecsuite, arguments, message):
    with pytest.raises(ConfigError) as error:
        ecsuite("compare", *arguments)
    assert str(error.value).startswith(message)


def test_correlate_the_paper(ecsuite):
    out = ecsuite("correlate", "--paper")
    for value in ("-0.75", "-0.84", "-0.79"):
        assert value in out.split("Pearson correlations as printed")[0]
    data = json.loads(ecsuite("correlate", "--paper", "--json"))
    assert list(data["settings"]) == ["full", "frozen", "reduced"]
    assert [each["name"] for each in data["settings"]["full"]["coefficients"]] == [
        "Pearson",
        "Kendall",
        "Spearman",
    ]


def test_correlate_files(ecsuite, tmp_path):
    entries = [{"name": name, "chrf": value, "bleu": 1.0} for name, value in PAPER_CHRF["frozen"].items()]
    (tmp_path / "chrf.json").write_text(json.dumps(entries[:-1]))
    out = ecsuite("correlate", "runs", "--translation", "chrf.json", "--out", "a.json")
    assert "all: left out, because in one list only: No pretrain." in out
    found = json.loads((tmp_path / "a.json").read_text())["settings"][""]
    assert len(found["sources"]) == 16
    with pytest.raises(ConfigError, match=r"^all sources have the same translation score"):
        ecsuite("correlate", "runs", "--translation", "chrf.json", "--metric", "bleu")


def test_translations_by_setting_from_a_folder(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for number, (setting, value) in enumerate((("full", 40.0), ("full", 42.0), ("frozen", 20))):
        (folder / f"{number}.json").write_text(json.dumps({"name": "a", "setting": setting, "chrf": value}))
    (folder / "other.json").write_text('{"loss": 1}')
    assert read_translation([folder], "chrf") == {"full": {"a": 41.0}, "frozen": {"a": 20.0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON: nesting that is too deep"),
        ('{"name": "a", "chrf": 1' + "0" * 400 + "}", "not JSON: expected integers below"),
        ('{"name": "a"}', "expected an object with `name` and `chrf`, or a list of such"),
        ("[3]", "expected an object with `name` and `chrf`, or a list of such"),
        ('{"name": "a", "chrf": "x"}', "chrf of a: expected a number, got 'x'"),
    ],
)
def test_mistakes_in_translations(tmp_path, text, message):
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_translation([file], "chrf")
    assert str(error.value).startswith(f"{file}: {message}")


def test_translations_that_were_measured_otherwise(tmp_path):
    entries = [
        {
            "name": name,
            "chrf": 1.0,
            "setting": setting,
            "signature": f"translate|preset:{preset}|seed:{seed}|v:1",
        }
        for name, setting, preset, seed in (
            ("a", "full", "mini", 0),
            ("a", "full", "mini", 1),
            ("b", "frozen", "full", 0),
        )
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(entries))
    assert read_translation([file], "chrf") == {"full": {"a": 1.0}, "frozen": {"b": 1.0}}
    entries[2]["setting"] = "full"
    file.write_text(json.dumps(entries))
    with pytest.raises(ConfigError, match=r"^b cannot be compared with a: preset full, not mini$"):
        read_translation([file], "chrf")


def test_no_translations(tmp_path):
    with pytest.raises(ConfigError, match=r"no such file or folder of translation results$"):
        read_translation([tmp_path / "none"], "chrf")
    with pytest.raises(
        ConfigError, match=r"expected a translation result, a JSON object with `name` and `chrf`"
    ):
        read_translation([tmp_path], "chrf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected XferBench results and --translation FILE, or --paper"),
        (["runs"], "expected XferBench results and --translation FILE, or --paper"),
        (["runs", "--paper"], "results: not read by --paper; read by --translation"),
        (["runs", "--translation", "runs", "--metric", "blue"], "unknown metric 'blue'; did you mean 'bleu'"),
    ],
)
def test_mistakes_in_correlate(ecsuite, arguments, message):
    with pytest.raises(ConfigError) as error:
        ecsuite("correlate", *arguments)
    assert str(error.value).startswith(message)
