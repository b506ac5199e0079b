"""A task with a head: trained parameters, prepared vocabularies, and metrics."""

from dataclasses import replace

import pytest
import torch
from xtreme_data import find_examples

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme import transfer as module
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.transfer import KINDS, TransferSetting, run_task
from ecsuite.jobs.job import Context, Stopped

SUB_WORDS = train_subwords(["enla deal rula " * 9], 280)
WITH_A_HEAD = [name for name, task in TASKS.items() if task.kind in KINDS]


@pytest.fixture
def run(tiny, tiny_preset, write_data, tmp_path):
    """Runs a task with a randomly initialised backbone; returns result, backbone and prepared languages."""

    def run(
        name="udpos",
        *,
        kind="decoder",
        sizes=tiny,
        data=None,
        train_language="en",
        test_languages=("en", "de"),
        is_zero_shot=True,
        should_stop=lambda: False,
        **others,
    ):
        backbone = BACKBONES[kind](sizes, torch.Generator().manual_seed(0))
        backbone.set_embedding(
            initial_embedding(SUB_WORDS.size, sizes.width, torch.Generator().manual_seed(1))
        )
        prepared_languages, progress = [], []
        data = data or write_data(name)

        def load_vocabulary(language):
            prepared_languages.append(language)
            return SUB_WORDS

        usual = {
            "tuning": tiny_preset.tuning[TASKS[name].kind],
            "scope": "head",
            "max_train": tiny_preset.max_train,
            "max_test": tiny_preset.max_test,
            "swaps_embedding": False,
        }
        found = run_task(
            backbone,
            load_vocabulary,
            TransferSetting(task=name, **usual | others),
            find_examples(data, name, train_language, "train", is_zero_shot=is_zero_shot),
            [
                find_examples(data, name, language, "test", is_zero_shot=is_zero_shot)
                for language in test_languages
            ],
            torch.Generator().manual_seed(2),
            Context(
                scratch=tmp_path / "scratch",
                report_progress=lambda label, share: progress.append(share),
                should_stop=should_stop,
            ),
        )
        assert progress[-1] == 1 and progress == sorted(progress)
        return found, backbone, prepared_languages

    return run


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "kind"), [(name, list(BACKBONES)[number % 2]) for number, name in enumerate(WITH_A_HEAD)]
)
def test_every_task_gives_its_metrics(run, name, kind):
    other = "ru" if name == "tydiqa" else "de"
    found, _, _ = run(name, kind=kind, test_languages=("en", other))
    assert list(found["by_language"]) == ["en", other]
    for progress in found["by_language"].values():
        assert progress["split"] == "test"
        assert set(TASKS[name].metrics) <= set(progress["metrics"])
        assert all(0 <= score <= 100 for score in progress["metrics"].values())
    assert found["learnt_from"] == ("dev" if name == "mlqa" else "train")


@pytest.mark.slow
def test_a_simple_task_is_learnt(run, tiny_preset):
    """The test has an unseen word between seen words."""
    tuning = replace(tiny_preset.tuning["tagging"], lr=0.03, epochs=100)
    found, _, _ = run(tuning=tuning, scope="all", max_train=None, max_test=None, test_languages=("en",))
    assert found == {
        "learnt_from": "train",
        "by_language": {
            "en": {
                "split": "test",
                "metrics": dict.fromkeys(("f1", "precision", "recall", "accuracy"), 100.0),
            }
        },
    }


@pytest.mark.parametrize("scope", ["head", "all"])
def test_a_task_that_was_stopped_goes_on(run, tiny, tiny_preset, tmp_path, scope):
    given = {
        "scope": scope,
        "sizes": replace(tiny, dropout=0.2),
        "tuning": replace(tiny_preset.tuning["tagging"], lr=0.05, epochs=3, batch=4),
        "max_test": None,
    }

    def weights(**others):
        torch.manual_seed(0)
        found, backbone, _ = run(**given, **others)
        return found, torch.cat([each.detach().flatten() for each in backbone.parameters()])

    whole = weights()
    calls = iter(range(99))
    with pytest.raises(Stopped):
        weights(should_stop=lambda: next(calls) == 4)
    assert list((tmp_path / "scratch").iterdir())
    resumed = weights()
    assert resumed[0] == whole[0] and torch.equal(resumed[1], whole[1])


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
    before = BACKBONES[kind](tiny, torch.Generator().manual_seed(0)).without_embedding()
    _, backbone, _ = run(kind=kind, scope=scope, swaps_embedding=swaps_embedding)
    weight = initial_embedding(SUB_WORDS.size, tiny.width, torch.Generator().manual_seed(1))
    assert torch.equal(backbone.embedding.weight, weight) != embedding_changes
    changed = [not torch.equal(weight, before[name]) for name, weight in backbone.without_embedding().items()]
    assert any(changed) == backbone_changes


def test_numbers_of_training_and_test_examples(run, tiny_preset, monkeypatch):
    seen = []
    prepare, predict = module.KINDS["tagging"]

    def recorded(examples, sub_words, context, is_bidirectional, labels):
        seen.append((len(examples), context, labels))
        return prepare(examples, sub_words, context, is_bidirectional, labels)

    monkeypatch.setitem(module.KINDS, "tagging", (recorded, predict))
    run(max_train=4, max_test=3)
    # The row length is limited by the positions of the backbone.
    run(tuning=replace(tiny_preset.tuning["tagging"], context=999), max_train=None, max_test=None)
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
