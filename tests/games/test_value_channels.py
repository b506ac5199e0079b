"""Words of values: their levels, gradients and precision, which need neither noise nor an end."""

import json

import pytest
import torch
from built_messages import build_message, make, objective

import ecsuite as ec
from ecsuite.games.channels.message_builders import as_values

WORDS_OF_VALUES = ["quantized", "continuous"]


def build_value_message(kind, logits, mode="train", **settings):
    """A message of words of values, from logits (max_len, batch, word_size)."""
    num_words, _, word_size = logits.shape
    settings = {"max_len": num_words, "word_size": word_size, **settings}
    builder = make(kind, **settings).start_message(mode, logits[0], torch.Generator().manual_seed(0))
    return build_message(builder, logits)


@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
@pytest.mark.parametrize("num_levels", [2, 3, 100])
def test_quantized_words_are_the_nearest_levels_and_nothing_else(num_levels, normalize):
    torch.manual_seed(0)
    logits = 3 * torch.randn(4, 50, 7)
    symbols = build_value_message("quantized", logits, num_levels=num_levels, normalize=normalize).symbols
    levels = torch.arange(num_levels) / (num_levels - 1)
    assert torch.isin(symbols, levels).all()  # exactly
    distance = (as_values(logits, normalize)[..., None] - levels).abs()
    assert (symbols == levels[distance.argmin(-1)]).all()
    assert len(symbols.unique()) > num_levels // 2


@pytest.mark.parametrize(("num_levels", "half"), [(2, 0), (4, 2 / 3), (6, 0.4), (8, 4 / 7), (3, 0.5)])
def test_halves_are_rounded_to_the_even_level(num_levels, half):
    logits = torch.tensor([[[0.0, 0.5, 1.0]]])
    symbols = build_value_message("quantized", logits, num_levels=num_levels, normalize="minmax").symbols
    assert symbols.flatten().tolist() == pytest.approx([0, half, 1])
    zeros = build_value_message(
        "quantized", torch.zeros(1, 1, 2), num_levels=num_levels
    ).symbols  # sigmoids of 0.5
    assert zeros.flatten().tolist() == pytest.approx([half, half])


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
def test_the_gradient_of_words_is_that_of_their_values(kind, normalize):
    torch.manual_seed(0)
    logits, weights = torch.randn(3, 5, 6, requires_grad=True), torch.randn(3, 5, 6)
    message = build_value_message(kind, logits, num_levels=3, normalize=normalize)
    (ours,) = torch.autograd.grad((message.symbols * weights).sum(), logits)
    if normalize == "sigmoid":
        values = 1 / (1 + torch.exp(-logits))
    else:
        low, high = logits.min(-1, keepdim=True).values, logits.max(-1, keepdim=True).values
        values = (logits - low) / (high - low)
    (expected,) = torch.autograd.grad((values * weights).sum(), logits)
    torch.testing.assert_close(ours, expected)
    assert ours.abs().max() > 0.01


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
def test_words_of_values_are_the_same_in_every_mode_without_noise_or_end(kind):
    logits = torch.randn(3, 5, 6)
    messages = [build_value_message(kind, logits, mode) for mode in ("train", "greedy", "sample")]
    for message in messages:
        assert message.symbols.equal(messages[0].symbols) and message.symbols.shape == (3, 5, 6)
        assert message.ends is message.log_probability is message.entropy is None
        assert message.length.tolist() == [3.0] * 5
    late = make(kind, word_size=6).start_message(
        "train", logits[0], None, epoch=99
    )  # there is no temperature
    assert build_message(late, logits).symbols.equal(messages[0].symbols)


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
def test_a_word_does_not_depend_on_the_rest_of_its_batch(kind, normalize):
    torch.manual_seed(0)
    logits = torch.randn(3, 8, 6)
    whole = build_value_message(kind, logits, normalize=normalize).symbols
    for rows in ([0], [3, 3], [7, 1, 2]):
        part = build_value_message(kind, logits[:, rows], normalize=normalize).symbols
        torch.testing.assert_close(part, whole[:, rows], rtol=0, atol=1e-6)


def test_minmax_scales_each_word_and_equal_logits_give_one_half():
    logits = torch.tensor([[2.0, 4.0, 3.0], [-1e-3, 0.0, 1e-3], [7.0, 7.0, 7.0]], requires_grad=True)
    values = as_values(logits, "minmax")
    torch.testing.assert_close(values, torch.tensor([[0, 1, 0.5], [0, 0.5, 1], [0.5, 0.5, 0.5]]))
    torch.testing.assert_close(as_values(3 * logits - 5, "minmax"), values, rtol=0, atol=1e-4)
    (gradient,) = torch.autograd.grad((values * torch.tensor([1.0, 2.0, 4.0])).sum(), logits)
    assert gradient.isfinite().all() and (gradient[2] == 0).all()


def test_continuous_words_are_the_unrounded_values():
    logits = torch.randn(3, 5, 6)
    torch.testing.assert_close(build_value_message("continuous", logits).symbols, logits.sigmoid())
    scaled = build_value_message("continuous", logits, normalize="minmax").symbols
    assert scaled.equal(as_values(logits, "minmax"))


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
def test_values_are_computed_in_fp32_and_returned_in_the_precision_of_the_logits(kind):
    logits = torch.randn(2, 5, 6).bfloat16()
    symbols = build_value_message(kind, logits, num_levels=3).symbols
    assert symbols.dtype == torch.bfloat16
    assert symbols.equal(build_value_message(kind, logits.float(), num_levels=3).symbols.bfloat16())


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
def test_words_of_values_have_no_parameters_and_a_constant_length_cost(kind):
    """Words of 64 values are 2^64 symbols: sizes do not depend on them. The length cost is a constant."""
    channel = make(kind, word_size=64)
    assert (channel.vocab_size, channel.symbol_size) == (2**64, 64)
    assert not list(channel.parameters()) and not channel.state_dict()
    message = build_message(channel.start_message("train", torch.zeros(4, 1), None), torch.randn(3, 4, 64))
    losses = torch.rand(4)
    torch.testing.assert_close(objective(channel, losses, message, length_cost=0.5), losses.mean() + 1.5)


@pytest.mark.parametrize(
    ("kind", "word_size"),
    [*(("quantized", size) for size in (62, 63, 64, 2_000)), ("continuous", 64), ("variational", 64)],
)
def test_words_of_any_size_are_trained_written_and_scored(ecsuite, tmp_path, kind, word_size):
    """The vocabulary of words of 63 bits and more has no integer of 64 bits, and is null in the metadata."""
    line = ["--set", f"channel={kind},word_size={word_size},max_len=2", "-q", "--out", "run"]
    line += ["--set", "training.num_epochs=1", "--set", "training.num_examples=64"]
    assert ecsuite("train-game", "disc_tiny", *line)[0] == 0
    metadata = json.loads((tmp_path / "run/metadata.json").read_bytes())
    assert metadata["vocab_size"] == (2**62 if word_size == 62 else None)
    assert ecsuite("train-game", "run/config.yaml", "--resume", "-q", "--out", "run")[0] == 0
    assert ecsuite("convert", "run", "corpus.csv", "--to", "csv")[0] == 0
    assert len((tmp_path / "corpus.csv").read_text().splitlines()) == 17  # 16 meanings
    assert ecsuite("evaluate", "run")[0] == 0
    assert ecsuite("score", "run", "--metrics", "topsim")[0] == 0


def test_more_levels_than_the_precision_of_values_are_refused_before_training(ecsuite):
    line = ["train-game", "disc_tiny", "--set", "channel=quantized,word_size=1,max_len=1"]
    code, _, err = ecsuite(*line, "--set", f"channel.num_levels={2**24 + 1}", "--out", "run")
    assert (code, err) == (2, "--set: channel.num_levels: expected int <= 16777216, got 16777217\n")
    line += ["--set", "training.num_epochs=1", "--set", "training.num_examples=64", "-q", "--out", "run"]
    assert ecsuite(*line, "--set", f"channel.num_levels={2**24}")[0] == 0


@pytest.mark.parametrize(("bits", "shown"), [(64, 2**64), (20_000, '"one of 20,001 bits"')])
def test_metadata_beyond_64_bits_are_refused_before_a_file_is_written(tmp_path, bits, shown):
    corpus = ec.Corpus([[1], [2]], metadata={"vocab_size": 2**bits})
    with pytest.raises(
        ec.CorpusError, match=rf"^metadata: expected integers of at most 64 bits, got {shown}$"
    ):
        ec.write_corpus(corpus, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()
