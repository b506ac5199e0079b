"""Tokens of texts: nothing is lost, and ends are told."""

from ecsuite.eval.xferbench.bpe import encode, train_bpe


def test_bpe_loses_nothing() -> None:
    lines = ["Žahegaa ko biv.", "日本語 \t x"]
    tokenizer = train_bpe(lines, 300)
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, lines)] == [line + "\n" for line in lines]
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, iter(lines), end="")] == lines


def test_no_more_text_is_read_than_asked_for() -> None:
    lines = ["aaaa bbbb"] * 10 + ["cdcdcd"] * 100
    assert "cd" not in train_bpe(lines, 300, 50).get_vocab()
    assert "cd" in train_bpe(lines, 300).get_vocab()
