"""A transfer study on tasks of a few sentences: results and notes."""

import json
from dataclasses import replace

import pytest
from xtreme_data import constant_results

from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.presets import PRESETS
from ecsuite.eval.xtreme.report import Xtreme, report
from ecsuite.eval.xtreme.result import collect
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Result
from ecsuite.runtime.errors import DivergedError

CONTROLS = ("corpus", "random init", "parentheses", "shuffled corpus")


def as_json(result):
    return json.dumps(result.to_json(), allow_nan=False)


def assert_all_nine(result, bodies):
    """The result has all tasks in all their languages for all backbones."""
    assert result.bodies == bodies and tuple(result.splits) == tuple(TASKS)
    languages_by_task = {task: set(codes) for task, codes in result.languages.items()}
    assert languages_by_task == {
        "xnli": {"en", "de", "ru"},
        "pawsx": {"en", "de"},
        "udpos": {"en", "de", "ru"},
        "panx": {"en", "de", "ru"},
        "xquad": {"en", "de", "ru"},
        "mlqa": {"en", "de"},
        "tydiqa": {"en", "ru"},
        "bucc2018": {"de", "ru"},
        "tatoeba": {"de", "ru"},
    }
    for title, language in (("PAWS-X", "ru"), ("MLQA", "ru"), ("TyDiQA-GoldP", "de")):
        assert f"{title}: no labels in {language}." in result.notes
    assert json.loads(as_json(result))["signature"] == result.signature
    report(result)


def test_all_nine_tasks_with_a_corpus(ask, write_data):
    result = Xtreme().measure(ask(data=write_data(), languages=(), tasks=tuple(TASKS)), Runner())
    assert_all_nine(result, CONTROLS)
    assert result.corpus == "corpus" and result.compares_english
    assert "protocol:adapt|body:decoder|tasks:xnli+pawsx+udpos" in result.signature


@pytest.mark.slow
def test_all_nine_tasks_with_a_published_encoder(ask, write_data, tiny_bert):
    model = str(tiny_bert)
    study = ask(corpus=None, model=model, data=write_data(), languages=(), tasks=tuple(TASKS))
    result = Xtreme().measure(study, Runner())
    assert_all_nine(result, (model,))
    assert "|protocol:published|model:bert|" in result.signature
    assert not any(note.startswith("Training text") for note in result.notes)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("protocol", "body"),
    [("adapt", "encoder"), ("monotrans", "encoder"), ("direct", "decoder"), ("in-language", "decoder")],
)
def test_other_protocols(ask, protocol, body):
    result = Xtreme().measure(ask(protocol=protocol, body=body, tasks=("udpos", "panx")), Runner())
    assert result.bodies == CONTROLS and result.protocol == protocol
    with_english = set() if protocol == "in-language" else {"en"}
    assert {task: set(codes) for task, codes in result.languages.items()} == dict.fromkeys(
        ("udpos", "panx"), {"de"} | with_english
    )
    learnt = "POS was trained on: de dev."
    assert (learnt in result.notes) == (protocol == "in-language")


def collected(study):
    return collect(study, constant_results(study))


def test_a_human_text_and_seeds(ask, tmp_path):
    human = tmp_path / "da.txt"
    human.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    result = collected(ask(human=human, seeds=(3, 5)))
    assert result.bodies == (*CONTROLS, "human text") and result.seeds == (3, 5)
    assert "|seeds:3+5|" in result.signature
    report(result)


def test_chance_and_baselines_are_of_the_same_examples(ask):
    result = collected(ask())
    # One of three tags is correct, but never all three spans of a sentence.
    assert result.chance["udpos"]["de"]["accuracy"] == pytest.approx(100 / 3)
    # The lexicon contains English function words only.
    assert result.baselines["udpos"]["en"]["accuracy"] > result.baselines["udpos"]["de"]["accuracy"]
    assert set(result.chance["udpos"]) == set(result.baselines["udpos"]) == {"en", "de"}


@pytest.mark.parametrize("protocol", ["adapt", "in-language"])
def test_english_as_the_only_language(ask, protocol):
    result = collected(ask(languages=("en",), protocol=protocol))
    assert result.languages == {"udpos": ("en",)}
    report(result)


def test_english_is_not_needed_where_tasks_are_learnt_in_their_language(ask, write_data):
    data = write_data("udpos", "xquad", parts={"de": ("train", "dev", "test")}, folder="german")
    result = collected(ask(data=data, tasks=("udpos",), languages=("de",), protocol="in-language"))
    assert result.chance.keys() == {"udpos"} and not result.baselines
    assert "POS: no baseline, as there are no labels in English." in result.notes
    report(result)


def test_skipped_tasks_are_noted(ask, write_data):
    data = write_data("udpos", "tatoeba", folder="two")
    result = collected(ask(data=data, tasks=("xnli", "udpos", "tatoeba"), skips_missing_tasks=True))
    assert list(result.languages) == ["udpos", "tatoeba"]
    assert "Left out, as there are no labels: XNLI." in result.notes


def test_a_control_that_diverges_is_left_out_and_the_others_are_shown(ask):
    study = ask(seeds=(0, 1))
    whole, results = collected(study), constant_results(study)
    failed = [job for name, job in plan(study).items() if name[:2] == ("parentheses", 1)]
    found = collect(study, results | {job: Result(value=None, failure="the loss is nan") for job in failed})
    assert found.bodies == ("corpus", "random init", "shuffled corpus") and found.seeds == (0, 1)
    assert found.notes == (
        *whole.notes,
        "parentheses is left out, as it failed in seed 1: the loss is nan.",
    )
    assert found.by_body == {body: whole.by_body[body] for body in found.bodies}
    report(found)


def test_a_study_that_diverges_is_one_error(ask, preset, monkeypatch, tmp_path):
    monkeypatch.setitem(PRESETS, "nano", replace(preset, text=replace(preset.text, lr=1e38)))
    notes = []
    for _ in range(2):  # the second time as kept
        with pytest.raises(DivergedError, match=r"^corpus, seed 0: (the loss is|the weights are not)"):
            Xtreme().measure(ask(), Runner(folder=tmp_path / "kept", note=notes.append))
    assert any(note.startswith("text of en+de, corpus, seed 0: ") for note in notes)
