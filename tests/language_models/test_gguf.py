import json

import pytest

from ecsuite.files.data_folder import data_folder
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import cost
from ecsuite.language_models.backend import MODEL, Allowed, Request
from ecsuite.language_models.gguf import GgufModel
from ecsuite.runtime.errors import ConfigError
from llama_server import FILE
from played_rounds import rounds_of
from stopped_runs import trained

HAS_MODEL = pytest.mark.skipif(not FILE.is_file(), reason=f"no {FILE.name}: ecsuite data smollm2, or ECSUITE_MODELS")


def with_marks(function):
    return pytest.mark.slow(pytest.mark.timeout(900)(HAS_MODEL(function)))


def test_a_missing_or_damaged_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^file: [^\n]*no such file; download it with ecsuite data"):
        GgufModel(GgufModel.Options())
    with pytest.raises(ConfigError, match=r"^file: mine.gguf: No such file or directory$"):
        GgufModel(GgufModel.Options(file="mine.gguf"))
    (tmp_path / "mine.gguf").write_bytes(b"GGML")
    with pytest.raises(ConfigError, match="expected a GGUF file, which begins with GGUF"):
        GgufModel(GgufModel.Options(file=str(tmp_path / "mine.gguf")))
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / MODEL).write_bytes(b"GGUF and half of it")
    with pytest.raises(ConfigError, match="is damaged; download it again with ecsuite data smollm2"):
        GgufModel(GgufModel.Options())


@pytest.fixture(scope="module")
def backend():
    return GgufModel(GgufModel.Options(file=str(FILE), temperature=0.5))


@with_marks
def test_a_file_that_is_no_model_is_one_line(tmp_path):
    (tmp_path / "mine.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ConfigError, match=r"^file: [^\n]*mine.gguf can't be read: [^\n]*$"):
        GgufModel(GgufModel.Options(file=str(tmp_path / "mine.gguf")))


@with_marks
def test_the_published_model_has_probabilities_of_all_choices(backend):
    allowed = Allowed(choices=("cat", "dog", "xal"))
    ask = {"system": "", "user": "Which animal barks? cat, dog or xal?", "allowed": allowed}
    replies = [backend.reply(Request(**ask, draw=draw)) for draw in range(200)]
    shares = replies[0].choice_probabilities
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert all(r.choice_probabilities == shares for r in replies)
    said = [reply.text for reply in replies]
    for name, share in shares.items():  # three standard errors
        assert abs(said.count(name) / 200 - share) <= 3 * (share * (1 - share) / 200) ** 0.5 + 0.005
    greedy = GgufModel(GgufModel.Options(file=str(FILE), temperature=0.0)).reply(Request(**ask, draw=0))
    assert greedy.text == max(shares, key=shares.get)


@with_marks
def test_the_converted_model_is_read_again_and_made_anew_if_it_was_changed(backend):
    (folder,) = (path for path in data_folder("gguf").iterdir() if path.is_dir())
    before = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_bytes(before[:-10])
    GgufModel(GgufModel.Options(file=str(FILE)))
    assert (folder / "tokenizer.json").read_bytes() == before


@with_marks
def test_a_shipped_game_plays_as_planned(backend, tmp_path):
    settings = [f"play.participant.backend.file={FILE}", "training.num_examples=4", "training.evaluate_every=1"]
    experiment = load_experiment("naming_llm", settings)
    assert cost(experiment)["participants"]["play.participant"]["calls"] == 8
    result = trained(experiment, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert len(rows) == 8 and len(rounds_of(tmp_path)) == 4
    first = [row["choice_probabilities"]["Q"] for row in rows if row["round"] == 1]
    assert result.measures["first_name_probability"] == pytest.approx(sum(first) / len(first))
    assert {"consensus", "has_consensus", "consensus_round", "first_name"} <= result.chance.keys()
