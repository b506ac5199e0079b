import morphemes
import numpy as np
import pytest
from morphemes import CONDITIONS, Language, agreement, found, speak

A, B = frozenset([0]), frozenset([1])


def test_agreement_of_inventories():
    true = {((1, 2), A), ((3,), B)}
    assert agreement(true, true, exact=True) == agreement(true, true, exact=False) == (1, 1, 1)
    half = {((1, 2), A), ((3,), A)}
    assert agreement(true, half, exact=True) == (0.5, 0.5, 0.5)
    assert agreement(true, {((1,), A)}, exact=False) == pytest.approx((2 / 3, 1 / 3, 4 / 9))
    assert agreement(true, {((1, 2), A | B)}, exact=False)[0] == 0.5
    assert agreement(true, set(), exact=False) == (0, 0, 0)


def test_languages_have_what_they_are_asked_for():
    rng = np.random.default_rng(1)
    _, plain = speak(Language(num_messages=100), rng)
    assert len(plain) == 16 and all(len(form) == len(meaning) == 1 for form, meaning in plain)
    _, synonyms = speak(Language(synonyms=3), rng)
    assert len(synonyms) == 48 and len({meaning for _, meaning in synonyms}) == 16
    _, polysemous = speak(Language(polysemy=0.15), rng)
    assert len({form for form, _ in polysemous}) == 14
    _, fused = speak(Language(is_fused=True), rng)
    assert {len(meaning) for _, meaning in fused} == {1, 2, 3, 4}
    corpus, _ = speak(Language(noise=0.5), rng)
    assert 4.8 < corpus.messages.lengths.mean() < 5.2
    corpus, used = speak(Language(is_sparse=True, longest=4), rng)
    assert len(used) == 8 and corpus.concepts.lengths.max() > 4
    assert max(len(form) for form, _ in used) == 4


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "least"),
    [("three synonyms", 1), ("noise 50 %", 1), ("sparse", 1), ("50, 1-4 of 50 symbols", 1), ("fused", 0.7)],
)
def test_morphemes_are_found_again(name, least):
    corpus, true = speak(CONDITIONS[name], np.random.default_rng(1))
    assert agreement(true, found(corpus), exact=True)[2] >= least


def test_rare_forms_are_found_after_frequent_ones():
    corpus, true = speak(Language(num_messages=60, synonyms=3, is_shuffled=True), np.random.default_rng(1))
    assert agreement(true, found(corpus), exact=True)[2] > 0.85


def test_a_table_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(morphemes, "CONDITIONS", {"base": Language(num_messages=50)})
    monkeypatch.setattr("sys.argv", ["morphemes.py", "--seeds", "2"])
    morphemes.main()
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["exact", "F1"]
    assert row.startswith("base") and "1.000" in row and "± 0.000" not in row  # equal values have no interval
