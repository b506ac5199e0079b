"""Protocols: settings of backbones, embeddings and languages, and the sets that tasks are trained and tested on."""

import pytest
from xtreme_data import PARTS, write_translation

from ecsuite.eval.xtreme import transfer
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.report import Xtreme
from ecsuite.eval.xtreme.rows import predicted_tags, tagging_rows
from ecsuite.jobs.graph import Runner


@pytest.fixture
def trained_and_tested(ask, write_data, monkeypatch):
    """Runs a protocol for a model or a corpus; the languages of tests by those of training, and the result."""

    def trained_and_tested(protocol, task, languages, **others):
        study = ask(
            protocol=protocol, tasks=(task,), languages=languages, data=write_data("udpos", task), **others
        )
        jobs = plan(study)
        read = {
            (inputs["training"].language, *(each.language for each in inputs.get("also", ()))): [
                each.language for each in inputs["tests"]
            ]
            for job in jobs.values()
            for inputs in [job.inputs]
        }
        return read, Xtreme().measure(study, Runner()), study

    return trained_and_tested


def test_pseudo_tests_are_in_languages_without_a_test_set(trained_and_tested, tiny_bert, tmp_path):
    for language in ("de", "fi"):
        write_translation(tmp_path / "data", "pseudo-test", "xnli", language)
    others = {"corpus": None, "model": str(tiny_bert)}
    read, result, _ = trained_and_tested("pseudo-test", "xnli", ("de", "fi"), **others)
    assert read == {("en",): ["en", "de", "fi"]}
    assert list(result.languages["xnli"]) == ["de", "en", "fi"]


def test_a_joint_training_has_the_examples_of_each_language(ask, tiny_bert, write_data, monkeypatch):
    data = write_data("udpos", parts=dict.fromkeys(("en", "de"), PARTS))
    numbers = []
    monkeypatch.setitem(
        transfer.KINDS,
        "tagging",
        (
            lambda examples, *rest: numbers.append(len(examples)) or tagging_rows(examples, *rest),
            predicted_tags,
        ),
    )
    study = ask(protocol="in-language-multi", data=data, corpus=None, model=str(tiny_bert))
    Xtreme().measure(study, Runner())
    assert numbers == [20, 12, 12]  # the preset's 10 of English and of German, then the tests
