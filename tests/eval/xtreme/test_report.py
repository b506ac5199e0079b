"""Tables fit a terminal; notes state the settings; the gain over random init is the main result."""

import pytest

from ecsuite.eval.xtreme.report import report
from ecsuite.eval.xtreme.scoring.tasks import TASKS

LEADS = {"corpus": 5, "parentheses": 2}


def level(body, seed, task, language):
    """English 60, others 20; the corpus is 4, 5 and 6 higher with seeds 0, 1 and 2."""
    jitter = seed - 1 if body == "corpus" else 0
    return (60 if language == "en" else 20) + seed + LEADS.get(body, 0) + jitter


def texts(found):
    """Each table as printed."""
    return [str(table) for table in found.tables]


def table(found, title):
    """The table with a title."""
    return next(text for text in texts(found) if text.split("\n")[0] == title)


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
def test_transfer_beside_chance_and_baseline(found, nine):
    title = "Transfer from English: corpus"
    assert row(found, title, "POS") == "POS F1 66.0 26.0 40.0 5.0 4.0 70.0 20.0".split()
    assert row(nine, title, "XQuAD")[1] == "EM"
    assert row(nine, title, "BUCC") == "BUCC F1 - 26.0 - - 4.0 - 20.0".split()


@pytest.mark.slow
def test_tables_of_all_tasks(nine):
    assert [text.split("\n")[0] for text in texts(nine)] == [
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
    assert name in table(found, "Scores and gains") and "100.0 [100.0, 100.0]" in table(
        found, "Scores and gains"
    )
    assert found.notes[0].startswith(f"{name}: ") and found.notes[-2].startswith(f"{name} over random init: ")


def test_in_language_has_no_gap(make_result):
    found = report(make_result(level, protocol="in-language"))
    assert not any("Transfer from English" in text for text in texts(found))
    assert not any("gap" in line or "Gain over" in line for line in found.notes)


def test_a_published_model_alone(make_result):
    result = make_result(level, bodies=("mbert",), corpus="mbert", protocol="published", baselines={})
    found = report(result)
    assert row(found, "Scores", "mbert") == "mbert 31.0 31.0 31.0".split()
    assert len(found.tables) == 4
    assert row(found, "POS by language", "fr ") == "fr French IE: Romance Latin 21.0 - 4.0".split()
    assert found.notes[-2] == "mbert: no gain reported: the backbone 'random init' was not run."
    assert not any(line.startswith("baseline") for line in found.notes)
