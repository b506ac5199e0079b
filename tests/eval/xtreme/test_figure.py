"""The picture has a panel per task, a row per language by family, and all backbones in it."""

import pytest

from ecsuite.eval.xtreme import report as module
from ecsuite.eval.xtreme.report import draw
from ecsuite.eval.xtreme.scoring.tasks import TASKS


def level(body, seed, task, language):
    return 30 + seed + 5 * (body == "corpus") + ord(language[0]) % 9


@pytest.fixture
def drawn(monkeypatch):
    """Draws a result and returns the figure."""

    def drawn(result):
        kept = []
        monkeypatch.setattr(module, "save", lambda figure, *paths: kept.append(figure))
        draw(result)
        return kept[0]

    return drawn


def test_an_unknown_language_has_a_group(drawn, make_result):
    axes, *_ = drawn(make_result(level, languages=("en", "xx"))).axes
    assert {label.get_text() for label in axes.get_yticklabels()} == {"English, Latin", "xx"}
    assert "unknown" in [text.get_text() for text in axes.texts]


@pytest.mark.slow
def test_a_missing_baseline_is_not_drawn(drawn, make_result):
    (legend,) = drawn(make_result(level, baselines={})).legends
    assert "baseline" not in [text.get_text() for text in legend.texts]


def test_all_tasks_and_languages_are_drawn(make_result, tmp_path):
    draw(make_result(level, seeds=(0,), tasks=tuple(TASKS), languages=None), tmp_path / "all.svg")
    assert (tmp_path / "all.svg").read_text().count("Kartvelian") >= 1


@pytest.mark.slow
def test_the_same_result_gives_the_same_file(make_result, tmp_path):
    for name in ("a", "b"):
        draw(make_result(level, tasks=("udpos",)), tmp_path / f"{name}.svg", tmp_path / f"{name}.png")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
