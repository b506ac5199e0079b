"""Protocols: sets that tasks are trained and tested on, all nine tasks, and published encoders known by their files."""

import json

import pytest
import transformers.utils.hub

from ecsuite.eval.models.backbones import PublishedBackbone
from ecsuite.eval.models.training import Machine
from ecsuite.eval.xtreme import transfer
from ecsuite.eval.xtreme.data import PublishedModel
from ecsuite.eval.xtreme.jobs import plan, prepared
from ecsuite.eval.xtreme.report import Xtreme, report
from ecsuite.eval.xtreme.rows import predicted_tags, tagging_rows
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError
from xtreme_data import PARTS, write_translation


def test_pseudo_tests_are_in_languages_without_a_test_set(ask, write_data, tiny_bert, tmp_path):
    for language in ("de", "fi"):
        write_translation(tmp_path / "data", "pseudo-test", "xnli", language)
    others = {"corpus": None, "model": str(tiny_bert), "data": write_data("udpos", "xnli")}
    study = ask(protocol="pseudo-test", tasks=("xnli",), languages=("de", "fi"), **others)
    [inputs] = [job.inputs for job in plan(study).values()]
    assert inputs["training"].language == "en" and "also" not in inputs
    assert [each.language for each in inputs["tests"]] == ["en", "de", "fi"]
    result = Xtreme().measure(study, Runner())
    assert list(result.languages["xnli"]) == ["de", "en", "fi"]


def test_a_joint_training_has_the_examples_of_each_language(ask, tiny_bert, write_data, monkeypatch):
    data = write_data("udpos", parts=dict.fromkeys(("en", "de"), PARTS))
    numbers = []

    def counted(examples, *rest):
        numbers.append(len(examples))
        return tagging_rows(examples, *rest)

    monkeypatch.setitem(transfer.KINDS, "tagging", (counted, predicted_tags))
    study = ask(protocol="in-language-multi", data=data, corpus=None, model=str(tiny_bert))
    Xtreme().measure(study, Runner())
    assert numbers == [20, 12, 12]  # the preset's 10 of English and of German, then the tests


@pytest.mark.slow
def test_all_nine_tasks_with_a_published_encoder(ask, write_data, tiny_bert):
    model = str(tiny_bert)
    study = ask(corpus=None, model=model, data=write_data(), languages=(), tasks=tuple(TASKS))
    result = Xtreme().measure(study, Runner())
    assert result.bodies == (model,) and tuple(result.splits) == tuple(TASKS)
    found = {task: " ".join(sorted(codes)) for task, codes in result.languages.items()}
    of_three = dict.fromkeys(("xnli", "udpos", "panx", "xquad"), "de en ru")
    of_two = {"pawsx": "de en", "mlqa": "de en", "tydiqa": "en ru", "bucc2018": "de ru", "tatoeba": "de ru"}
    assert found == of_three | of_two
    for title, language in (("PAWS-X", "ru"), ("MLQA", "ru"), ("TyDiQA-GoldP", "de")):
        assert f"{title}: no labels in {language}." in result.notes
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["signature"] == result.signature and report(result)
    assert "|protocol:published|model:bert|" in result.signature
    assert not any(note.startswith("Training text") for note in result.notes)


def test_a_model_of_a_folder_is_known_by_its_files(tiny_bert, tmp_path):
    found = PublishedModel(name=str(tiny_bert)).identified()
    (tiny_bert / "notes.txt").write_text("changed")
    with pytest.raises(ConfigError, match="has changed during the run"):
        found.load()
    found = PublishedModel(name=str(tiny_bert)).identified()
    moved = tiny_bert.rename(tmp_path / "moved")
    assert PublishedModel(name=str(moved)).identified().job_key() == found.job_key() == found.digest
    assert PublishedModel(name=str(moved)).identified().load().width == 16
    model = PublishedBackbone(str(moved)).model
    model.embeddings.word_embeddings.weight.data.mul_(-3)
    model.save_pretrained(moved)
    assert PublishedModel(name=str(moved)).identified().digest != found.digest


def test_a_model_of_the_hub_is_known_by_its_commit(monkeypatch):
    digests = []
    for commit in ("1a", "2b"):
        config = f"models--some--bert/snapshots/{commit}/config.json"
        monkeypatch.setattr(transformers.utils.hub, "cached_file", lambda *_, found=config: found)
        digests.append(PublishedModel(name="some/bert").identified().digest)
    assert digests == ["some/bert@1a", "some/bert@2b"]


def test_a_published_model_has_one_vocabulary_for_all_languages(tiny_bert):
    model = PublishedModel(name=str(tiny_bert)).identified()
    machine = Machine(device="cpu", precision="fp32", num_threads=1)
    backbone, load_vocabulary = prepared(model, None, {}, None, machine)
    assert load_vocabulary("en") is load_vocabulary("ru") is backbone.sub_words
