import json
import statistics
from statistics import correlation

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.xtreme_evaluate import xtreme_evaluate
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(xtreme_evaluate)

    def run(*arguments):
        folders = ("--predictions", "predictions", "--labels", "labels")
        done = CliRunner().invoke(app, [*folders, *map(str, arguments)])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def cells(out, first):
    return next(line.split() for line in out.splitlines() if line.startswith(first))


def test_the_table_of_languages(run, write_submission, tmp_path):
    write_submission(tmp_path)
    out = run("--by-language")
    assert cells(out, "en ") == ["en", "English", "IE:", "Germanic", "Latin", *["100.0"] * 7, "-", "-"]
    assert cells(out, "he ")[4:] == ["-", "-", "33.3", "66.7", "-", "-", "-", "-", "50.0"]
    codes = [line[:2] for line in out.splitlines() if line[:3].strip().islower() and line[2:3] == " "]
    assert len(codes) == 40
    assert codes[:3] == ["ar", "he", "vi"]
    assert "…" not in out


def analysed(run, tmp_path, *options):
    """The analyses of a submission, with a data folder that has the words of entities in English and German."""
    for name, text in {
        "udpos/train-en.tsv": "a\tDET\nb\tNOUN\nc\tNOUN\nd\tADJ\n",
        "panx/train-en.tsv": "Ann\tB-PER\nLee\tI-PER\n\nin\tO\nOslo\tB-LOC\n",
        "panx/test-en.tsv": "Ann\nLee\nin\nOslo\n\nyes\n",
        "panx/dev-de.tsv": "Ann\tB-PER\nLee\tI-PER\nin\tO\nBonn\tB-LOC\n\nja\tO\n",
    }.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text(text)
    out = run("--analyses", "--json", "--languages", "available", *options)
    return json.loads(out)["ecsuite"]["analyses"]


def test_scores_by_group_and_by_the_size_of_wikipedia(run, write_submission, tmp_path):
    write_submission(tmp_path, ("pawsx",))
    (tmp_path / "articles.tsv").write_text("en\t100\nde\t10\nfr\t20\nes\t30\n")
    found = analysed(run, tmp_path, "--articles", tmp_path / "articles.tsv", "--plot", tmp_path / "wikipedia.svg")
    assert found["by_family"]["IE: Germanic"] == {"pawsx": 75}
    assert found["by_family"]["Japonic"] == {"pawsx": 50}
    assert found["by_script"]["Latin"] == {"pawsx": pytest.approx(62.5)}
    # Scores 100, 50, 50, 50 at 100, 10, 20, 30 articles.
    sizes, scores = (100, 10, 20, 30), (100, 50, 50, 50)
    assert found["correlation_with_wikipedia_articles"]["pawsx"] == pytest.approx(correlation(sizes, scores))
    assert (tmp_path / "wikipedia.svg").is_file()
    run("--analyses", "--plot", tmp_path / "groups.png")
    assert (tmp_path / "groups.png").is_file()
    for text, message in (("en\tmany\n", "above 0, got 'many'"), ("en\n", "expected a language's code")):
        (tmp_path / "articles.tsv").write_text(text)
        with pytest.raises(ConfigError, match=rf"articles.tsv:1: .*{message}"):
            run("--analyses", "--articles", tmp_path / "articles.tsv")
    with pytest.raises(ConfigError, match="--articles: used with --analyses only"):
        run("--articles", tmp_path / "articles.tsv")


def test_published_scores_are_beside_the_submission(run, write_submission, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    write_submission(tmp_path, ("xnli", "xquad"))
    out = run("--published")
    assert cells(out, "Human")[2:8] == ["-", "92.8", "97.5", "97.0", "-", "91.2"]
    assert cells(out, "predictions")[:3] == ["predictions", "-", "76.7"]
    assert "MMTE is closed" in out
    published = packaged_yaml("ecsuite.eval.xtreme.scoring", "published.yaml")
    for entry in published.values():
        if "average" in entry:  # the paper's average is over F1 and exact match of questions
            scores = [statistics.mean(each) if isinstance(each, list) else each for each in entry["scores"].values()]
            assert statistics.mean(scores) == pytest.approx(entry["average"], abs=0.06)


def test_words_of_other_sentences_are_refused(run, write_submission, tmp_path):
    write_submission(tmp_path, ("panx",))
    with pytest.raises(ConfigError, match=r"expected words of panx in 'ar', test or dev, with the labels' 2"):
        analysed(run, tmp_path, "--data", tmp_path / "data")


def test_the_published_scores_need_no_predictions():
    """Hu et al. (2020), table 2."""
    app, runner = typer.Typer(pretty_exceptions_enable=False), CliRunner()
    app.command()(xtreme_evaluate)
    shown = runner.invoke(app, ["--published", "--json"])
    scores = json.loads(shown.stdout)["published"]
    assert scores["mBERT"]["average"] == 59.8 and scores["Human"]["scores"]["pawsx"] == 97.5
    for more in ([], ["--published", "--analyses"], ["--published", "--labels", "labels"]):
        refused = runner.invoke(app, more)
        assert isinstance(refused.exception, ConfigError)
        assert str(refused.exception).startswith("missing option '--predictions'")
