"""XTREME's averages of results; their order and JSON."""

from xtreme_data import CONTROLS, constant_results

from ecsuite.eval.xtreme.result import collect
from ecsuite.eval.xtreme.scoring.tasks import EnglishVsOthers

POINTS = {"en": 60, "fr": 30, "ja": 20, "kk": 10}


def level_of(body, seed, task, language):
    """The corpus and random init with seed 0 in POS have `POINTS`; each further control has 4 less."""
    rank = CONTROLS.index(body) if body in CONTROLS else 0
    return POINTS[language] + seed + 8 * (task == "panx") - 4 * rank


def test_questions_score_the_mean_of_exact_match_and_f1_and_their_gap_is_of_exact_match(make_result):
    metrics = {"en": {"exact_match": 50.0, "f1": 60.0}, "de": {"exact_match": 20.0, "f1": 40.0}}
    by_body = {"corpus": {1: {"xquad": metrics}}}
    result = make_result(level_of, tasks=("xquad",), languages=("en",), by_body=by_body)
    assert result.scores("corpus").tolist() == [[42.5]]
    assert result.sides("corpus", "xquad") == EnglishVsOthers(english=50, others=20)
    assert result.sides("corpus", "xquad").gap == 30


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
