"""A task with a head: trained parameters, prepared vocabularies, and metrics."""

from dataclasses import replace

import pytest
import torch
from xtreme_data import find_examples

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.transfer import TransferSetting, run_task
from ecsuite.jobs.job import Context, Stopped

SUB_WORDS = train_subwords(["enla deal rula " * 9], 280)


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
