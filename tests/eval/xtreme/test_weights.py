"""Backbones and embeddings come back from results as they were."""

import pytest
import torch
from safetensors.torch import load_file

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.training import Machine
from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme.data import PublishedModel
from ecsuite.eval.xtreme.jobs import Architecture, backbone_arrays, load_backbone, prepared, text_arrays
from ecsuite.jobs.job import Result

CPU = Machine(device="cpu", precision="fp32", num_threads=1)
KINDS = pytest.mark.parametrize("kind", BACKBONES)
SUB_WORDS = {
    language: train_subwords([f"{language}la {language}ru " * 9], 280) for language in ("en", "deutsch")
}


@pytest.fixture
def keep(tmp_path):
    """A result with arrays."""

    def keep(arrays, name="arrays"):
        (tmp_path / name).write_bytes(arrays)
        return Result(value=None, arrays=tmp_path / name)

    return keep


@pytest.fixture
def build(tiny):
    """A backbone with weights of a seed and the embedding of a language."""

    def build(kind, seed=0, language="en"):
        backbone = BACKBONES[kind](tiny, torch.Generator().manual_seed(seed))
        size = SUB_WORDS[language].size
        backbone.set_embedding(initial_embedding(size, tiny.width, torch.Generator().manual_seed(size)))
        return backbone

    return build


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(weight, other[name]) for name, weight in one.items()
    )


@KINDS
def test_a_backbone_is_kept_without_its_embedding(keep, build, tiny, kind):
    backbone = build(kind, seed=3)
    kept = keep(backbone_arrays(backbone))
    assert load_file(kept.arrays).keys() == backbone.without_embedding().keys()
    loaded = load_backbone(kept, Architecture(kind=kind, sizes=tiny))
    assert same(dict(loaded.without_embedding()), dict(backbone.without_embedding()))


@KINDS
def test_a_backbone_that_was_trained_on_text_replaces_the_pretrained_one(keep, build, tiny, kind):
    trained, pretrained = build(kind, seed=3), keep(backbone_arrays(build(kind)), "pretrained")
    kept = keep(text_arrays(trained, SUB_WORDS["en"], with_backbone=True))
    architecture = Architecture(kind=kind, sizes=tiny)
    backbone, load_vocabulary = prepared(None, pretrained, {"en": kept, "de": kept}, architecture, CPU)
    sub_words = load_vocabulary("de")
    assert same(backbone.state_dict(), trained.state_dict())
    assert sub_words.size == SUB_WORDS["en"].size == len(backbone.embedding.weight)
    assert backbone.embedding.weight.requires_grad


@KINDS
def test_embeddings_are_swapped_and_the_backbone_stays(keep, build, tiny, kind):
    pretrained = keep(backbone_arrays(build(kind, seed=3)), "pretrained")
    languages = {language: build(kind, language=language) for language in SUB_WORDS}
    texts = {
        language: keep(text_arrays(each, SUB_WORDS[language], with_backbone=False), language)
        for language, each in languages.items()
    }
    architecture = Architecture(kind=kind, sizes=tiny)
    backbone, load_vocabulary = prepared(None, pretrained, texts, architecture, CPU)
    before = {name: weight.clone() for name, weight in backbone.without_embedding().items()}
    for language in ("en", "deutsch", "en"):
        sub_words = load_vocabulary(language)
        assert torch.equal(backbone.embedding.weight, languages[language].embedding.weight)
        assert [len(ids) for ids in sub_words.words([[f"{language}ru"]])[0]] == [1]
        assert same(dict(backbone.without_embedding()), before)
    # Weights changed by a task are kept.
    name, weight = next(iter(backbone.without_embedding().items()))
    with torch.no_grad():
        weight.add_(1)
    load_vocabulary("deutsch")
    assert torch.equal(backbone.without_embedding()[name], before[name] + 1)


def test_a_published_model_has_one_vocabulary_for_all_languages(tiny_bert):
    backbone, load_vocabulary = prepared(
        PublishedModel(name=str(tiny_bert)).identified(), None, {}, None, CPU
    )
    assert load_vocabulary("en") is load_vocabulary("ru") is backbone.sub_words
