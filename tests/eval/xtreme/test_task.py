"""A task: trained parameters, prepared vocabularies, and metrics."""

from dataclasses import replace

import pytest
import torch

from ecsuite.eval.learning.encoders import BACKBONES, initial_embedding
from ecsuite.eval.learning.vocabulary import train_subwords
from ecsuite.eval.xtreme import task as module
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.task import TransferSetting, run_task

SUB_WORDS = train_subwords(["enla deal rula " * 9], 280)


@pytest.fixture
def run(tiny, write_data):
    """Runs a task with a randomly initialised backbone; returns result, backbone and prepared languages."""

    def run(name="udpos", *, kind="decoder", data=None, preset=tiny, test_languages=("en", "de"), **setting):
        backbone = BACKBONES[kind](preset, torch.Generator().manual_seed(0))
        backbone.set_embedding(
            initial_embedding(SUB_WORDS.size, preset.width, torch.Generator().manual_seed(1))
        )
        prepared_languages, progress = [], []

        def prepare_vocabulary(language):
            prepared_languages.append(language)
            return SUB_WORDS

        usual = {"train_language": "en", "is_zero_shot": True, "swaps_embedding": False}
        found = run_task(
            backbone,
            prepare_vocabulary,
            TransferSetting(
                data=data or write_data(name), task=name, test_languages=test_languages, **usual | setting
            ),
            preset,
            torch.Generator().manual_seed(2),
            lambda label, share: progress.append((label, share)),
        )
        assert progress[-1][1] == 1 and [share for _, share in progress] == sorted(
            share for _, share in progress
        )
        return found, backbone, prepared_languages

    return run


@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize("name", TASKS)
def test_every_task_gives_its_metrics(run, name, kind):
    english = () if TASKS[name].kind == "retrieval" else ("en",)
    other = "ru" if name == "tydiqa" else "de"
    found, _, _ = run(name, kind=kind, test_languages=(*english, other))
    assert list(found["by_language"]) == [*english, other]
    for progress in found["by_language"].values():
        assert progress["split"] == "test"
        assert set(TASKS[name].metrics) <= set(progress["metrics"])
        assert all(0 <= score <= 100 for score in progress["metrics"].values())
    assert (found["learnt_from"] is None) == (TASKS[name].kind == "retrieval")


def test_a_simple_task_is_learnt(run, tiny):
    """The test has an unseen word between seen words."""
    rules = replace(tiny.tuning["udpos"], lr=0.03, epochs=100)
    preset = replace(tiny, scope="all", tuning={"udpos": rules}, max_train=None, max_test=None)
    found, _, _ = run(preset=preset, test_languages=("en",))
    assert found == {
        "learnt_from": "train",
        "by_language": {
            "en": {
                "split": "test",
                "metrics": dict.fromkeys(("f1", "precision", "recall", "accuracy"), 100.0),
            }
        },
    }


def test_the_same_seed_gives_the_same(run, tiny):
    preset = replace(tiny, scope="all")
    assert run(preset=preset)[0] == run(preset=preset)[0]


@pytest.mark.parametrize(("swaps_embedding", "wanted"), [(True, ["en", "de", "ru"]), (False, ["en"])])
def test_the_embedding_is_swapped_if_each_language_has_its_own(run, swaps_embedding, wanted):
    assert run(test_languages=("en", "de", "ru"), swaps_embedding=swaps_embedding)[2] == wanted


@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize(
    ("scope", "swaps_embedding", "backbone_changes", "embedding_changes"),
    [
        ("head", False, False, False),
        ("head", True, False, False),
        ("all", False, True, True),
        # A backbone trained with its embedding would not fit another embedding.
        ("all", True, True, False),
    ],
)
def test_trained_parameters_of_a_task(
    run, tiny, kind, scope, swaps_embedding, backbone_changes, embedding_changes
):
    preset = replace(tiny, scope=scope)
    before = BACKBONES[kind](preset, torch.Generator().manual_seed(0)).without_embedding()
    _, backbone, _ = run(kind=kind, preset=preset, swaps_embedding=swaps_embedding)
    weight = initial_embedding(SUB_WORDS.size, preset.width, torch.Generator().manual_seed(1))
    assert torch.equal(backbone.embedding.weight, weight) != embedding_changes
    changed = [not torch.equal(weight, before[name]) for name, weight in backbone.without_embedding().items()]
    assert any(changed) == backbone_changes


def test_numbers_of_training_and_test_examples(run, tiny, monkeypatch):
    seen = []
    prepare = module.tagging.prepare

    def recorded(examples, sub_words, context, is_bidirectional, labels):
        seen.append((len(examples), context, labels))
        return prepare(examples, sub_words, context, is_bidirectional, labels)

    monkeypatch.setattr(module.tagging, "prepare", recorded)
    run(preset=replace(tiny, max_train=4, max_test=3))
    # The row length is limited by the positions of the backbone.
    rules = {"udpos": replace(tiny.tuning["udpos"], context=999)}
    run(preset=replace(tiny, max_train=None, max_test=None, tuning=rules))
    labels = ("DET", "NOUN", "VERB")
    assert seen == [(number, 48, labels) for number in (4, 3, 3, 12, 12, 12)]


def test_a_label_without_training_examples_is_no_error(run, write_data):
    data = write_data("udpos")
    file = data / "udpos" / "test-de.tsv"
    file.write_text(file.read_text().replace("NOUN", "ADJ").replace("DET", "ADJ").replace("VERB", "ADJ"))
    found, _, _ = run(data=data)
    assert found["by_language"]["de"]["metrics"]["accuracy"] == 0


def test_training_in_the_test_language(run):
    found, _, prepared_languages = run(
        train_language="de", test_languages=("de",), is_zero_shot=False, swaps_embedding=True
    )
    assert found["learnt_from"] == "dev" and set(prepared_languages) == {"de"}


@pytest.mark.parametrize(
    ("name", "kind", "pooling", "sides"),
    [
        ("tatoeba", "decoder", "mean", ["en", "ru"]),
        ("tatoeba", "encoder", "mean", ["en", "ru"]),
        ("bucc2018", "encoder", "first", ["ru", "en", "ru", "en"]),
        # The first state of a decoder does not depend on the sentence.
        ("bucc2018", "decoder", "last", ["ru", "en", "ru", "en"]),
    ],
)
def test_how_sentences_are_compared(run, monkeypatch, name, kind, pooling, sides):
    used = []
    embed = module.embed

    def recorded(*arguments, **options):
        used.append(options["pooling"])
        return embed(*arguments, **options)

    monkeypatch.setattr(module, "embed", recorded)
    _, _, prepared_languages = run(name, kind=kind, test_languages=("ru",))
    assert prepared_languages == sides and used == [pooling] * len(sides)


@pytest.mark.parametrize("name", ["tatoeba", "bucc2018"])
def test_sentences_are_compared_on_the_device_of_the_backbone(tiny, write_data, monkeypatch, name):
    """Preparing a vocabulary moves the backbone, here to the device `meta`."""
    backbone = BACKBONES["decoder"](tiny, torch.Generator().manual_seed(0))
    devices = []

    def prepare_vocabulary(language):
        backbone.to("meta")
        return SUB_WORDS

    def embed(backbone, sub_words, sentences, batch, device, **options):
        devices.append(device.type)
        return torch.eye(len(sentences), tiny.width).numpy()

    monkeypatch.setattr(module, "embed", embed)
    setting = TransferSetting(
        data=write_data(name),
        task=name,
        train_language="en",
        test_languages=("ru",),
        is_zero_shot=True,
        swaps_embedding=True,
    )
    run_task(backbone, prepare_vocabulary, setting, tiny, torch.Generator(), lambda label, share: None)
    assert set(devices) == {"meta"}


def test_a_threshold_tuned_on_the_test_split_is_noted(run, write_data):
    data = write_data("bucc2018", parts={"ru": ("dev",)})
    found, _, _ = run("bucc2018", data=data, test_languages=("ru",))
    assert found["by_language"]["ru"]["split"] == "dev, its threshold from itself"
