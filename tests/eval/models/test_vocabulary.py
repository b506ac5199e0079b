"""Sub-word vocabularies trained here, and those of the families of published tokenizers."""

from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from ecsuite.eval.models.vocabulary import encode, published_subwords, train_bpe, train_subwords
from ecsuite.runtime.errors import ConfigError

transformers = pytest.importorskip("transformers")

TEXTS = ["the cat sat on a mat", "a cat and a dog", "القطة على السجادة", "猫在垫子上", "cats 😀 mats"]


def word_piece():
    """The family of mBERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]"
    )


def sentence_piece():
    """The family of XLM-R."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>"
    )


def prepending():
    """The family of Llama: a word boundary is prepended to the text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    alphabet = sorted(set("".join(TEXTS)) - {" "})
    trainer = trainers.BpeTrainer(vocab_size=60, show_progress=False, initial_alphabet=["▁", *alphabet])
    tokenizer.train_from_iterator([word for text in TEXTS for word in text.split()], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def byte_level():
    """The family of GPT-2; an end symbol is the only special symbol."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<end>"],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


@pytest.mark.parametrize(
    ("family", "first", "between", "last"),
    [
        (word_piece, (2,), (3,), (3,)),
        (sentence_piece, (0,), (2, 2), (2,)),
        (prepending, (), (), ()),
        (byte_level, (), (), ()),
    ],
)
def test_special_symbols_of_published_tokenizers(family, first, between, last):
    tokenizer = family()
    sub_words = published_subwords(tokenizer)
    assert (sub_words.first, sub_words.between, sub_words.last) == (first, between, last)
    one, other = (encoding.ids for encoding in sub_words.texts(["a cat", "the mat"]))
    assert [*first, *one, *last] == tokenizer("a cat").input_ids
    assert [*first, *one, *between, *other, *last] == tokenizer("a cat", "the mat").input_ids
    assert sub_words.size == len(tokenizer)


def test_subwords_lose_nothing():
    lines = ["Žahegaa ko biv.", "日本語 \t x"]
    tokenizer = train_bpe(lines, 300)
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, lines)] == [line + "\n" for line in lines]
    (encoding,) = train_subwords([], 256).texts(["é😀猫"])  # bytes, whose offsets are characters
    assert encoding.offsets == [(0, 1)] * 2 + [(1, 2)] * 4 + [(2, 3)] * 3
    tokenizer = word_piece()
    joiner = "\u200d"  # removed by the normalizer
    assert published_subwords(tokenizer).words([["cat", joiner]])[0][1] == [tokenizer.unk_token_id]
    slow = SimpleNamespace(is_fast=False, name_or_path="some/model")
    with pytest.raises(ConfigError, match=r"^some/model: expected a fast tokenizer \(package tokenizers\)"):
        published_subwords(slow)
