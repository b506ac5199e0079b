"""Tables fit a terminal; notes state the settings; the picture has a panel per task and a row per language."""

import pytest

from ecsuite.eval.xtreme import report as report_module
from ecsuite.eval.xtreme.report import draw, report
from ecsuite.eval.xtreme.scoring.tasks import TASKS

LEADS = {"corpus": 5, "parentheses": 2}


def level(body, seed, task, language):
    """English 60, others 20; the corpus is 4, 5 and 6 higher with seeds 0, 1 and 2."""
    jitter = seed - 1 if body == "corpus" else 0
    return (60 if language == "en" else 20) + seed + LEADS.get(body, 0) + jitter


def table(found, title):
    """The table with a title, as printed."""
    return next(text for text in map(str, found.tables) if text.split("\n")[0] == title)


def row(found, title, first):
    """The cells of the row with this beginning."""
    line = next(line for line in table(found, title).splitlines()[2:] if line.startswith(first))
    return line.split()


@pytest.fixture
def found(make_result):
    return report(make_result(level))


@pytest.fixture
def nine(make_result):
    return report(make_result(level, tasks=tuple(TASKS), languages=None))


@pytest.mark.slow
def test_tables_of_all_tasks(found, nine):
    title = "Transfer from English: corpus"
    assert row(found, title, "POS") == "POS F1 66.0 26.0 40.0 5.0 4.0 70.0 20.0".split()
    assert row(nine, title, "XQuAD")[1] == "EM"
    assert row(nine, title, "BUCC") == "BUCC F1 - 26.0 - - 4.0 - 20.0".split()
    assert [text.split("\n")[0] for text in map(str, nine.tables)] == [
        "Scores and gains",
        "Gains over further controls: corpus",
        "By task",
        "Transfer from English: corpus",
        *(f"{task.title} by language" for task in TASKS.values()),
    ]
    assert row(nine, "Scores and gains", "corpus")[-1] == "higher"


def test_wide_figures_and_long_names_are_whole(make_result):
    name = "a corpus with a very long name [bold].jsonl"

    def level(body, seed, task, language):
        return (100 if body == name else 0) - 20 * (seed == 1)

    found = report(make_result(level, bodies=(name, "random init"), tasks=("xnli", "xquad"), corpus=name))
    shown = table(found, "Scores and gains")
    assert name in shown and "100.0 [100.0, 100.0]" in shown
    assert found.notes[0].startswith(f"{name}: ") and found.notes[-2].startswith(f"{name} over random init: ")


def test_without_transfer_or_controls_there_is_no_gap_and_no_gain(make_result):
    found = report(make_result(level, protocol="in-language"))
    assert not any("Transfer from English" in text for text in map(str, found.tables))
    assert not any("gap" in line or "Gain over" in line for line in found.notes)
    result = make_result(level, bodies=("mbert",), corpus="mbert", protocol="published", baselines={})
    found = report(result)
    assert row(found, "Scores", "mbert") == "mbert 31.0 31.0 31.0".split()
    assert len(found.tables) == 4
    assert row(found, "POS by language", "fr ") == "fr French IE: Romance Latin 21.0 - 4.0".split()
    assert found.notes[-2] == "mbert: no gain reported: the backbone 'random init' was not run."
    assert not any(line.startswith("baseline") for line in found.notes)


def test_published_figures_are_beside_those_of_the_same_model_protocol_and_size(make_result):
    """Hu et al. (2020), tables 2 and 3; of questions the mean of F1 and EM."""

    def found(model, protocol="published", preset="full", tasks=("udpos", "xquad"), languages=None):
        usual = {"tasks": tasks, "languages": languages, "bodies": (model,), "corpus": model, "baselines": {}}
        return report(make_result(level, protocol=protocol, preset=preset, **usual))

    mbert = "google-bert/bert-base-multilingual-cased"
    shown = found(mbert)
    assert row(shown, "Scores", "  the paper") == "the paper 71.5 57.0 -".split()  # (64.5 + 49.4) / 2 = 56.95
    assert row(shown, f"Transfer from English: {mbert}", "POS")[2:6] == "61.0 21.0 40.0 25.5".split()
    assert shown.data["published"]["name"] == "mBERT"
    assert "the paper: mBERT (Hu et al. 2020, tables 2 and 3)." in shown.notes
    assert row(found(mbert, tasks=tuple(TASKS)), "Scores", "  the paper")[-1] == "59.8"
    assert found(mbert, "translate-train").data["published"]["name"] == "mBERT, translated"
    assert "gap" not in found("xlm-mlm-100-1280").data["published"]
    for other in (
        found("bert"),
        found(mbert, "pseudo-test"),
        found(mbert, preset="mini"),
        found(mbert, languages=("en", "de")),
    ):
        assert not other.data["published"] and "the paper" not in "".join(map(str, other.tables))


def drawn_level(body, seed, task, language):
    return 30 + seed + 5 * (body == "corpus") + ord(language[0]) % 9


@pytest.fixture
def drawn(monkeypatch):
    """Draws a result and returns the figure."""

    def drawn(result):
        kept = []
        monkeypatch.setattr(report_module, "save", lambda figure, *paths: kept.append(figure))
        draw(result)
        return kept[0]

    return drawn


def test_all_tasks_and_unknown_languages_are_drawn(make_result, tmp_path, drawn):
    draw(make_result(drawn_level, seeds=(0,), tasks=tuple(TASKS), languages=None), tmp_path / "all.svg")
    assert (tmp_path / "all.svg").read_text().count("Kartvelian") >= 1
    axes, *_ = drawn(make_result(drawn_level, languages=("en", "xx"))).axes
    assert {label.get_text() for label in axes.get_yticklabels()} == {"English, Latin", "xx"}
    assert "unknown" in [text.get_text() for text in axes.texts]
