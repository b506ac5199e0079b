"""A task: what is tuned, which language is spoken when, and what comes of it."""

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
    """Does a task with a body as it is born; what came of it, the body, and which languages were spoken."""

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


def test_a_task_that_can_be_learnt_is_learnt(run, tiny):
    """A word of the test is new, but what stands before and after it is not."""
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
def test_another_language_is_spoken_where_each_has_its_own_embedding(run, swaps_embedding, wanted):
    assert run(test_languages=("en", "de", "ru"), swaps_embedding=swaps_embedding)[2] == wanted


@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize(
    ("scope", "swaps_embedding", "body_changes", "embedding_changes"),
    [
        ("head", False, False, False),
        ("head", True, False, False),
        ("all", False, True, True),
        # An embedding that was tuned with the body would fit no longer when another one is put in.
        ("all", True, True, False),
    ],
)
def test_what_a_task_tunes(run, tiny, kind, scope, swaps_embedding, body_changes, embedding_changes):
    preset = replace(tiny, scope=scope)
    before = BACKBONES[kind](preset, torch.Generator().manual_seed(0)).without_embedding()
    _, backbone, _ = run(kind=kind, preset=preset, swaps_embedding=swaps_embedding)
    weight = initial_embedding(SUB_WORDS.size, preset.width, torch.Generator().manual_seed(1))
    assert torch.equal(backbone.embedding.weight, weight) != embedding_changes
    changed = [not torch.equal(weight, before[name]) for name, weight in backbone.without_embedding().items()]
    assert any(changed) == body_changes


def test_so_many_are_learnt_and_tested(run, tiny, monkeypatch):
    seen = []
    prepare = module.tagging.prepare

    def recorded(examples, sub_words, context, is_bidirectional, labels):
        seen.append((len(examples), context, labels))
        return prepare(examples, sub_words, context, is_bidirectional, labels)

    monkeypatch.setattr(module.tagging, "prepare", recorded)
    run(preset=replace(tiny, max_train=4, max_test=3))
    # A body cannot read more than it has positions, whatever the preset says of the task.
    rules = {"udpos": replace(tiny.tuning["udpos"], context=999)}
    run(preset=replace(tiny, max_train=None, max_test=None, tuning=rules))
    labels = ("DET", "NOUN", "VERB")
    assert seen == [(number, 48, labels) for number in (4, 3, 3, 12, 12, 12)]


def test_a_label_that_was_not_learnt_is_missed_and_no_error(run, write_data):
    data = write_data("udpos")
    file = data / "udpos" / "test-de.tsv"
    file.write_text(file.read_text().replace("NOUN", "ADJ").replace("DET", "ADJ").replace("VERB", "ADJ"))
    found, _, _ = run(data=data)
    assert found["by_language"]["de"]["metrics"]["accuracy"] == 0


def test_in_its_own_language(run):
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
        # The first place of a decoder knows nothing of the sentence.
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


def test_a_threshold_that_was_fitted_to_the_test_is_told(run, write_data):
    data = write_data("bucc2018", parts={"ru": ("dev",)})
    found, _, _ = run("bucc2018", data=data, test_languages=("ru",))
    assert found["by_language"]["ru"]["split"] == "dev, its threshold from itself"
