"""A transfer run on tasks of a few sentences: results, notes and errors."""

import json
import math

import pytest

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.xtreme import jobs
from ecsuite.eval.xtreme.experiment import xtreme_transfer
from ecsuite.eval.xtreme.report import report
from ecsuite.eval.xtreme.scoring.tasks import TASKS

CONTROLS = ("corpus", "random init", "parentheses", "shuffled corpus")
STAGES = ("pretrain_backbone", "train_on_text", "finetune_task")


def as_json(result):
    return json.dumps(result.to_json(), allow_nan=False)


def refusal(request):
    with pytest.raises(ConfigError) as raised:
        xtreme_transfer(request)
    return str(raised.value)


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
    result = xtreme_transfer(ask(data=write_data(), languages=(), tasks=tuple(TASKS)))
    assert_all_nine(result, CONTROLS)
    assert result.corpus == "corpus" and result.is_zero_shot
    assert "protocol:adapt|body:decoder|tasks:xnli+pawsx+udpos" in result.signature


@pytest.mark.parametrize(
    ("field", "value"), [("human", "fr.txt"), ("texts", "texts"), ("protocol", "direct"), ("body", "encoder")]
)
def test_what_a_published_encoder_does_not_read_is_refused(ask, write_data, field, value):
    """The human text changed its signature, and nothing else."""
    request = ask(corpus=None, model="bert", data=write_data("udpos"), tasks=("udpos",), **{field: value})
    assert refusal(request) == f"{field}: not read by a model; read by corpus"


def test_all_nine_tasks_with_a_published_encoder(ask, write_data, tiny_bert):
    model = str(tiny_bert)
    request = ask(corpus=None, model=model, data=write_data(), languages=(), tasks=tuple(TASKS))
    result = xtreme_transfer(request)
    assert_all_nine(result, (model,))
    assert "|protocol:published|model:bert|" in result.signature
    assert not any(note.startswith("Training text") for note in result.notes)


@pytest.mark.parametrize(
    ("protocol", "body"),
    [("adapt", "encoder"), ("monotrans", "encoder"), ("direct", "decoder"), ("in-language", "decoder")],
)
def test_other_protocols(ask, protocol, body):
    result = xtreme_transfer(ask(protocol=protocol, body=body, tasks=("udpos", "panx")))
    assert result.bodies == CONTROLS and result.protocol == protocol
    with_english = set() if protocol == "in-language" else {"en"}
    assert {task: set(codes) for task, codes in result.languages.items()} == dict.fromkeys(
        ("udpos", "panx"), {"de"} | with_english
    )
    learnt = "POS was trained on: de dev."
    assert (learnt in result.notes) == (protocol == "in-language")


def test_a_human_text_and_seeds(ask, tmp_path):
    human = tmp_path / "da.txt"
    human.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    result = xtreme_transfer(ask(human=human, seeds=(3, 5)))
    assert result.bodies == (*CONTROLS, "human text") and result.seeds == (3, 5)
    assert "|seeds:3+5|" in result.signature
    report(result)


def test_chance_and_baselines_are_of_the_same_examples(ask):
    result = xtreme_transfer(ask())
    # One of three tags is correct, but never all three spans of a sentence.
    assert result.chance["udpos"]["de"]["accuracy"] == pytest.approx(100 / 3)
    # The lexicon contains English function words only.
    assert result.baselines["udpos"]["en"]["accuracy"] > result.baselines["udpos"]["de"]["accuracy"]
    assert set(result.chance["udpos"]) == set(result.baselines["udpos"]) == {"en", "de"}


def test_english_as_the_only_language(ask):
    result = xtreme_transfer(ask(languages=("en",)))
    assert result.languages == {"udpos": ("en",)}
    report(result)
    own = xtreme_transfer(ask(languages=("en",), protocol="in-language"))
    assert own.languages == {"udpos": ("en",)}
    report(own)


def test_progress_is_reported(ask):
    progress = []
    xtreme_transfer(ask(progress=lambda label, done, total: progress.append((label, done / total))))
    assert {"parentheses", "text of en+de", "udpos in de"} <= {label for label, _ in progress}
    assert all(0 <= share <= 1 and math.isfinite(share) for _, share in progress)


def test_missing_data_are_refused(ask, tmp_path):
    nowhere = tmp_path / "nowhere"
    assert refusal(ask(data=nowhere)) == (
        f"{nowhere}: expected a folder of tasks; run `ecsuite data xtreme` or give --data FOLDER"
    )
    assert refusal(ask(tasks=("xnli",))) == (
        f"{tmp_path / 'data'}: expected labels of xnli in one of de, found none; choose others by --languages "
        "or exclude the task by --tasks"
    )
    assert refusal(ask(languages=("kk", "ta"))) == (
        f"{tmp_path / 'data'}: expected labels of udpos in one of kk, ta, found none; choose others by --languages "
        "or exclude the task by --tasks"
    )


def test_missing_training_data_are_refused_before_any_stage(ask, tmp_path, write_data, monkeypatch):
    for stage in STAGES:
        monkeypatch.setattr(jobs, stage, None)
    data = write_data("udpos", parts={"en": ("test",), "de": ("dev", "test")}, folder="poor")
    assert refusal(ask(data=data)) == f"{data}: expected training examples of udpos in 'en', found none"
    (tmp_path / "de.txt").write_text("dela\n")
    assert refusal(ask(texts=tmp_path)) == f"{tmp_path}: no text of 'en', such as en.txt.gz"


def test_bucc_without_a_threshold_is_refused(ask, tmp_path):
    (tmp_path / "data/bucc2018/de-en.dev.gold").unlink()
    assert refusal(ask(tasks=("bucc2018",))) == (
        f"{tmp_path / 'data'}: expected translations of the dev set of bucc2018 in 'de' "
        "(de-en.dev.gold) to tune the threshold, found none"
    )


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"tasks": ("udpso",)}, "unknown task 'udpso'; did you mean 'udpos'?"),
        ({"languages": ("xx",)}, "unknown language 'xx'"),
        ({"preset": "nanno"}, "unknown preset 'nanno'; did you mean 'nano'?"),
        ({"protocol": "adopt"}, "unknown protocol 'adopt'; did you mean 'adapt'?"),
        ({"body": "encorder"}, "unknown backbone 'encorder'; did you mean 'encoder'?"),
    ],
)
def test_unknown_names_are_refused(ask, others, message):
    assert refusal(ask(**others)).startswith(message)


def test_a_corpus_without_symbols_is_refused(ask):
    for rows in ([], [[], []]):
        empty = Corpus(messages=Ragged.from_rows(rows))
        assert refusal(ask(corpus=empty)) == "the corpus has no symbols to learn from"


@pytest.mark.parametrize("task", ["tatoeba", "bucc2018"])
def test_retrieval_in_one_language_is_refused(ask, task):
    assert refusal(ask(tasks=(task,), protocol="in-language")) == (
        f"{task} compares two languages, but protocol in-language uses one language at a time"
    )


@pytest.mark.slow
def test_the_result_does_not_depend_on_processes(ask):
    alone = as_json(xtreme_transfer(ask(folder=None)))
    assert as_json(xtreme_transfer(ask(folder=None, num_workers=2))) == alone


def test_tasks_without_data_are_skipped(ask, write_data):
    data = write_data("udpos", "tatoeba", folder="two")
    tasks = ("xnli", "udpos", "tatoeba")
    result = xtreme_transfer(ask(data=data, tasks=tasks, skips_missing_tasks=True))
    assert list(result.languages) == ["udpos", "tatoeba"]
    assert "Left out, as there are no labels: XNLI." in result.notes
    alone = ask(data=data, tasks=tasks, skips_missing_tasks=True, protocol="in-language")
    assert list(xtreme_transfer(alone).languages) == ["udpos"]
    nothing = ask(data=data, tasks=("xnli",), skips_missing_tasks=True)
    assert refusal(nothing) == f"{data}: expected labels of at least one task, found none"
