import json
import statistics
from statistics import correlation

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.xtreme_evaluate import xtreme_evaluate
from ecsuite.eval.xtreme.scoring.analyses import PUBLISHED, PUBLISHED_ANALYSES
from ecsuite.eval.xtreme.scoring.tasks import TASKS, average_gap
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
    for entry in PUBLISHED.values():
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


TABLE_3 = """
mBERT 16.5 14.1 25.0 27.5 22.2 21.1 25.5 23.6
XLM-R 10.2 12.4 16.3 19.1 13.3 14.3 24.3 19.8
Translate-train 7.3 9.0 17.6 22.2 24.2 16.1 - -
Translate-test 6.7 12.0 16.3 18.3 11.2 12.9 - -
"""
TABLE_4 = """
en 90.3 63.0 88.1 67.5
avg 50.6 12.1 44.3 18.3
difference 39.7 50.9 43.7 49.2
"""


def lines_of(table):
    return [[None if cell == "-" else float(cell) for cell in line.split()[1:]] for line in table.split("\n")[1:-1]]


def test_stored_figures_are_the_papers_tables_3_and_4():
    """Copied from Hu et al. (2020), and arithmetic within them: averages, differences, and English by table 2."""
    tasks = ("xnli", "pawsx", "xquad", "mlqa", "tydiqa", "average", "udpos", "panx")
    rows = {name: entry for name, entry in PUBLISHED.items() if "gap" in entry}
    assert list(rows) == ["mBERT", "XLM-R Large", "mBERT, translated", "BERT-large"]
    for entry, expected in zip(rows.values(), lines_of(TABLE_3), strict=True):
        gaps = entry["gap"] | {"average": entry["average_gap"]}
        assert [gaps.get(task) for task in tasks] == expected
        assert average_gap(entry["gap"]) == pytest.approx(entry["average_gap"], abs=0.051)
    grams = PUBLISHED_ANALYSES["tag_ngrams"]
    assert [list(each.values()) for each in grams.values()] == lines_of(TABLE_4)
    for key, difference in grams["difference"].items():
        assert grams["en"][key] - grams["mean without en"][key] == pytest.approx(difference, abs=0.11)
    # the score in English, mean + gap · others / all, is one of the same English model, mBERT trained in English
    for task in ("xnli", "pawsx", "xquad", "tydiqa"):
        number, english = len(TASKS[task].languages), []
        for name in ("mBERT", "mBERT, translated"):
            score = PUBLISHED[name]["scores"][task]
            score = score[1] if isinstance(score, list) else score
            english.append(score + PUBLISHED[name]["gap"][task] * (number - 1) / number)
        assert english[0] == pytest.approx(english[1], abs=0.2), task


def test_published_gaps_and_analyses_are_below_ours(run, write_submission, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    write_submission(tmp_path, ("xnli", "udpos", "xquad"))
    analysed(run, tmp_path)
    (tmp_path / "articles.tsv").write_text("en\t100\nde\t10\nfr\t20\nes\t30\n")
    out = run("--published", "--analyses", "--data", tmp_path / "data", "--articles", tmp_path / "articles.tsv")
    gaps = out[out.index("Published transfer gaps") :]
    assert cells(gaps, "mBERT ")[2:] == "21.1 16.5 14.1 25.5 23.6 25.0 27.5 22.2".split()
    assert cells(gaps, "predictions") == "predictions - 25.0 - 66.7 - 50.0 - -".split()
    assert cells(out, "  the paper: en") == "the paper: en 90.3 63.0 88.1 67.5".split()
    assert cells(out, "  the paper: difference")[-1] == "49.2"
    xnli, xquad = [line.split()[-3:] for line in out.splitlines() if line.startswith("  the paper: mean")][:2]
    assert (xnli, xquad) == (["71.8", "-", "68.3"], ["60.0", "20.0", "-"])
    assert "about 0.8 for most tasks, about 0.35 for structured prediction" in out
    data = json.loads(run("--published", "--analyses", "--json"))["ecsuite"]
    assert data["analyses"]["published"] == PUBLISHED_ANALYSES and data["published"] == PUBLISHED
