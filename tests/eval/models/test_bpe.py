"""Tokenisation of texts: it is lossless and marks the ends of lines."""

from ecsuite.eval.models.vocabulary import encode, train_bpe


def test_bpe_loses_nothing() -> None:
    lines = ["Žahegaa ko biv.", "日本語 \t x"]
    tokenizer = train_bpe(lines, 300)
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, lines)] == [line + "\n" for line in lines]
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, iter(lines), end="")] == lines


def test_no_more_text_is_read_than_asked_for() -> None:
    lines = ["aaaa bbbb"] * 10 + ["cdcdcd"] * 100
    assert "cd" not in train_bpe(lines, 300, 50).get_vocab()
    assert "cd" in train_bpe(lines, 300).get_vocab()


def test_words_keep_their_combining_marks_where_asked_for() -> None:
    lines = ["\u0915\u093e\u0916\u093e " * 3] * 50  # two consonants, each with a vowel sign, a combining mark
    sizes = {
        keeps_marks: len(
            train_bpe(lines, 400, keeps_marks=keeps_marks).encode("\u0915\u093e\u0916\u093e").ids
        )
        for keeps_marks in (False, True)
    }
    assert sizes == {False: 4, True: 1}


def test_every_text_can_be_decoded() -> None:
    text = "It's 3 \u0915\u093e\u0916  \U0001f600\n"
    for keeps_marks in (False, True):
        tokenizer = train_bpe(["abc abd", "abc"] * 9, 300, keeps_marks=keeps_marks)
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
