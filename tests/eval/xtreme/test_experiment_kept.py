"""What a run keeps: what is computed again, and only that, when something has changed."""

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
    """Runs a request; the result as JSON, and how often each stage was computed."""
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
    """What `ask()` gives, and all that it keeps; computed once for all tests."""
    result = shelf / "result.json"
    if not result.is_file():
        told, done = count(ask(folder=shelf / "kept"))
        assert done == (4, 4, 4)
        result.write_text(told)
    shutil.copytree(shelf / "kept", tmp_path / "kept")
    return result.read_text()


def test_the_same_request_twice_computes_nothing(first, ask, count):
    assert count(ask()) == (first, (0, 0, 0))
    # Nor does it depend on anything that is kept.
    assert count(ask(folder=None)) == (first, (4, 4, 4))


def test_a_further_task_computes_itself_alone(first, ask, count):
    both, done = count(ask(tasks=("udpos", "panx")))
    assert done == (0, 0, 4)
    cells = json.loads(both)["cells"]
    assert [cell for cell in cells if cell["task"] == "udpos"] == json.loads(first)["cells"]


def test_weights_that_are_gone_or_damaged_are_made_again(first, ask, count, tmp_path):
    files = {file: file.read_bytes() for file in (tmp_path / "kept" / "weights").iterdir()}
    assert len(files) == 8
    gone, damaged = sorted(files)[0], sorted(files)[-1]
    gone.unlink()
    damaged.write_bytes(b"damaged")
    result, (raised, learnt, tried) = count(ask())
    assert (raised + learnt, tried) == (2, 0) and result == first
    assert {file: file.read_bytes() for file in files} == files


@pytest.mark.parametrize(
    ("stage", "calls", "left"),
    [("pretrain_backbone", 2, (2, 8, 4)), ("train_on_text", 3, (0, 5, 4)), ("finetune_task", 3, (0, 0, 1))],
)
def test_an_interrupted_run_goes_on_to_the_same(ask, count, monkeypatch, stage, calls, left, tmp_path):
    """With two vocabularies a body, so that 8 texts are learnt."""
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


def test_what_is_tested_changes_the_task_alone(first, ask, count, tmp_path):
    change(tmp_path / "data/udpos/test-de.tsv", "\tDET", "\tADJ")
    second, done = count(ask())
    assert done == (0, 0, 4)
    assert json.loads(first)["signature"] != json.loads(second)["signature"]


def test_what_is_learnt_changes_texts_as_well(first, ask, count, tmp_path):
    change(tmp_path / "data/udpos/train-en.tsv", "enla", "enlo")
    second, done = count(ask())
    assert done == (0, 4, 4)
    assert json.loads(first)["signature"] != json.loads(second)["signature"]


@pytest.mark.parametrize("protocol", ["adapt", "direct"])
def test_texts_of_a_folder_change_what_is_learnt(ask, count, tmp_path, protocol):
    """Where no text is learnt, the vocabulary is."""
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "en.txt").write_text("enla enak enru\n")
    signatures = set()
    for word, raised in (("debk", 4), ("deck", 0)):
        (texts / "de.txt").write_text(f"dela {word} deru\ndelo {word} deru\n")
        result, done = count(ask(protocol=protocol, texts=texts))
        assert done == (raised, 4, 4)
        signatures.add(json.loads(result)["signature"])
    assert len(signatures) == 2


def test_of_single_vocabularies_only_that_of_the_changed_text_is_learnt(ask, count, tmp_path):
    count(ask(protocol="monotrans"))
    change(tmp_path / "data/udpos/dev-de.tsv", "dela", "delo")
    # One language of two for each of four bodies.
    assert count(ask(protocol="monotrans"))[1] == (0, 4, 4)


def test_what_bucc_finds_its_threshold_with_counts(ask, count, tmp_path):
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
        # Two vocabularies a body instead of one, and of these the one alone.
        ({"protocol": "monotrans"}, (0, 8, 4)),
        ({"protocol": "in-language"}, (0, 4, 4)),
        ({"languages": ("ru",)}, (0, 4, 4)),
        # The random body and the parentheses know nothing of the corpus.
        ({"corpus": Corpus(messages=Ragged.from_rows([[1, 2, 3]] * 9))}, (2, 2, 2)),
    ],
)
def test_another_request_computes_what_it_must(first, ask, count, others, computed):
    second, done = count(ask(**others))
    assert done == computed
    assert (json.loads(first)["signature"] == json.loads(second)["signature"]) == ("corpus" in others)
    assert json.loads(first)["cells"] != json.loads(second)["cells"]


def test_bodies_serve_all_protocols(ask, count):
    count(ask(protocol="monotrans"))
    raised, _, _ = count(ask(protocol="in-language"))[1]
    assert raised == 0


def test_a_folder_may_hold_another_model_later(ask, count, tiny_bert):
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
    told = dict(field.split(":") for field in fields)
    content = told.pop("data")
    assert len(content) == 8 and int(content, 16) >= 0
    assert told == {
        "preset": "nano",
        "protocol": "adapt",
        "body": "decoder",
        "tasks": "udpos",
        "languages": "en+de",
        "scope": "head",
        "seeds": "0",
        "precision": "fp32",
    }
