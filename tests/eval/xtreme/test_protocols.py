"""Protocols: settings of backbones, embeddings and languages, and the sets that tasks are trained and tested on."""

from dataclasses import replace

import pytest
from xtreme_data import PARTS, write_translation

from ecsuite.eval.xtreme import transfer
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.presets import PRESETS, PROTOCOLS
from ecsuite.eval.xtreme.report import Xtreme
from ecsuite.eval.xtreme.result import IN_LANGUAGE
from ecsuite.eval.xtreme.rows import predicted_tags, tagging_rows
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError


def test_the_protocols_without_transfer_have_the_name_that_results_use():
    own = [name for name, one in PROTOCOLS.items() if not one.is_zero_shot and not one.translation]
    assert own == [name for name in PROTOCOLS if name.startswith(IN_LANGUAGE)] and IN_LANGUAGE in own


def test_a_backbone_trained_on_text_has_one_vocabulary_in_zero_shot_protocols():
    """A backbone that is trained separately per language cannot be shared by several languages."""
    zero_shot = [one for one in PROTOCOLS.values() if one.is_zero_shot]
    assert all(one.shares_vocabulary for one in zero_shot if one.text_trains_backbone)


TRANSLATE_TRAIN = [
    ("translate-train", "xnli"),
    ("translate-train-multi", "pawsx"),
    ("translate-train", "xquad"),
]


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


@pytest.mark.parametrize(("protocol", "task"), TRANSLATE_TRAIN)
def test_translate_train_learns_from_the_translation(trained_and_tested, tiny_bert, tmp_path, protocol, task):
    languages = ("de",) if task == "pawsx" else ("de", "ru")
    for language in languages:
        write_translation(tmp_path / "data", "translate-train", task, language)
    with_model, result, study = trained_and_tested(
        protocol, task, languages, corpus=None, model=str(tiny_bert)
    )
    every = ("en", *languages)
    joint = protocol.endswith("multi")
    assert with_model == ({every: list(every)} if joint else {(each,): [each] for each in every})
    assert set(result.languages[task]) == set(every) and result.compares_english
    assert f"|protocol:{protocol}|model:bert|" in result.signature
    assert not any("was trained on" in note for note in result.notes)
    _, learnt = study.examples["train", task, "de"].read()
    text = learnt[0].first if task != "xquad" else learnt[0].context
    assert text.startswith("dela dea") and len(learnt) == 12
    assert study.examples["train", task, "en"].read()[1] == TASKS[task].read(study.data, "en", "train")
    assert trained_and_tested(protocol, task, languages)[0] == with_model


@pytest.mark.parametrize(
    ("task", "has_label"), [("xnli", True), ("xnli", False), ("xquad", True), ("tydiqa", True)]
)
def test_translate_test_is_trained_and_tested_in_english(
    trained_and_tested, tiny_bert, tmp_path, task, has_label
):
    write_translation(tmp_path / "data", "translate-test", task, "ru", has_label=has_label)
    others = [{"corpus": None, "model": str(tiny_bert)}, {}]
    for each in others:
        read, result, study = trained_and_tested("translate-test", task, ("ru",), **each)
        assert read == {("en",): ["en", "ru"]}
        split, tested = study.examples["test", task, "ru"].read()
        original = TASKS[task].read(study.data, "ru", "test")
        assert split == "test" and len(tested) == len(original) == 12
        if task == "xnli":
            assert tested[0].first.startswith("enla") and original[0].first.startswith("rula")
            assert [each.label for each in tested] == [each.label for each in original]
        else:
            assert tested[0].context.startswith("enla")
        assert set(study.texts) == (set() if each else {"en"})  # no vocabulary of Russian is needed
        assert result.compares_english


def test_pseudo_tests_are_in_languages_without_a_test_set(trained_and_tested, tiny_bert, tmp_path):
    for language in ("de", "fi"):
        write_translation(tmp_path / "data", "pseudo-test", "xnli", language)
    others = {"corpus": None, "model": str(tiny_bert)}
    read, result, _ = trained_and_tested("pseudo-test", "xnli", ("de", "fi"), **others)
    assert read == {("en",): ["en", "de", "fi"]}
    assert list(result.languages["xnli"]) == ["de", "en", "fi"]


def test_in_language_protocols_have_few_or_all_examples(ask, tiny_bert, write_data, monkeypatch):
    data = write_data("udpos", parts=dict.fromkeys(("en", "de", "ru"), PARTS))
    monkeypatch.setitem(PRESETS, "nano", replace(PRESETS["nano"], max_train=None, is_reduced=False))
    learnt = {}
    for protocol in ("in-language-1000", "in-language", "in-language-multi"):
        study = ask(protocol=protocol, data=data, corpus=None, model=str(tiny_bert), languages=("de", "ru"))
        result = Xtreme().measure(study, Runner())
        assert set(result.languages["udpos"]) == {"en", "de", "ru"} and not result.compares_english
        jobs = [job.inputs for job in plan(study).values()]
        learnt[protocol] = [(len(each.get("also", ())), each["setting"].max_train) for each in jobs]
    assert learnt == {
        "in-language-1000": [(0, 1000)] * 3,
        "in-language": [(0, None)] * 3,
        "in-language-multi": [(2, None)],
    }


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


def test_malformed_rows_of_a_translation_are_left_out_unless_they_are_most(write_data, tmp_path):
    data = write_data("xnli")
    file = write_translation(data, "translate-train", "xnli", "de")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], "one\ttwo", *lines[1:]]) + "\n")
    assert len(TASKS["xnli"].read(data, "de", "translated_train")) == 12
    questions = write_translation(data, "translate-train", "xquad", "de")
    questions.write_text(questions.read_text().replace('"text": "dea', '"text": "xx', 1))
    assert len(TASKS["xquad"].read(data, "de", "translated_train")) == 11
    file.write_text("".join("one\ttwo\n" for _ in range(5)))
    with pytest.raises(
        ConfigError, match=r"en-de-translated.tsv:1: expected a pair, its translation and a label"
    ):
        TASKS["xnli"].read(data, "de", "translated_train")
