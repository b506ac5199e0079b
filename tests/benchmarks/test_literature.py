import numpy as np
import pytest

import ecsuite as ec
from ecsuite.benchmarks.literature import chance, known
from ecsuite.benchmarks.literature.__main__ import main
from ecsuite.benchmarks.literature.readings import READINGS, word_boundaries
from ecsuite.benchmarks.literature.samples import Sample, noisy_grammar
from ecsuite.benchmarks.literature.segments import mean_boundaries
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.formats.directory import write_corpus


def words(seed: int = 0) -> Sample:
    """Messages of words of two symbols about two attributes, of which some symbols are left out."""
    rng = np.random.default_rng(seed)
    attributes = rng.integers(4, size=(120, 2))
    rows = [[value // 2 + 1 + 2 * place for place, value in enumerate(row) for _ in range(2)] for row in attributes]
    messages = [tuple(symbol for symbol in row if rng.random() > 0.2) for row in rows]
    return Sample(messages=messages, attributes=attributes)


@pytest.mark.parametrize("sample", [noisy_grammar(), words()])
def test_the_first_reading_of_each_metric_is_that_of_ecsuite(sample):
    names = [name for name in READINGS if name != "Tokens per Line"]
    metrics = sorted({name.removesuffix("_messages") for name in names})
    with few_draws():
        scores = {score.name: score.value for score in ec.score(sample.corpus(), metrics).scores}
    for name in names:
        own = READINGS[name]["ecsuite"](sample)
        assert own == pytest.approx(scores[name], abs=1e-9), name


def test_readings_differ_where_they_are_known_to():
    sample = noisy_grammar()
    figures = {name: reading(sample) for name, reading in READINGS["topsim"].items()}
    assert figures["cosine of one-hot values"] == pytest.approx(figures["ecsuite"], abs=1e-12)
    assert figures["also each line and itself"] > figures["ecsuite"] > figures["each meaning once"]
    lengths = READINGS["Tokens per Line"]
    assert lengths["with EOS"](sample) == lengths["without EOS"](sample) + 1
    ami = {name: reading(sample) for name, reading in READINGS["ami"].items()}
    assert ami["ecsuite"] < ami["mean of entropies (ami_arithmetic)"] < ami["smaller entropy"]
    once = sample.each_meaning_once()
    assert np.isnan(READINGS["ami"]["ecsuite"](once)) and len(once.messages) < 126


def test_boundaries_agree_where_every_message_ends_in_a_mark():
    rng = np.random.default_rng(1)
    rows = [[int(symbol) for _ in range(4) for symbol in ((1, 2), (2, 3, 1))[rng.integers(2)]] for _ in range(60)]
    marked = [(*row, 5) for row in rows]
    sample = Sample(messages=marked, attributes=np.zeros((60, 1), int))
    own = word_boundaries(sample, threshold=0.5)
    assert own > 0 and mean_boundaries(marked, 0.5) == pytest.approx(own)
    # Without a mark: after 1 2 comes 1 or 2 (1 bit), after 1 always 2 (0 bits). With the ends in the divisor these are
    # 1.06 bits of three occurrences, and 0.31 bits of four.
    short = [(1, 2), (1, 2, 1), (1, 2, 2)]
    sample = Sample(messages=short, attributes=np.zeros((3, 1), int))
    assert word_boundaries(sample, threshold=0.8) == 2 / 3
    assert mean_boundaries(short, 0.8) == 0
    assert mean_boundaries(short, 0.7) == 1  # also at the end of the message 1 2


def test_languages_with_a_published_score_are_made_as_described():
    sample = known.segmented(3, 4, seed=0)
    assert len(sample.messages) == 64 and {len(message) for message in sample.messages} == {36}
    assert sample.messages == known.segmented(3, 4, seed=0).messages != known.segmented(3, 4, seed=1).messages
    assert sample.messages[0][:24] == sample.messages[3][:24] and sample.attributes[3].tolist() == [0, 0, 3]
    code = known.optimal_code(9, 3)
    assert [len(message) for message in code.messages] == [0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert len(set(code.messages)) == 9


def test_published_figures_are_computed_again(capsys):
    main(["known", "examples", "correlations"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    exact = rows[:4]
    assert [float(ours.strip("| ")) for *_, ours in exact] == [1, 0.979, 40, 3]
    found = {measured: float(ours.strip("| ")) for _, measured, _, ours in rows[4:]}
    assert found["AMI and CBM, shape, Table 1, 4 rows"] == 0.293
    assert found["AMI and CBM, thing, Table 1, 4 rows"] == 0.803
    assert len(found) == 6


@pytest.mark.slow
def test_topsim_of_a_published_language():
    (row,) = known.segmented_topsim([(3, 16)], num_seeds=1)
    assert row.ours == pytest.approx(row.published, abs=0.003)


def test_the_chance_level_is_above_zero_if_a_line_is_paired_with_itself(monkeypatch, capsys):
    monkeypatch.setattr(chance, "GEOMETRIES", (((4, 4), 3, 5),))
    main(["chance"])
    *_, row = capsys.readouterr().out.splitlines()
    about, others, itself = row.strip("| ").split(" | ")
    assert about == "16 meanings, 3 symbols of 5"
    assert abs(float(others)) < 0.03 and float(itself) > 0.15


def test_a_corpus_is_read_beside_the_grammar(tmp_path, capsys):
    corpus = tmp_path / "mine"
    write_corpus(words().corpus(), corpus)
    main(["readings", "bosdis", "--corpus", str(corpus)])
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header == "| metric | reading | noisy grammar | mine |"
    assert rows[0].startswith("| `bosdis` | ecsuite | 0.388 | ") and "(" not in rows[0]
    assert len(rows) == 3 and rows[1].count("(") == 2
