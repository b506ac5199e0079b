"""Tables fit a terminal; notes state the settings; the gain over random init is the main result."""

import json

import numpy as np
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


def test_scores_and_gains(found):
    title = "Scores and gains"
    assert table(found, title).splitlines()[2].split()[:4] == ["backbone", "POS", "NER", "all"]
    assert row(found, title, "corpus") == "corpus 36.0 36.0 36.0 5.0 [2.5, 7.5] higher".split()
    assert row(found, title, "random init") == "random init 31.0 31.0 31.0".split()
    assert row(found, title, "parentheses") == "parentheses 33.0 33.0 33.0 2.0 [2.0, 2.0] unknown".split()
    assert row(found, title, "human text")[5:] == "0.0 [0.0, 0.0] not significant".split()


def test_further_controls(found):
    title = "Gains over further controls: corpus"
    assert row(found, title, "parentheses") == "parentheses 3.0 [0.5, 5.5] .039 higher".split()
    assert row(found, title, "human text")[2:] == "5.0 [2.5, 7.5] .039 higher".split()


def test_by_task(found, nine):
    assert row(found, "By task", "NER") == "NER 4/40 36.0 31.0 5.0 [2.5, 7.5] higher".split()
    assert row(nine, "By task", "Tatoeba")[:4] == "Tatoeba 36 26.0 21.0".split()


@pytest.mark.slow
def test_transfer_beside_chance_and_baseline(found, nine):
    title = "Transfer from English: corpus"
    assert row(found, title, "POS") == "POS F1 66.0 26.0 40.0 5.0 4.0 70.0 20.0".split()
    assert row(nine, title, "XQuAD")[1] == "EM"
    assert row(nine, title, "BUCC") == "BUCC F1 - 26.0 - - 4.0 - 20.0".split()


def test_by_language(found):
    title = "POS by language"
    assert row(found, title, "en ") == "en English IE: Germanic Latin 66.0 61.0 5.0 70.0 5.0".split()
    assert row(found, title, "kk ") == "kk Kazakh Turkic Cyrillic 26.0 21.0 5.0 20.0 4.0".split()
    names = [line.split()[0] for line in table(found, title).splitlines()[3:]]
    assert names == ["en", "fr", "ja", "kk"]


def test_notes(found, nine):
    assert found.notes == (
        "corpus: protocol adapt, preset nano, 3 seeds (0, 1, 2).",
        "Scores: F1 (POS, NER).",
        "A task's score is the mean over languages; all is the mean over tasks.",
        "gain: paired by seed; intervals: Student's t, over seeds.",
        "baseline: without a model, such as the most frequent tag of each English word.",
        "p (Holm): of the paired t test, corrected for 3 controls.",
        "gap: English minus the mean of the others; it is also about 0 at chance level.",
        "NER: scored on dev, not on test.",
        "nano: 30 sentences a language.",
        "Gain over random init: English +5.0 [+2.5 to +7.5], the other languages +5.0 [+2.5 to +7.5].",
        "corpus over random init: +5.0 [+2.5 to +7.5] points over 3 seeds (0, 1, 2): higher.",
        "xtreme-transfer|protocol:adapt|preset:nano|v:1",
    )
    assert (
        "Scores: accuracy (XNLI, PAWS-X, Tatoeba); F1 (POS, NER, BUCC); EM and F1 (XQuAD, MLQA, TyDiQA-GoldP)."
    ) in nine.notes
    assert "EM and F1: the score is their mean; English, others and gap are EM only." in nine.notes


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


def test_a_gain_within_noise(make_result):
    generator = np.random.default_rng(3)
    found = report(make_result(lambda *_: generator.normal(30, 2)))
    assert found.notes[-2].endswith(
        "points over 3 seeds (0, 1, 2): not significant, the interval contains 0."
    )
    assert row(found, "Scores and gains", "corpus")[-2:] == ["not", "significant"]


def test_one_seed_is_noted(make_result):
    found = report(make_result(level, seeds=(1,)))
    assert found.notes[-2] == (
        "corpus over random init: +5.0 points; one seed gives no interval, so noise cannot be excluded."
    )
    assert row(found, "Scores and gains", "corpus") == "corpus 36.0 36.0 36.0 5.0 unknown".split()
    assert row(found, "Gains over further controls: corpus", "human text") == "human text 5.0 unknown".split()
    assert not any(line.startswith(("gain:", "p (Holm)")) for line in found.notes)


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


def test_tag_accuracy_is_noted(make_result):
    result = make_result(level, bodies=("corpus", "random init"), tasks=("udpos",))
    for body, by_seed in result.by_body.items():
        for seed, by_task in by_seed.items():
            for metrics in by_task["udpos"].values():
                metrics["accuracy"] = 80.0 + seed if body == "corpus" else 50.0
    found = report(result)
    assert "POS: F1 of tag spans; tag accuracy in %: corpus 81.0, random init 50.0." in found.notes
    assert not any(text.split("\n")[0] == "By task" for text in texts(found))


def test_languages_scored_on_dev_are_named(make_result):
    splits = {"udpos": {"en": "test", "fr": "test", "de": "dev"}}
    result = make_result(level, tasks=("udpos",), languages=("en", "fr", "de"), splits=splits)
    assert "POS: scored on dev, not on test in de." in report(result).notes


def test_json_is_complete(found):
    data = json.loads(json.dumps(found.data, allow_nan=False))
    assert data["conclusion"] == found.notes[-2]
    assert [each["body"] for each in data["gains_over_random_init"]] == [
        "corpus",
        "parentheses",
        "shuffled corpus",
        "human text",
    ]
    assert data["gains_over_random_init"][0]["overall"]["mean"] == pytest.approx(5)
    assert len(data["gains_of_corpus_over_further_controls"]) == 3
    assert len(data["cells"]) == 5 * 3 * 2 * 4
    assert data["signature"] == found.notes[-1]
