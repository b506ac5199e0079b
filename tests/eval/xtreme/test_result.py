"""XTREME's averages of results; their order and JSON."""

import json

from xtreme_data import CONTROLS, constant_results

from ecsuite.eval.xtreme.result import collect
from ecsuite.eval.xtreme.scoring.tasks import TASKS, EnglishVsOthers

POINTS = {"en": 60, "fr": 30, "ja": 20, "kk": 10}


def level_of(body, seed, task, language):
    """The corpus and random init with seed 0 in POS have `POINTS`; each further control has 4 less."""
    rank = CONTROLS.index(body) if body in CONTROLS else 0
    return POINTS[language] + seed + 8 * (task == "panx") - 4 * rank


def test_scores_are_means_over_languages(make_result):
    result = make_result(level_of)
    assert result.scores("corpus").tolist() == [[30, 38], [31, 39], [32, 40]]
    assert result.scores("shuffled corpus").tolist() == [[22, 30], [23, 31], [24, 32]]
    assert result.language_scores("corpus", "udpos").tolist()[1] == [61, 31, 21, 11]


def test_questions_score_the_mean_of_exact_match_and_f1_and_their_gap_is_of_exact_match(make_result):
    metrics = {"en": {"exact_match": 50.0, "f1": 60.0}, "de": {"exact_match": 20.0, "f1": 40.0}}
    by_body = {"corpus": {1: {"xquad": metrics}}}
    result = make_result(level_of, tasks=("xquad",), languages=("en",), by_body=by_body)
    assert result.scores("corpus").tolist() == [[42.5]]
    assert result.sides("corpus", "xquad") == EnglishVsOthers(english=50, others=20)
    assert result.sides("corpus", "xquad").gap == 30


def test_sides_are_means_over_seeds(make_result):
    assert make_result(level_of).sides("corpus", "udpos") == EnglishVsOthers(english=61, others=21)
    foreign = make_result(level_of, languages=("fr", "kk")).sides("corpus", "udpos")
    assert foreign == EnglishVsOthers(english=None, others=21) and foreign.gap is None
    alone = make_result(level_of, languages=("en",)).sides("corpus", "udpos")
    assert alone == EnglishVsOthers(english=61, others=None)


def test_a_baseline_without_a_language_is_not_averaged(make_result):
    result = make_result(level_of, baselines={"udpos": {"en": {"f1": 84.8}}})
    assert result.tested(result.baselines, "udpos") is None
    assert result.tested(result.baselines, "panx") is None
    assert list(result.tested(result.chance, "panx")) == list(POINTS)


def test_the_order_is_that_of_the_paper(ask):
    """Whatever the order in which seeds, tasks and languages are asked for."""
    study = ask(tasks=("panx", "udpos"), languages=("ru", "de"), seeds=(4, 1))
    result = collect(study, constant_results(study))
    assert result.languages == {"udpos": ("de", "en", "ru"), "panx": ("en", "de", "ru")}
    assert result.bodies == ("corpus", *CONTROLS[:3]) and result.seeds == (1, 4)
    assert all(
        tuple(by_language) == result.languages[task]
        for by_seed in result.by_body.values()
        for by_task in by_seed.values()
        for task, by_language in by_task.items()
    )


def test_all_nine_tasks(make_result):
    result = make_result(lambda *_: 7, tasks=tuple(TASKS), languages=None)
    assert result.languages == {task.name: task.languages for task in TASKS.values()}
    assert result.scores("parentheses").tolist() == [[7] * 9] * 3
    assert result.sides("corpus", "tatoeba") == EnglishVsOthers(english=None, others=7)


def test_json_has_everything(make_result):
    result = make_result(level_of)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert len(data["cells"]) == 5 * 3 * 2 * 4
    assert data["cells"][5] == {
        "body": "corpus",
        "seed": 0,
        "task": "panx",
        "language": "fr",
        "split": "dev",
        "metrics": {"f1": 38, "precision": 38, "recall": 38},
    }
    summary = data["scores"]["corpus"]
    assert summary["overall"] == 35 and summary["overall_by_seed"] == {"0": 34, "1": 35, "2": 36}
    assert summary["tasks"] == {"udpos": 31, "panx": 39}
    assert summary["zero_shot"]["panx"] == {"metric": "f1", "english": 69, "others": 29, "gap": 40}
    assert data["baselines"] == result.baselines and data["chance"] == result.chance
    assert (data["protocol"], data["preset"], data["corpus"]) == ("adapt", "nano", "corpus")
    assert data["notes"] == ["nano: 30 sentences a language."]
    assert data["signature"] == result.signature
    in_language = make_result(level_of, protocol="in-language")
    assert "zero_shot" not in in_language.to_json()["scores"]["corpus"]
