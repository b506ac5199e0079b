"""Results from cells in any order, XTREME's averages, and errors for missing cells."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.cells import Cell
from ecsuite.eval.xtreme.result import Sides
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.sources import CONTROLS

POINTS = {"en": 60, "fr": 30, "ja": 20, "kk": 10}


def level_of(body, seed, task, language):
    """The corpus and random init with seed 0 in POS have `POINTS`; each further control has 4 less."""
    rank = CONTROLS.index(body) if body in CONTROLS else 0
    return POINTS[language] + seed + 8 * (task == "panx") - 4 * rank


def test_scores_are_means_over_languages(make_cells, gather):
    result = gather(make_cells(level_of))
    assert result.scores("corpus").tolist() == [[30, 38], [31, 39], [32, 40]]
    assert result.scores("shuffled corpus").tolist() == [[22, 30], [23, 31], [24, 32]]
    assert result.language_scores("corpus", "udpos").tolist()[1] == [61, 31, 21, 11]


def test_questions_score_the_mean_of_exact_match_and_f1_and_their_gap_is_of_exact_match(gather):
    cells = [
        Cell(
            body="corpus",
            seed=1,
            task="xquad",
            language=language,
            split="test",
            metrics={"exact_match": exact, "f1": f1},
        )
        for language, exact, f1 in (("en", 50.0, 60.0), ("de", 20.0, 40.0))
    ]
    result = gather(cells)
    assert result.scores("corpus").tolist() == [[42.5]]
    assert result.sides("corpus", "xquad") == Sides(english=50, others=20)
    assert result.sides("corpus", "xquad").gap == 30


def test_english_and_other_languages(make_cells, gather):
    result = gather(make_cells(level_of))
    sides = result.sides("corpus", "udpos")
    assert (sides.english, sides.others, sides.gap) == (61, 21, 40)
    assert result.sides_of(result.chance, "udpos") == Sides(english=5, others=4)


def test_without_english_there_is_no_gap(make_cells, gather):
    result = gather(make_cells(level_of, languages=("fr", "kk")))
    assert result.sides("corpus", "udpos") == Sides(english=None, others=21)
    assert result.sides("corpus", "udpos").gap is None
    alone = gather(make_cells(level_of, languages=("en",)))
    assert alone.sides("corpus", "udpos") == Sides(english=61, others=None)


def test_a_baseline_without_a_language_is_not_averaged(make_cells, gather):
    result = gather(make_cells(level_of), baselines={"udpos": {"en": {"f1": 84.8}}})
    assert result.sides_of(result.baselines, "udpos") is None
    assert result.sides_of(result.baselines, "panx") is None


def test_the_order_of_cells_does_not_matter(make_cells, gather):
    cells = make_cells(level_of)
    mixed = [cells[place] for place in np.random.default_rng(0).permutation(len(cells))]
    result, other = gather(cells), gather(mixed)
    assert json.dumps(result.to_json()) == json.dumps(other.to_json())
    assert result.bodies == ("corpus", *CONTROLS)
    assert result.seeds == (0, 1, 2)
    assert result.languages == {"udpos": ("en", "fr", "ja", "kk"), "panx": ("en", "fr", "ja", "kk")}
    assert result.cells() == other.cells()


def test_languages_are_in_the_order_of_the_paper_and_others_last(make_cells, gather):
    result = gather(make_cells(lambda *_: 1, languages=("da", "zh", "en", "ar")))
    assert result.languages == {"udpos": ("ar", "en", "zh", "da"), "panx": ("ar", "en", "zh", "da")}


def test_all_nine_tasks(make_cells, gather):
    result = gather(make_cells(lambda *_: 7, tasks=tuple(TASKS), languages=None))
    assert {task: set(codes) for task, codes in result.languages.items()} == {
        task.name: set(task.languages) for task in TASKS.values()
    }
    assert result.scores("parentheses").tolist() == [[7] * 9] * 3
    assert result.sides("corpus", "tatoeba") == Sides(english=None, others=7)


def test_json_has_everything(make_cells, gather):
    result = gather(make_cells(level_of))
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [Cell(**cell) for cell in data["cells"]] == result.cells()
    assert data["scores"]["corpus"]["overall"] == 35
    assert data["scores"]["corpus"]["overall_by_seed"] == {"0": 34, "1": 35, "2": 36}
    assert data["scores"]["corpus"]["tasks"] == {"udpos": 31, "panx": 39}
    assert data["scores"]["corpus"]["zero_shot"]["panx"] == {
        "metric": "f1",
        "english": 69,
        "others": 29,
        "gap": 40,
    }
    assert data["baselines"] == result.baselines and data["chance"] == result.chance
    assert (data["protocol"], data["preset"], data["corpus"]) == ("adapt", "nano", "corpus")
    assert data["notes"] == ["nano: 30 sentences a language."]
    assert data["signature"] == result.signature
    in_language = gather(make_cells(level_of), protocol="in-language")
    assert "zero_shot" not in in_language.to_json()["scores"]["corpus"]
    assert not in_language.is_zero_shot


def test_a_missing_score_is_named(make_cells, gather):
    cells = make_cells(level_of)
    without = [
        cell
        for cell in cells
        if (cell.body, cell.seed, cell.task, cell.language) != ("parentheses", 2, "panx", "ja")
    ]
    with pytest.raises(
        ConfigError,
        match=r"^parentheses, seed 2, panx in 'ja': expected a score, as for the other backbones, found none$",
    ):
        gather(without)
    first = [cell for cell in cells if (cell.body, cell.seed) != ("corpus", 0)]
    with pytest.raises(ConfigError, match=r"^corpus, seed 0, udpos in 'en': expected a score, as for"):
        gather(first)


def test_a_duplicate_score_is_named(make_cells, gather):
    cells = make_cells(level_of)
    again = replace(cells[0], metrics=asdict(cells[1])["metrics"])
    with pytest.raises(ConfigError, match=r"^corpus, seed 0, udpos in 'en': expected one score, found two$"):
        gather([*cells, again])


def test_another_split_is_named(make_cells, gather):
    *cells, last = make_cells(level_of)
    expected = r"^human text, seed 2, panx in 'kk': expected a score on dev, found test$"
    with pytest.raises(ConfigError, match=expected):
        gather([*cells, replace(last, split="test")])


def test_unknown_names(make_cells, gather):
    cells = make_cells(level_of)
    with pytest.raises(ConfigError, match=r"unknown backbone 'corpu'; did you mean 'corpus'\?"):
        gather(cells, corpus="corpu")
    with pytest.raises(ConfigError, match="unknown task 'pos'"):
        gather([replace(cells[0], task="pos")])
    with pytest.raises(ConfigError, match="unknown backbone 'words'"):
        gather(cells).language_scores("words", "udpos")


def test_no_cells(gather):
    with pytest.raises(
        ConfigError, match=r"^expected scores of at least one backbone in one language, found none$"
    ):
        gather([])
