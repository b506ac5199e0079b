"""What version 0.1.0 wrote is read by the command that reads it; a format that nobody knows yet is refused by name."""

import json
import re
from pathlib import Path

import pytest
import yaml

from ecsuite.eval.metrics import ASKED_FOR, METRICS
from ecsuite.eval.xferbench.comparison.correlation_report import read_translation
from ecsuite.files.format_numbers import FORMATS, with_format, without_format
from ecsuite.formats import read_corpus
from ecsuite.games.checkpoints import checkpoints
from ecsuite.games.experiment import load_experiment
from ecsuite.runtime.errors import CorpusError, FormatError

pytestmark = pytest.mark.usefixtures("files_of_0_1")
SCORES = ("score.json", "score_perm.json", "baseline_no_pretrain.json")
TRANSLATED = tuple(f"translate_{name}.json" for name in ("finished", "perm", "no_pretrain"))
ON_CPU = ("--device", "cpu")
AS_THEN = (*ON_CPU, "--set", "training.precision=fp32")
"""The machine that wrote the fixtures had no bf16, which `auto` chooses elsewhere."""


def read(file):
    return json.loads(Path(file).read_text())


def assert_close(found, expected, where=""):
    """The same but for new keys and the last digits of numbers, which differ between machines."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys(), where
        for key in expected.keys() - {
            "about",
            "reason",
            "notes",
            "ci_reason",
            "why",
        }:  # texts for people may change
            assert_close(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_close(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), where
    else:
        assert found == expected, where


def test_a_config_is_trained(as_json):
    told = as_json("train-game", "game.yaml", *AS_THEN)
    assert (told["step"], told["was_done"]) == (16, False)
    written = yaml.safe_load(Path("runs/game/config.yaml").read_text())
    assert written == {"format": 2} | load_experiment("finished/config.yaml").to_tree()
    assert "format" not in read("runs/game/metadata.json")["config"]


def test_the_config_of_a_run_folder_is_trained(ecsuite):
    """Every setting stood in it, also those that nothing read; these are left out with a note."""
    code, out, err = ecsuite("train-game", "finished/config.yaml", *ON_CPU, "--out", "again", "--json")
    assert (code, json.loads(out)["step"]) == (0, 16)
    assert re.fullmatch(
        r"finished/config.yaml: \d+ settings of format 1 .* left out, such as world.rule_length\n", err
    )


def test_a_finished_run_is_still_the_same_run(as_json):
    training = read("finished/metadata.json")["training"]
    told = as_json("train-game", "game.yaml", *AS_THEN, "--out", "finished")
    assert told["was_done"] and told["step"] == 16
    assert told["measures"] == {name: training[name] for name in ("loss", "accuracy", "length")}


def test_a_stopped_run_goes_on(ecsuite, as_json):
    command = ["train-game", "game.yaml", *AS_THEN, "--epochs", "3", "--out", "stopped"]
    assert "holds this run, unfinished" in ecsuite(*command)[2]
    log = Path("stopped/log.jsonl").read_text()
    told = as_json(*command, "--resume")
    assert (told["stopped"], told["step"]) == ("epochs", 24)
    grown = Path("stopped/log.jsonl").read_text()
    assert grown.startswith(log)
    assert [json.loads(line)["step"] for line in grown.splitlines()] == [8, 16, 24]
    assert checkpoints(Path("stopped"))[0].name == "checkpoint-000000024.safetensors"
    assert Path("stopped/config.yaml").read_text().startswith("format: 2\n")


RESAMPLED = {"null_mean", "null_low", "null_high", "p_value", "resamples", "subsamples"}
"""Details that newer versions of metrics compute in another way; their values are the same."""


def test_a_run_has_the_values_that_it_had(as_json):
    names = [
        name for name in METRICS.parts if name not in ASKED_FOR
    ]  # what a trained model scores is a machine's own
    before = read("finished/scores.json")
    found = as_json("score", "finished", "--metrics", ",".join(names))
    assert {key: found["corpus"][key] for key in before["corpus"]} == before["corpus"]

    def values(scores):
        return [
            (
                score["name"],
                score["value"],
                {key: score["details"][key] for key in score["details"].keys() - RESAMPLED},
            )
            for score in scores
            if score["name"] != "xferbench"
        ]

    assert_close(values(found["scores"]), values(before["scores"]))
    kept = read("finished/scores.json")
    assert kept["format"] == 1
    assert {score["signature"] for score in [*before["scores"], *found["scores"]]} == {
        score["signature"] for score in kept["scores"]
    }


@pytest.mark.parametrize("scores", [SCORES, ("finished", "perm", SCORES[2])], ids=["files", "folders"])
def test_scores_are_compared(as_json, scores):
    found = as_json("compare", *scores, "baseline_random.json")
    assert_close(found, {"format": 1} | read("compare.json"))


def test_scores_are_correlated(as_json):
    found = as_json("correlate", *SCORES, "--translation", "inputs/translations.json")
    assert_close(found, {"format": 1} | read("correlate.json"))


def test_translations_are_read():
    found = read_translation([Path(file) for file in TRANSLATED], "chrf")
    assert found == {"full": dict.fromkeys(("finished", "perm", "no_pretrain"), 0.0)}
    kept = sorted(Path("kept/translate").iterdir())
    assert read_translation(kept, "chrf").keys() == {read(file)["setting"] for file in kept}


def test_kept_results_are_left_alone_with_a_note(ecsuite):
    before = {file: file.read_bytes() for file in Path("kept/icy").iterdir()}
    code, _, err = ecsuite("icy", "icy_study.yaml", "--seeds", "1", "--workers", "1", "--cache", "kept/icy")
    assert code == 0
    assert (
        f"kept/icy: {len(before)} files of an earlier version of ecsuite are not read; they can be deleted\n"
        in err
    )
    assert {file: file.read_bytes() for file in before} == before


def test_a_corpus_is_read():
    for folder, num_messages in {"finished": 16, "perm": 9}.items():
        corpus = read_corpus(folder)
        assert len(corpus.messages) == len(corpus.meanings) == num_messages
        assert corpus.metadata["source_format"] == "ecsuite corpus"


TOO_NEW = {
    "config": ("config", "game.yaml", "train-game game.yaml --out new"),
    "run folder, found": ("config", "finished/config.yaml", "train-game game.yaml --out finished"),
    "run folder, resumed": ("config", "stopped/config.yaml", "train-game game.yaml --out stopped --resume"),
    "config of an icy study": ("config", "icy_study.yaml", "icy icy_study.yaml"),
    "config of a cbm study": ("config", "cbm_study.yaml", "cbm cbm_study.yaml"),
    "scores of a run": ("scores", "finished/scores.json", "score finished --metrics cbm"),
    "scores compared": ("scores", "score.json", "compare score.json score_perm.json"),
    "scores correlated": (
        "scores",
        "score.json",
        "correlate score.json --translation inputs/translations.json",
    ),
    "result": ("result", "translate_perm.json", "correlate score.json --translation translate_perm.json"),
}
"""The kind of file that a newer version wrote, the file, and the command that reads it."""


@pytest.mark.parametrize(("kind", "file", "command"), TOO_NEW.values(), ids=TOO_NEW)
def test_a_newer_format_is_refused_in_one_line(ecsuite, kind, file, command):
    newer, text = FORMATS[kind] + 1, Path(file).read_text()
    is_yaml = file.endswith(".yaml")
    Path(file).write_text(
        f"format: {newer}\n{text}" if is_yaml else json.dumps(read(file) | {"format": newer})
    )
    there = contents()
    code, out, err = ecsuite(*command.split())
    assert (code, out) == (2, "")
    known = "1" if newer == 2 else f"1 to {newer - 1}"
    assert err == (
        f"{file}: format {newer} of a {kind} file is not known; this version of ecsuite reads {known}, and files "
        "without a format\n"
    )
    assert contents() == there


def contents():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_kept_results_of_a_newer_format_are_refused_in_one_line(ecsuite):
    command = ["icy", "icy_study.yaml", "--seeds", "1", "--workers", "1", "--cache", "here"]
    assert ecsuite(*command)[0] == 0
    for file in Path("here/results").glob("*.json"):
        assert read(file)["format"] == 2
        file.write_text(json.dumps(read(file) | {"format": 3}))
    code, out, err = ecsuite(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("here/results/") and "format 3 of a kept result file is not known" in err


def test_a_corpus_of_a_newer_format_is_refused():
    file = Path("perm/metadata.json")
    file.write_text(json.dumps(read(file) | {"format_version": 2}))
    with pytest.raises(CorpusError, match='"format_version" is 2: damaged, or of a newer version'):
        read_corpus("perm")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_is_added_and_taken_away(kind):
    data = {"key": "value"}
    assert list(with_format(kind, data)) == ["format", "key"]
    assert without_format(kind, with_format(kind, data), "file") == without_format(kind, data, "file") == data
    for wrong in (FORMATS[kind] + 1, 0, -1, 1.0, True, "1", None, [1]):
        with pytest.raises(FormatError, match=r"^file: format .* is not known; this"):
            without_format(kind, data | {"format": wrong}, "file")
