"""Figures: their content, no overlapping labels, and the same bytes for the same input."""

import json

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm import sensitivity
from ecsuite.eval.views.figures import corpora, curves
from ecsuite.eval.views.figures.corpora import draw_heatmap, draw_score, draw_sensitivity, draw_translation
from ecsuite.eval.views.figures.curves import draw_learning_curves
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.ragged import Ragged
from figure_texts import assert_readable, texts


def corpus_of(messages, concepts, **more):
    return Corpus(messages=Ragged.from_rows(messages), concepts=Ragged.from_rows(concepts), **more)


def noisy_corpus(num_words, num_concepts, num_rows=800, share=0.5, **more):
    """Phrases of two concepts; a share of the words name one of them, the others are noise."""
    rng = np.random.default_rng(0)
    concepts = rng.random((num_rows, num_concepts)).argsort(axis=1)[:, :2]
    noise = rng.integers(0, num_words, concepts.shape)
    names = tuple(f"attribute{concept // 10}={concept % 10}" for concept in range(num_concepts))
    messages = np.where(rng.random(concepts.shape) < share, concepts % num_words, noise)
    return corpus_of(messages, concepts, concept_names=names, **more)


CORPORA = {
    "perfect": corpus_of([[i % 17 + 1] for i in range(200)], [[i % 17] for i in range(200)]),
    "narrow": noisy_corpus(8, 20),
    "quantized": noisy_corpus(24, 20),
    "wide": noisy_corpus(80, 20, num_rows=900, share=0.1),
    "many concepts": noisy_corpus(150, 90, num_rows=3_000),
    "one of each": corpus_of([[1]], [[0]]),
}


@pytest.fixture
def figures(monkeypatch):
    """The figures that would have been written."""
    caught = []
    for module in (corpora, curves):
        monkeypatch.setattr(module, "save", lambda figure, *paths: caught.append(figure))
    return caught


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_translation, draw_heatmap])
@pytest.mark.parametrize("name", CORPORA)
def test_labels_do_not_overlap(figures, draw, name):
    draw(CORPORA[name], max_words=24)
    assert_readable(figures[0])


@pytest.mark.slow
def test_places_and_odd_names(figures):
    names = ("$a_b$", "word " * 20, "two\nlines", "", "數")
    messages, concepts = (np.random.default_rng(0).integers(0, 5, (90, width)) for width in (2, 1))
    for draw in (draw_translation, draw_heatmap):
        draw(corpus_of(messages, concepts, symbol_names=names, concept_names=names))
        assert_readable(figures[-1])
        shown, _ = texts(figures[-1])
        for name in ("$a_b$", "word word word word word wo…", "two\\nlines", "(empty)", "?"):
            assert shown.count(name) == 2
    # All name one concept: 3 is its word, 1 said twice, 2 four times, 4 once.
    said = [3] * 5 + [1] * 2 + [2] * 4 + [4]
    draw_translation(corpus_of([[word] for word in said], [[0]] * len(said), concept_names=("a",)))
    shown, boxes = texts(figures[-1])
    middle = dict(zip(shown, boxes[:, [1, 3]].mean(axis=1), strict=True))
    assert sorted("1234", key=lambda word: -middle[word]) == ["3", "2", "1", "4"]


@pytest.mark.slow
def test_rare_words_and_many_concepts_are_counted_not_drawn(figures, monkeypatch, no_layout):
    for draw in (draw_translation, draw_heatmap):
        draw(CORPORA["narrow"], max_words=3)  # pairs are always there
        assert len(figures[-1].axes[0].get_yticklabels()) == 8
        assert "more words" not in figures[-1].get_suptitle()
    draw_heatmap(CORPORA["wide"], max_words=10)
    num_words = len(CORPORA["wide"].reindexed()[1])
    assert f"\n… and {num_words - 20:,} more words" in figures[-1].get_suptitle()
    monkeypatch.setattr(corpora, "MAX_ROWS", 10)
    for draw in (draw_translation, draw_heatmap):
        draw(CORPORA["quantized"])
        assert "… and 10 more concepts" in figures[-1].get_suptitle()


def test_empty_messages(tmp_path, no_layout):
    corpus = corpus_of([[], []], [[0], [1]])
    assert [path.name for path in draw_score(corpus, tmp_path)] == ["translation.svg", "translation.png"]
    with pytest.raises(CorpusError, match="every message is empty: expected words"):
        draw_heatmap(corpus, tmp_path / "a.png")


def write_run(folder, accuracies, chance=0.25):
    folder.mkdir(parents=True)
    steps = enumerate(accuracies, 1)
    lines = [{"step": 10 * step, "train": {"accuracy": a}, "valid": {"accuracy": a / 2}} for step, a in steps]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "metadata.json").write_text(json.dumps({"chance": {"accuracy": chance}}))
    return folder


@pytest.mark.slow
def test_curves(figures, tmp_path):
    runs = [write_run(tmp_path / name, [0.2, 0.6, 0.9]) for name in ("one", "two")]
    with open(runs[1] / "log.jsonl", "a") as file:
        file.write('{"step": 37, "train": {}, "valid": {}, "stopped": "diverged"}\n')
        file.write('{"step": 40, "tr')  # the run is writing
    draw_learning_curves(runs)
    draw_learning_curves(runs[:1])
    for figure in figures:
        assert_readable(figure)
    lines = [line for line in figures[0].axes[0].lines if len(line.get_xdata()) == 3]
    assert [line.get_ydata().tolist() for line in lines] == [[0.1, 0.3, 0.45], [0.2, 0.6, 0.9]] * 2
    assert lines[0].get_xdata().tolist() == [10, 20, 30]
    assert texts(figures[0])[0][-5:] == ["one", "two", "validation", "training", "chance 0.25"]
    assert texts(figures[1])[0][-3:] == ["validation", "training", "chance 0.25"]


def test_steps_at_which_generations_begin_are_marked(figures, tmp_path, no_layout):
    runs = [write_run(tmp_path / name, [0.2, 0.6, 0.9]) for name in ("one", "two")]
    runs[0].joinpath("config.yaml").write_text("generations: {every: 12}\n")
    draw_learning_curves(runs[:1])
    upright = [line.get_xdata()[0] for line in figures[0].axes[0].lines if len(set(line.get_xdata())) == 1]
    assert upright == [12, 24]
    assert texts(figures[0])[0][-1] == "new generation"
    draw_learning_curves(runs)  # only one of them has generations
    assert "new generation" not in texts(figures[1])[0]


@pytest.mark.slow
def test_sensitivity(figures):
    noisy = sensitivity(CORPORA["narrow"])
    draw_sensitivity({"": noisy})
    draw_sensitivity({"perfect": sensitivity(CORPORA["perfect"]), "a longer name than that": noisy})
    gap = noisy | {"accumulated": [None, *noisy["accumulated"][1:]], "accumulated_sd": None}
    draw_sensitivity({"gap": gap})
    for figure in figures:
        assert_readable(figure)
    solid, dashed = figures[0].axes[0].lines
    assert solid.get_ydata().tolist() == noisy["accumulated"]
    assert dashed.get_ydata().tolist() == noisy["segmented"]
    assert f"100 samples each (SD {noisy['segmented_sd']:.3f})" in texts(figures[0])[0]
    assert np.isnan(figures[2].axes[0].lines[0].get_ydata()[0])


@pytest.mark.slow
def test_other_kinds_of_files(tmp_path, no_layout):
    with pytest.raises(ConfigError, match=r"a\.jpg: expected the name of a picture, ending in"):
        draw_translation(CORPORA["perfect"], tmp_path / "b.svg", tmp_path / "a.jpg")
    assert list(tmp_path.iterdir()) == []


def test_translation_shows_pairs_and_unmatched(figures):
    """Word 7 is concept `a`, three times of four; word 9 is a paraphrase; `c` has no word."""
    corpus = corpus_of([[7]] * 4 + [[8], [8], [9]], [[0]] * 3 + [[2], [1], [1], [0]], concept_names=("a", "b", "c"))
    draw_translation(corpus)
    shown, boxes = texts(figures[0])
    middle = dict(zip(shown, boxes[:, [1, 3]].mean(axis=1), strict=True))
    assert middle["7"] == pytest.approx(middle["a"], abs=3) and middle["b"] < middle["a"]
    assert middle["9"] == pytest.approx(middle["c"], abs=3) and middle["c"] < middle["b"]
    assert "3 words, 3 concepts, 2 pairs, 7 samples" in figures[0].get_suptitle()
    widths = [line.get_linewidth() for line in figures[0].axes[0].lines if len(line.get_xdata()) == 2]
    assert sorted(widths) == pytest.approx([0.5, 0.5, 0.8 + 3.4 * 2 / 3, 4.2])  # 7 to c, 9 to a, then pairs
