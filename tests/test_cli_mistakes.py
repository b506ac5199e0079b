"""What users get wrong on the command line: a line that names it, exit code 2, and nothing written."""

import pytest

MISTAKES = {
    ("train-game", "disk_tiny"): "unknown game 'disk_tiny'; did you mean 'disc_tiny'? choices: disc_large, ",
    ("train-game", "nowhere.yaml"): "nowhere.yaml: can't be read: ",
    (
        "train-game",
        "disc_tiny",
        "--sender",
        "gruu",
    ): "command line: unknown sender 'gruu'; did you mean 'gru'? choices: rnn, gru, lst",
    (
        "train-game",
        "disc_tiny",
        "--receiver",
        "x",
    ): "command line: unknown receiver 'x'; choices: rnn, gru, lstm",
    (
        "train-game",
        "disc_tiny",
        "--sender",
        "hashtable",
    ): "command line: sender hashtable learns from a given language only; see `ecsuite icy`",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "channel.kind=gumball",
    ): "--set: unknown channel 'gumball'; did you mean 'gumbel'?",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "channel.word_size=8",
    ): "--set: channel.word_size: channel gumbel does not read it; read by quantized, continuous",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "channel=quantized,length=fixed",
    ): "--set: channel.length: channel quantized does not read it; read by soft, gumbel, reinforce",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "task.kind=concept",
    ): "task concept: world attributes has no rules; worlds with rules: text, thing, shape, ",
    (
        "train-game",
        "disc_tiny",
        "--features",
        "x",
    ): "command line: world.features: world attributes does not read it; read by features",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "task.kind=x",
    ): "--set: unknown task 'x'; choices: discrimination, reconstruction, concept",
    ("train-game", "disc_tiny", "--set", "colour=1"): "--set: unknown key 'colour'; choices: name, about, ",
    (
        "train-game",
        "disc_tiny",
        "--device",
        "gpu",
    ): "unknown device 'gpu'; did you mean 'cpu'? choices: auto, cpu, cuda",
    (
        "train-game",
        "disc_tiny",
        "--until-accuracy",
        "95",
    ): "command line: training.until_accuracy: expected float <= 1.0, got 95.0",
    (
        "train-game",
        "disc_tiny",
        "--until-accuracy",
        "nan",
    ): "command line: training.until_accuracy: expected float > 0.0, got nan",
    (
        "train-game",
        "disc_tiny",
        "--max-minutes",
        "-1",
    ): "command line: training.max_minutes: expected float > 0.0, got -1.0",
    ("train-game", "disc_tiny", "--seed", "-1"): "command line: training.seed: expected int >= 0, got -1",
    ("train-game", "disc_tiny", "--seed", str(2**64)): (
        "command line: training.seed: expected int <= 9223372036854775807, got 18446744073709551616"
    ),
    (
        "train-game",
        "disc_tiny",
        "--train-data",
        "x",
    ): "command line: world.train_data and valid_data: give both files",
    (
        "train-game",
        "disc_tiny",
        "--set",
        "task.num_distractors=16",
    ): "17 distinct candidates need as many objects, but ",
    ("train-game", "disc_tiny", "--out", "a_file"): "a_file is a file: choose another folder with --out",
    (
        "train-game",
        "disc_tiny",
        "--out",
        ".",
    ): ". is not empty and not a run folder: choose another folder with --out",
    ("preview", "thing_qt", "--rounds", "0"): "--rounds 0: expected 1 to 50",
    ("preview", "thing_qt", "--split", "trian"): "unknown split 'trian'; did you mean 'train'?",
    (
        "preview",
        "thing_qt",
        "--out",
        "sheet.gif",
    ): "sheet.gif: expected the name of a picture, ending in .png or .svg",
    ("features", "birds.csv"): "birds.csv: expected the name of a feature file, ending in .npz",
    ("features", "birds.npz", "--encoder", "resnet"): "--encoder: expected together with --images",
    ("features", "birds.npz", "--images", "nowhere"): "--images nowhere: expected a folder of images",
    ("features", "birds.npz", "--num-classes", "0"): "num_classes: expected at least 1, got 0",
    ("train-game", "mu_cub", "--features", "nowhere.npz"): "nowhere.npz: can't be read: ",
    ("score", "nowhere"): "cannot read nowhere: No such file or directory",
    ("score", "a_file", "--metrics", "cbn"): "unknown metric 'cbn'; did you mean 'cbm'? choices: elcc, cbm, ",
    ("score", "bad.jsonl"): "bad.jsonl:2: expected a list of non-negative integers",
    (
        "score",
        "good.jsonl",
        "--metrics",
        "xferbench",
        "--preset",
        "minni",
    ): "unknown preset 'minni'; did you mean 'mini'?",
    (
        "score",
        "good.jsonl",
        "--metrics",
        "xferbench",
        "--targets",
        "nowhere",
    ): "--targets nowhere: no such folder",
    ("score", "good.jsonl", "--metrics", "xferbench", "--protocol", "strickt"): (
        "unknown protocol 'strickt'; did you mean 'strict'?"
    ),
    ("score", "good.jsonl", "--metrics", "xferbench", "--preset", "danish"): (
        "preset danish needs texts of da: run `ecsuite data wikipedia` once, or give --targets FOLDER"
    ),
    ("baseline", "randon"): "unknown baseline 'randon'; did you mean 'random'?",
    ("baseline", "human"): "human needs a text: give --text FILE",
    ("compare", "nowhere.json"): "nowhere.json: ",
    ("data", "wikipedia", "--pairs", "3"): "--pairs is for wmt14; wikipedia has --languages and --articles",
    ("score", "good.jsonl", "--metrics", "elcc", "--out", "a_file/scores.json"): "[Errno ",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes_are_named_in_a_line_and_exit_with_2(ecsuite, tmp_path, arguments):
    (tmp_path / "a_file").write_text("")
    (tmp_path / "good.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    (tmp_path / "bad.jsonl").write_text("[1, 2]\n[2.5]\n[-1]\n")
    code, out, err = ecsuite(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(MISTAKES[arguments]), err
    assert not (tmp_path / "runs").exists()
    if "bad.jsonl" in arguments:
        assert [line.split(":")[:2] for line in err.splitlines()] == [["bad.jsonl", "2"], ["bad.jsonl", "3"]]


@pytest.mark.parametrize(
    "arguments", [["train-game", "disc_tiny", "--seed", "x"], ["train-game"], ["frobnicate"]]
)
def test_usage_errors_exit_with_2(ecsuite, arguments):
    code, out, err = ecsuite(*arguments)
    assert (code, out) == (2, "") and err


def test_games_refuse_the_hashtable(ecsuite, as_json, tmp_path):
    """It learns from a given language only, so a game would leave it at chance level."""
    code, out, err = ecsuite("train-game", "disc_tiny", "--sender", "hashtable", "--out", "run")
    assert (code, out) == (2, "") and not (tmp_path / "run").exists()
    (line,) = err.splitlines()
    assert line.endswith("sender hashtable learns from a given language only; see `ecsuite icy`")
    assert "hashtable" not in as_json("list")["senders"]
