"""`make_corpus`: words, meanings, options, errors, users' own grammars, clauses; folders of corpora can be scored."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsuite.formats import read_corpus, write_corpus
from ecsuite.grammars import words as w
from ecsuite.grammars.clauses import clause_variants, clauses
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.grammars.making import make_corpus
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError


def test_a_language_has_a_message_for_each_meaning() -> None:
    sizes = {"num_attributes": 2, "num_values": 3, "word_length": 3, "vocab_size": 7}
    corpus = make_corpus("ShuffleWordsDet,decides=first", seed=5, **sizes)
    expected = language("shufdet,decides=first", Geometry(**sizes), 5)
    assert corpus.messages.values.tolist() == expected.messages.ravel().tolist()
    assert corpus.metadata["signature"] == expected.signature
    assert len(make_corpus("concat", num_attributes=3).messages) == 1000


def test_baselines_have_as_many_symbols_as_are_asked_for_and_signatures_of_their_texts(tmp_path: Path) -> None:
    corpus = make_corpus("Regular, runs=5,repeat_probability=0.2", num_symbols=500, vocab_size=50, seed=3)
    assert len(corpus.messages.values) == 500
    assert corpus.metadata == {
        "grammar": "regular", "num_types": 50, "runs": 5, "repeat_probability": 0.2,
        "signature": "regular|num_types:50|runs:5|repeat_probability:0.2|symbols:500|seed:3|v:1", "seed": 3,
        "vocab_size": 50,
    }  # fmt: skip
    assert len(make_corpus("uniform_noise").messages.values) == 1_000_000
    signatures = set()
    for text in ("a b", "a c", "a b b"):
        (tmp_path / "text.txt").write_text(text)
        corpus = make_corpus("text_parentheses", num_symbols=10, text=tmp_path / "text.txt")
        signatures.add(corpus.metadata["signature"])
    assert len(signatures) == 3


@pytest.mark.parametrize("name", GRAMMARS.parts)
def test_written_corpora_can_be_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a b c b")
    sizes = {"num_symbols": 1000} if name in BASELINES else {"num_attributes": 3, "num_values": 4}
    text = {"text": tmp_path / "text.txt"} if name == "text_parentheses" else {}
    corpus = make_corpus(name, seed=1, **sizes, **text)
    write_corpus(corpus, tmp_path / "out")
    found = read_corpus(tmp_path / "out")
    assert np.array_equal(found.messages.values, corpus.messages.values) and found.eos is None
    assert all(found.metadata[key] == corpus.metadata[key] for key in ("signature", "vocab_size"))
    if name not in BASELINES:
        assert np.array_equal(found.meanings, corpus.meanings)
    line = GRAMMARS.lines()[name]
    assert line == (inspect.getdoc(GRAMMARS.load(name)) or "").split("\n")[0]
    assert line.endswith(".") and len(line) <= 100


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dick", {}, "unknown grammar 'dick'; did you mean 'dyck'? choices: dyck, "),
        ("perm+dyck", {}, "unknown grammar 'dyck'; choices: "),
        ("dyck+perm", {}, "unknown grammar 'dyck'"),
        ("dyck", {"num_values": 3}, "dyck has no meanings: leave out --num-values"),
        ("rot+perm", {"num_symbols": 3}, "rot+perm has one message for each meaning: leave out --num-symbols"),
        ("concat", {"text": Path("a")}, "concat has one message for each meaning: leave out --text"),
        ("dyck", {"text": Path("a")}, "dyck takes no text: leave out --text"),
        ("dyck", {"num_symbols": 0}, "--num-symbols: expected 1 to 1,073,741,824, got 0"),
        ("dyck", {"vocab_size": 0}, "--vocab-size: expected 1 to 67,108,864, got 0"),
        ("dyck", {"vocab_size": 1}, "brackets: expected at least 2 symbols, got 1: raise --vocab-size"),
        ("clauses,marker=2", {}, "marker: expected 0 to 1, got 2"),
        ("clauses,sov=-1", {}, "clauses: expected weights of orders of at least 0, got "),
        ("clauses,entities=1", {}, "clauses: entities: expected 2 to 1,000, got 1"),
        ("clauses,actions=1.5", {}, "clauses: actions: expected a whole number, got 1.5"),
        ("clauses,marker", {}, "clauses: expected an option such as marker=0.5, got 'marker'"),
        ("clauses,sow=1", {}, "unknown option of clauses 'sow'; did you mean "),
        ("clauses", {"num_attributes": 2}, "--num-attributes: clauses has agent, patient, action: leave it out"),
        ("clauses", {"vocab_size": 9}, "clauses has words of one symbol: leave out --vocab-size"),
        ("dyck", {"seed": -1}, "--seed: expected at least 0, got -1"),
        ("concat", {"seed": -1}, "--seed: expected at least 0, got -1"),
        ("concat", {"num_values": 300}, "300^5 meanings in messages of 20 symbols do not fit in memory"),
        ("dyck," + "4" * 5000, {}, "grammar 'dyck': '444444444"),
        ("dyck,0.4", {}, "grammar 'dyck': '0.4' is not an option: expected one such as open_probability=…"),
        ("uniform_noise,a=1", {}, "grammar 'uniform_noise': 'a=1' is not an option: the grammar has none"),
        ("dyck,open=0.4", {}, "unknown option of dyck 'open'; choices: open_probability"),
        ("dyck,num_types=4", {}, "unknown option of dyck 'num_types'; choices: open_probability"),
        ("regular,runs=1.5", {}, "regular: runs: expected a number such as 10, got '1.5'"),
        ("regular,runs=" + "9" * 30, {"num_symbols": 9}, "runs: expected 1 to 1,073,741,824, got 9999999999"),
        ("regular,runs=" + "9" * 5000, {}, "regular: runs: expected a number such as 10, got '99999999999"),
        ("dyck,open_probability=nan", {}, "open_probability: expected 0 to 1, got nan"),
        ("text_parentheses", {}, "text_parentheses: expected a text with word frequencies, got none: give --text FILE"),
    ],
)  # fmt: skip
def test_invalid_requests_name_the_remedy(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        make_corpus(name, **settings)
    assert str(error.value).startswith(message) and len(str(error.value)) < 300


COUNTING = "def counting(meanings):\n    return [[1 + value for value in meaning] for meaning in meanings]\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())

    def own(code, name="counting"):
        (tmp_path / "own.py").write_text(code)
        own_code.trust([f"./own.py:{name}"])
        return make_corpus(f"./own.py:{name}", num_attributes=2, num_values=3)

    return own


def test_messages_of_own_grammars(own):
    corpus = own(COUNTING)
    assert [row.tolist() for row in corpus.messages] == [[1 + a, 1 + b] for a in range(3) for b in range(3)]
    code = own_code.checksum("own.py")[:12]
    assert corpus.metadata["signature"] == f"counting|2x3|w4|V4|seed:0|code:{code}|v:1"
    code = "def f(meanings, rng, geometry):\n    return [[1] * int(rng.integers(1, 4)) for _ in meanings]\n"
    first, second = own(code, "f"), own(code, "f")
    assert first.messages.lengths.tolist() == second.messages.lengths.tolist()
    assert len(set(first.messages.lengths.tolist())) > 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def counting(meanings): return [[1]]\n", "expected 9 messages, got 1"),
        ("def counting(meanings): return 5\n", "expected 9 messages, got 0"),
        ("def counting(meanings): return [[0]] * 9\n", "expected symbols of at least 1; 0 is EOS"),
        ("def counting(meanings): return [['a']] * 9\n", "message 0: expected a list of integers from 0"),
    ],
)
def test_mistakes(own, code, message):
    with pytest.raises(ConfigError, match=f"^./own.py:1: counting: {message}"):
        own(code)


def test_what_nobody_named_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("raise SystemExit\n")
    with pytest.raises(own_code.UntrustedError):
        make_corpus("./other.py:f")


def test_orders_and_markers_have_their_shares() -> None:
    corpus = clauses("clauses,sov=3,osv=1,marker=0.25", 0, entities=5, actions=4)
    events = np.asarray(corpus.meanings)
    assert len(events) == 80 and (events[:, 0] != events[:, 1]).all()
    found: Counter[str] = Counter()
    for (agent, patient, action), row in zip(events.tolist(), range(80), strict=True):
        words = {agent + 1: "s", patient + 1: "o", action + 6: "v", 10: "m"}
        found["".join(words[symbol] for symbol in corpus.messages[row].tolist())] += 1
    assert found["sov"] + found["somv"] == 60 and found["osv"] + found["omsv"] == 20
    assert found["somv"] + found["omsv"] == 20


def test_clauses_with_and_without_weights() -> None:
    free, fixed = clauses("clauses,sov=1,osv=1", 3), clauses("clauses", 0)
    assert len(fixed.messages) == 720
    sets = [sorted(sorted(row.tolist()) for row in each.messages) for each in (free, fixed)]
    assert sets[0] == sets[1]
    corpus = clause_variants("clauses,sov=1,osv=1,marker=0.2,agent_marker=1", 0, entities=2, actions=1)
    rows = [corpus.messages[row].tolist() for row in range(0, 8, 2)]
    assert rows == [[1, 5, 2, 3], [1, 5, 2, 4, 3], [2, 1, 5, 3], [2, 4, 1, 5, 3]]
    assert np.allclose(corpus.columns["weight"][::2], [0.4, 0.1, 0.4, 0.1])
    plain, shuffled = clauses("clauses,marker=0.5", 0), clauses("clauses,marker=0.5+shuf", 0)
    assert plain.messages.lengths.tolist() == shuffled.messages.lengths.tolist()
    assert sorted(plain.messages[5].tolist()) == sorted(shuffled.messages[5].tolist())
    assert plain.messages.values.tolist() != shuffled.messages.values.tolist()
    assert clauses("clauses+rot", 0).messages[0].tolist() == [1, 2, 12]


def num_distinct(rows: np.ndarray) -> int:
    return len(np.unique(rows.reshape(-1, rows.shape[-1]), axis=0))


def test_meanings_are_in_order_and_messages_join_their_words() -> None:
    meanings = w.all_meanings(Geometry(num_attributes=3, num_values=2))
    assert meanings.tolist() == [[i >> 2, i >> 1 & 1, i & 1] for i in range(8)]
    assert w.all_meanings(Geometry(num_attributes=1, num_values=3)).tolist() == [[0], [1], [2]]
    assert w.all_meanings(Geometry(num_attributes=2, num_values=1)).tolist() == [[0, 0]]
    geometry = Geometry(num_attributes=3, num_values=4, word_length=2)
    words, meanings = w.draw_words(geometry, w.stream(0, "words")), w.all_meanings(geometry)
    messages = w.concatenate(words, meanings)
    for meaning, message in zip(meanings, messages, strict=True):
        assert message.tolist() == [s for a, value in enumerate(meaning) for s in words[a, value]]


@pytest.mark.parametrize(
    ("draw", "size", "message"),
    [
        (w.draw_words, {"word_length": 1}, "10 values need 10 different words, but words of 1 symbols over 4 make only "
         "4: raise --word-length to 2 or --vocab-size to 10"),
        (w.draw_words, {"num_values": 1000, "num_attributes": 1}, "1000 values need 1000 different words, but words of "
         "4 symbols over 4 make only 256: raise --word-length to 5 or --vocab-size to 6"),
        (w.draw_words, {"vocab_size": 1}, "10 values need 10 different words, but words of 4 symbols over 1 make only "
         "1: raise --vocab-size to 2"),
        (w.draw_messages, {"word_length": 1}, "100,000 meanings need 100,000 different messages, but messages of 5 "
         "symbols over 4 make only 1,024: raise --word-length or --vocab-size"),
        (w.draw_words, {"num_values": 0}, "--num-values: expected 1 to 1,073,741,824, got 0"),
        (w.draw_words, {"word_length": -1}, "--word-length: expected 1 to 10,000, got -1"),
        (w.draw_words, {"num_attributes": 10**9}, "--num-attributes: expected 1 to 30, got 1,000,000,000"),
        (w.draw_words, {"vocab_size": 2**31}, "--vocab-size: expected 1 to 2,147,483,647, got 2,147,483,648"),
        (w.draw_words, {"num_attributes": 10}, "10^10 meanings in messages of 40 symbols do not fit in memory (at most "
         "1,073,741,824 symbols in total): lower --num-attributes or --num-values"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_name_the_remedy(draw, size, message) -> None:
    with pytest.raises(ConfigError) as error:
        draw(Geometry(**size), w.stream(0, "words"))
    assert str(error.value) == message


def test_random_messages_differ_and_streams_depend_on_seed_and_purpose() -> None:
    # 4^6 = 4096 messages for 1000 meanings; independent draws would repeat some hundred.
    messages = w.draw_messages(Geometry(num_attributes=3, word_length=2), w.stream(0, "messages"))
    assert messages.shape == (1000, 6) and num_distinct(messages) == 1000
    every = w.draw_messages(Geometry(num_attributes=1, num_values=16, word_length=2), w.stream(0, "messages"))
    assert num_distinct(every) == 16
    purposes = ("words", "perm1")
    draws = {tuple(w.stream(seed, each).random(3)) for seed in (0, 1, 2**70) for each in purposes}
    assert len(draws) == 6 and w.stream(1, "words").random() == w.stream(1, "words").random()
    with pytest.raises(ConfigError, match="--seed: expected at least 0, got -1"):
        w.stream(-1, "words")


def test_words_differ_where_there_are_enough_or_fewer() -> None:
    geometry = Geometry()
    assert (geometry.message_length, geometry.num_meanings) == (20, 100_000) and str(geometry) == "5x10|w4|V4"
    assert w.has_distinct_words(geometry)
    words = w.draw_words(geometry, w.stream(123, "words"))
    assert words.shape == (5, 10, 4) and words.dtype == np.uint8 and num_distinct(words) == 50
    assert set(np.unique(words)) == {0, 1, 2, 3}
    words = w.draw_words(Geometry(word_length=40, vocab_size=1000), w.stream(0, "words"))
    assert words.dtype == np.uint16 and num_distinct(words) == 50 and words.max() < 1000
    assert w.draw_words(Geometry(vocab_size=2**16), w.stream(0, "words")).dtype == np.int32
    for geometry in (Geometry(word_length=2), Geometry(word_length=1, vocab_size=10)):
        words = w.draw_words(geometry, w.stream(0, "words"))
        assert not w.has_distinct_words(geometry) and [num_distinct(each) for each in words] == [10] * 5
