"""The cache of a run: only what depends on a change is computed again."""

import json
import shutil
from functools import partial

import pytest

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.learning.encoders import PublishedBackbone
from ecsuite.eval.xtreme import jobs, stages
from ecsuite.eval.xtreme.experiment import xtreme_transfer

STAGES = ("pretrain_backbone", "train_on_text", "finetune_task")


def as_json(result):
    return json.dumps(result.to_json(), allow_nan=False)


@pytest.fixture
def count(monkeypatch):
    """Runs a request; returns the result as JSON and the number of runs of each stage."""
    done = dict.fromkeys(STAGES, 0)

    def counted(name, function, /, **inputs):
        result = function(**inputs)
        done[name] += 1
        return result

    for name in STAGES:
        monkeypatch.setattr(jobs, name, partial(counted, name, getattr(jobs, name)))

    def count(request):
        done.update(dict.fromkeys(STAGES, 0))
        return as_json(xtreme_transfer(request)), tuple(done.values())

    return count


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def first(ask, count, shelf, tmp_path):
    """The result and the cache of `ask()`, computed once for all tests."""
    result = shelf / "result.json"
    if not result.is_file():
        result_json, done = count(ask(folder=shelf / "kept"))
        assert done == (4, 4, 4)
        result.write_text(result_json)
    shutil.copytree(shelf / "kept", tmp_path / "kept")
    return result.read_text()


def test_the_same_request_twice_computes_nothing(first, ask, count):
    assert count(ask()) == (first, (0, 0, 0))
    # The result does not depend on the cache.
    assert count(ask(folder=None)) == (first, (4, 4, 4))


def test_an_additional_task_runs_only_its_own_fine_tuning(first, ask, count):
    both, done = count(ask(tasks=("udpos", "panx")))
    assert done == (0, 0, 4)
    cells = json.loads(both)["cells"]
    assert [cell for cell in cells if cell["task"] == "udpos"] == json.loads(first)["cells"]


def test_missing_or_damaged_weights_are_computed_again(first, ask, count, tmp_path):
    files = {file: file.read_bytes() for file in (tmp_path / "kept" / "weights").iterdir()}
    assert len(files) == 8
    gone, damaged = sorted(files)[0], sorted(files)[-1]
    gone.unlink()
    damaged.write_bytes(b"damaged")
    result, (num_pretraining, num_text_training, num_finetuning) = count(ask())
    assert (num_pretraining + num_text_training, num_finetuning) == (2, 0) and result == first
    assert {file: file.read_bytes() for file in files} == files


@pytest.mark.parametrize(
    ("stage", "calls", "left"),
    [("pretrain_backbone", 2, (2, 8, 4)), ("train_on_text", 3, (0, 5, 4)), ("finetune_task", 3, (0, 0, 1))],
)
def test_an_interrupted_run_resumes_with_the_same_result(
    ask, count, monkeypatch, stage, calls, left, tmp_path
):
    """Two vocabularies per backbone, so there are 8 runs of training on text."""
    request = partial(ask, protocol="monotrans")
    whole, _ = count(request(folder=tmp_path / "whole"))
    function, num_calls = getattr(jobs, stage), iter(range(99))

    def interrupted(**inputs):
        if next(num_calls) == calls:
            raise KeyboardInterrupt
        return function(**inputs)

    with monkeypatch.context() as patch:
        patch.setattr(jobs, stage, interrupted)
        with pytest.raises(KeyboardInterrupt):
            xtreme_transfer(request())
    assert count(request()) == (whole, left)
    kept = [sorted(tmp_path.glob(f"{folder}/weights/*")) for folder in ("whole", "kept")]
    assert [file.name for file in kept[0]] == [file.name for file in kept[1]]
    assert [file.read_bytes() for file in kept[0]] == [file.read_bytes() for file in kept[1]]


def change(file, old, new):
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_changed_test_set_runs_fine_tuning_only(first, ask, count, tmp_path):
    change(tmp_path / "data/udpos/test-de.tsv", "\tDET", "\tADJ")
    second, done = count(ask())
    assert done == (0, 0, 4)
    assert json.loads(first)["signature"] != json.loads(second)["signature"]


def test_a_changed_training_set_also_runs_training_on_text(first, ask, count, tmp_path):
    change(tmp_path / "data/udpos/train-en.tsv", "enla", "enlo")
    second, done = count(ask())
    assert done == (0, 4, 4)
    assert json.loads(first)["signature"] != json.loads(second)["signature"]


@pytest.mark.parametrize("protocol", ["adapt", "direct"])
def test_changed_texts_of_a_folder(ask, count, tmp_path, protocol):
    """Without training on text the vocabulary still depends on the texts."""
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "en.txt").write_text("enla enak enru\n")
    signatures = set()
    for word, num_pretraining in (("debk", 4), ("deck", 0)):
        (texts / "de.txt").write_text(f"dela {word} deru\ndelo {word} deru\n")
        result, done = count(ask(protocol=protocol, texts=texts))
        assert done == (num_pretraining, 4, 4)
        signatures.add(json.loads(result)["signature"])
    assert len(signatures) == 2


def test_with_a_vocabulary_per_language_only_the_changed_language_is_trained(ask, count, tmp_path):
    count(ask(protocol="monotrans"))
    change(tmp_path / "data/udpos/dev-de.tsv", "dela", "delo")
    # One of two languages for each of four backbones.
    assert count(ask(protocol="monotrans"))[1] == (0, 4, 4)


def test_the_dev_set_of_bucc_is_part_of_the_key(ask, count, tmp_path):
    request = partial(ask, tasks=("bucc2018",))
    first, _ = count(request())
    change(tmp_path / "data/bucc2018/de-en.dev.gold", "s0\tt0\n", "")
    second, done = count(request())
    assert done == (0, 0, 4)
    assert json.loads(first)["signature"] != json.loads(second)["signature"]


@pytest.mark.parametrize(
    ("others", "computed"),
    [
        ({"seeds": (1,)}, (4, 4, 4)),
        ({"body": "encoder"}, (4, 4, 4)),
        ({"protocol": "direct"}, (0, 4, 4)),
        # Two vocabularies per backbone instead of one.
        ({"protocol": "monotrans"}, (0, 8, 4)),
        ({"protocol": "in-language"}, (0, 4, 4)),
        ({"languages": ("ru",)}, (0, 4, 4)),
        # Random init and parentheses do not depend on the corpus.
        ({"corpus": Corpus(messages=Ragged.from_rows([[1, 2, 3]] * 9))}, (2, 2, 2)),
    ],
)
def test_a_changed_request_runs_the_affected_stages(first, ask, count, others, computed):
    second, done = count(ask(**others))
    assert done == computed
    assert (json.loads(first)["signature"] == json.loads(second)["signature"]) == ("corpus" in others)
    assert json.loads(first)["cells"] != json.loads(second)["cells"]


def test_pretraining_is_shared_by_all_protocols(ask, count):
    count(ask(protocol="monotrans"))
    num_pretraining, _, _ = count(ask(protocol="in-language"))[1]
    assert num_pretraining == 0


def test_a_changed_model_in_the_same_folder(ask, count, tiny_bert):
    request = ask(corpus=None, model=str(tiny_bert))
    first, done = count(request)
    assert done == (0, 0, 1) and count(request) == (first, (0, 0, 0))
    model = PublishedBackbone(str(tiny_bert)).model
    model.embeddings.word_embeddings.weight.data.mul_(-3)
    model.save_pretrained(tiny_bert)
    assert count(request)[1] == (0, 0, 1)


def test_the_signature_holds_what_can_change_a_score(first):
    signature = json.loads(first)["signature"]
    name, *fields, version = signature.split("|")
    assert (name, version) == ("xtreme-transfer", f"v:{stages.VERSION}")
    values = dict(field.split(":") for field in fields)
    content = values.pop("data")
    assert len(content) == 8 and int(content, 16) >= 0
    assert values == {
        "preset": "nano",
        "protocol": "adapt",
        "body": "decoder",
        "tasks": "udpos",
        "languages": "en+de",
        "scope": "head",
        "seeds": "0",
        "precision": "fp32",
    }
