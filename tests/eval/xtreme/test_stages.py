"""The three stages: trained parameters, written files, and inputs of the next stage."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.learning.encoders import BACKBONES
from ecsuite.eval.xtreme import stages
from ecsuite.eval.xtreme.protocols import PROTOCOLS
from ecsuite.eval.xtreme.stages import finetune_task, pretrain_backbone, train_on_text
from ecsuite.eval.xtreme.task import TransferSetting

CORPUS = Corpus(messages=Ragged.from_rows([[place % 5, place % 3, 7] for place in range(40)]))
KINDS = pytest.mark.parametrize("kind", BACKBONES)


def ignore_progress(label, share):
    pass


@pytest.fixture
def rules(tiny):
    """Inputs of all stages."""
    return {
        "preset": tiny,
        "seed": 0,
        "device": "cpu",
        "precision": "fp32",
        "report_progress": ignore_progress,
    }


@pytest.fixture
def pretrain(tmp_path, rules):
    def pretrain(name="random init", kind="decoder", **others):
        file = tmp_path / f"{name} {kind}.safetensors"
        corpus = CORPUS if "corpus" in name else None
        result = pretrain_backbone(
            name=name, corpus=corpus, text=None, kind=kind, file=file, **rules | others
        )
        return file, result

    return pretrain


@pytest.fixture
def train_text(tmp_path, rules, write_data):
    data = write_data("udpos")

    def train_text(backbone_file, languages, protocol, kind="decoder", **others):
        file = tmp_path / f"{protocol} {'+'.join(languages)}.safetensors"
        result = train_on_text(
            backbone_file=backbone_file,
            kind=kind,
            languages=languages,
            protocol=protocol,
            data=data,
            texts=None,
            file=file,
            **rules | others,
        )
        return file, result

    return train_text


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(weight, other[name]) for name, weight in one.items()
    )


@KINDS
def test_a_backbone_is_written_without_its_embedding(pretrain, tiny, kind):
    file, result = pretrain("corpus", kind)
    weights = load_file(file)
    assert weights.keys() == BACKBONES[kind](tiny, torch.Generator()).without_embedding().keys()
    assert result["parameters"] == sum(weight.numel() for weight in weights.values())
    assert result["repeats"] == pytest.approx((480 + 1) / 120)
    assert result["sha256"] == stages.hashlib.sha256(file.read_bytes()).hexdigest()


@KINDS
def test_backbones_have_the_same_initial_weights_and_differ_after_pretraining(pretrain, tiny, kind):
    names = ("random init", "corpus", "shuffled corpus", "parentheses")
    weights_by_source = {name: load_file(pretrain(name, kind)[0]) for name in names}
    backbone_file = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
    assert same(weights_by_source["random init"], dict(backbone_file.without_embedding()))
    for place, name in enumerate(names):
        assert not any(same(weights_by_source[name], weights_by_source[other]) for other in names[:place])


@KINDS
def test_a_stage_is_a_pure_function(pretrain, tiny, kind):
    """Dropout depends on the seed, and the global random state is unchanged."""
    preset = replace(tiny, dropout=0.2)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first = pretrain("corpus", kind, preset=preset)[1]
    assert torch.equal(torch.random.get_rng_state(), before) and torch.get_num_threads() == threads
    torch.manual_seed(77)
    assert pretrain("corpus", kind, preset=preset)[1] == first
    assert pretrain("corpus", kind, preset=preset, seed=1)[1] != first
    assert pretrain("corpus", kind)[1] != first


def test_settings_are_restored_after_an_error(pretrain):
    before = torch.random.get_rng_state()

    def stop(label, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain("corpus", report_progress=stop)
    assert torch.equal(torch.random.get_rng_state(), before)


@KINDS
def test_text_trains_the_backbone_if_the_protocol_says_so(pretrain, train_text, kind):
    backbone_file, _ = pretrain(kind=kind)
    bytes_before = backbone_file.read_bytes()
    weights_by_protocol = {}
    for protocol in PROTOCOLS:
        file, result = train_text(backbone_file, ("en", "ru"), protocol, kind)
        weights_by_protocol[protocol] = load_file(file)
        assert set(result["repeats"]) == ({"en", "ru"} if PROTOCOLS[protocol].learns_text else set())
    assert backbone_file.read_bytes() == bytes_before
    assert [set(weights_by_protocol[name]) for name in ("monotrans", "direct")] == [{"embedding"}] * 2
    assert weights_by_protocol["in-language"].keys() == weights_by_protocol["adapt"].keys()
    adapted, first = weights_by_protocol["adapt"], load_file(backbone_file)
    assert adapted.keys() == {"embedding", *first}
    assert not any(torch.equal(adapted[name], weight) for name, weight in first.items() if weight.any())
    # The same initial embedding: unchanged, trained alone, and trained with the backbone.
    direct, alone, together = (
        weights_by_protocol[name]["embedding"] for name in ("direct", "monotrans", "adapt")
    )
    assert direct.shape == alone.shape == together.shape
    assert not torch.equal(direct, alone) and not torch.equal(alone, together)
    assert direct.std().item() == pytest.approx(0.02, rel=0.1)


def test_a_vocabulary_contains_words_of_its_languages(pretrain, train_text, tiny):
    file, _ = train_text(pretrain()[0], ("en", "ru"), "direct")
    weights, metadata = stages._read(file)
    tokenizer = Tokenizer.from_str(metadata["tokenizer"])
    assert len(weights["embedding"]) == tokenizer.get_vocab_size() + 4 <= tiny.vocab_size + 4
    # A word of each language is one sub-word.
    assert all(len(tokenizer.encode(word).ids) == 1 for word in ("enla", "rula"))


def test_each_language_has_the_same_amount_of_text(pretrain, train_text, tiny):
    _, result = train_text(pretrain()[0], ("en", "de"), "adapt")
    # English has two training splits of 12 lines each; German has one.
    assert result["repeats"]["de"] == pytest.approx(2 * result["repeats"]["en"], rel=0.2)
    assert result["repeats"]["de"] > 1


@pytest.fixture
def capture_setting(monkeypatch, rules, write_data):
    """Captures what `run_task` is called with: the backbone and `prepare_vocabulary`."""

    def capture_setting(backbone_file, learnt, kind="decoder", model=None):
        given = {}

        def run_task(backbone, prepare_vocabulary, setting, preset, generator, report_progress):
            given.update(
                backbone=backbone,
                prepare_vocabulary=prepare_vocabulary,
                seed=generator.initial_seed(),
                setting=setting,
            )
            return {"learnt_from": None, "by_language": {}}

        monkeypatch.setattr(stages, "run_task", run_task)
        setting = TransferSetting(
            data=write_data("udpos"),
            task="udpos",
            train_language="en",
            test_languages=("de",),
            is_zero_shot=True,
            swaps_embedding=True,
        )
        finetune_task(
            backbone_file=backbone_file, model=model, text_files=learnt, kind=kind, setting=setting, **rules
        )
        assert given["setting"] is setting and given["seed"] == 0
        return given["backbone"], given["prepare_vocabulary"]

    return capture_setting


@KINDS
def test_adapt_continues_with_the_backbone_trained_on_text(pretrain, train_text, capture_setting, kind):
    backbone_file, _ = pretrain(kind=kind)
    file, _ = train_text(backbone_file, ("en", "de"), "adapt", kind)
    backbone, prepare_vocabulary = capture_setting(backbone_file, {"en": file, "de": file}, kind)
    assert same(dict(backbone.without_embedding()), load_file(backbone_file))
    sub_words = prepare_vocabulary("en")
    written = load_file(file)
    assert torch.equal(backbone.embedding.weight, written.pop("embedding"))
    assert same(dict(backbone.without_embedding()), written)
    assert sub_words.size == len(backbone.embedding.weight)
    assert backbone.embedding.weight.requires_grad


@KINDS
def test_monotrans_swaps_embeddings_and_keeps_the_backbone(pretrain, train_text, capture_setting, kind):
    backbone_file, _ = pretrain("corpus", kind)
    learnt = {
        language: train_text(backbone_file, (language,), "monotrans", kind)[0] for language in ("en", "de")
    }
    backbone, prepare_vocabulary = capture_setting(backbone_file, learnt, kind)
    for language in ("en", "de", "en"):
        sub_words = prepare_vocabulary(language)
        assert torch.equal(backbone.embedding.weight, load_file(learnt[language])["embedding"])
        assert sub_words.size == len(backbone.embedding.weight)
        assert [len(ids) for ids in sub_words.words([[f"{language}ru"]])[0]] == [1]
        assert same(dict(backbone.without_embedding()), load_file(backbone_file))
    # Weights changed by a task are kept.
    name, weight = next(iter(backbone.without_embedding().items()))
    with torch.no_grad():
        weight.add_(1)
    prepare_vocabulary("de")
    assert torch.equal(backbone.without_embedding()[name], load_file(backbone_file)[name] + 1)


def test_a_published_model_has_one_vocabulary_for_all_languages(capture_setting, tiny_bert):
    backbone, prepare_vocabulary = capture_setting(None, {}, model=str(tiny_bert))
    assert prepare_vocabulary("en") is prepare_vocabulary("ru") is backbone.sub_words
