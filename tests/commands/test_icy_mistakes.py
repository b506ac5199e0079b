"""`ecsuite icy` and `ecsuite grammar` refuse mistakes in one line, before any work."""

from pathlib import Path

import pytest

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]


def files():
    return {str(path) for path in Path().rglob("*") if path.is_file()}


MISTAKES = {
    "icy": "ecsuite icy: models: expected at least one, such as husendz:dgsend (--model)",
    "icy --model lstn": "ecsuite icy: unknown sender 'lstn'; did you mean 'lstm'? choices: dgrecv, ",
    "icy --model lstm --role speaker": "ecsuite icy: role: unknown value 'speaker'; did you mean 'sender'?",
    "icy --model lstm --protocol exakt": "ecsuite icy: protocol: unknown value 'exakt'; did you mean 'exact'?",
    "icy --model lstm --channel gumbel": "--channel: not read by --protocol exact; read by budget, end-to-end",
    "icy --model lstm --protocol budget --channel gumball": "ecsuite icy: unknown channel 'gumball'; did",
    "icy --model lstm --protocol budget --cap 3": "--cap: not read by --protocol budget; read by exact, paper, end-",
    "icy --model lstm --protocol budget --early-stop": "--early-stop: not read by --protocol budget; read by exact, ",
    "icy --model lstm --protocol budget --save-corpora x": "--save-corpora: not read by --protocol budget; read by ex",
    "icy --model lstm --role receiver --save-corpora x": "--save-corpora: expected protocol exact or paper, sender",
    "icy --model lstm --grammar prem": "ecsuite icy: unknown grammar 'prem'; did you mean 'perm'?",
    "icy --model lstm --seeds 0": "--seeds 0: expected a number (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds abc": "--seeds abc: expected a number (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds 1000000000": "--seeds 1000000000: expected a number (10), ",
    "icy --model lstm --seeds 1,2147483648": "--seeds 1,2147483648: expected seeds from 0 to 2,147,483,647",
    "icy --model lstm --cap 0.5": "ecsuite icy: cap_ratio: expected 1 or more, got 0.5",
    "icy --model lstm --precision fp16": "ecsuite icy: precision: unknown value 'fp16'; did you mean 'bf16'?",
    "icy --model lstm --word-length 1 --workers 1": "10 values need 10 different words, but words of 1 symbols over 4",
    "icy --model lstm --device gpu": "unknown device 'gpu'; did you mean 'cpu'? choices: auto, cpu, cuda",
    "icy --model lstm --out a_file/rows.json": "a_file",
    "icy --protocol metrics --plot a_file/bars.png": "a_file",
    "icy --protocol metrics --plot bars.jpeg": "bars.jpeg: expected the name of a picture, ending in .svg, .pdf, .png",
    "icy paper/icy_tabel3": "unknown study 'icy_tabel3'; did you mean 'icy_table3'? choices: icy_table3, ",
    "icy nowhere.yaml": "nowhere.yaml: can't be read: ",
    "icy key.yaml": "key.yaml: unknown key 'model'; did you mean 'models'? choices: models, ",
    "icy table.yaml": "table.yaml: unknown table 'table7'; did you mean",
    "grammar nope": "unknown grammar 'nope'; did you mean 'perm'? choices: perm, ",
    "grammar perm --seed -1": "--seed: expected 0 to 2,147,483,647, got -1",
    "grammar perm --word-length 1": "10 values need 10 different words, but words of 1 symbols over 4 make only 4",
    "grammar perm --num-symbols 5": "perm has one message for each meaning: leave out --num-symbols",
    "grammar text_parentheses --text nowhere": "nowhere: cannot be read: No such file or directory",
    "grammar text_parentheses --text a_file": "a_file: expected words, found none",
    "grammar perm --out a_file": "a_file",
}


UNREAD = {
    "--model": "lstm", "--role": "receiver", "--receiver": "gru", "--channel": "soft", "--target": "0.5", "--cap": "3",
    "--max-steps": "9", "--clip": "1", "--held-out": "0.5", "--early-stop": None, "--precision": "bf16",
    "--hidden-size": "64", "--save-corpora": "said", "--device": "cpu",
}  # fmt: skip
"""Options without effect on metrics of grammars."""


@pytest.mark.parametrize("option", UNREAD)
def test_metrics_of_grammars_refuse_every_option_of_training(ecsuite, option):
    value = [] if UNREAD[option] is None else [UNREAD[option]]
    code, out, err = ecsuite("icy", "--protocol", "metrics", "--grammar", "perm", *SMALL, option, *value)
    assert (code, out, files()) == (2, "", set())
    assert err.startswith(f"{option}: not read by --protocol metrics; read by ") and err.count("\n") == 1


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_named_in_a_line_and_exit_with_2(ecsuite, line):
    given = {
        "a_file": "", "key.yaml": "model: lstm\n", "table.yaml": "models: [lstm]\npublished: table7\n",
    }  # fmt: skip
    for name, text in given.items():
        Path(name).write_text(text)
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "")
    assert err.startswith(MISTAKES[line]), err
    assert err.count("\n") == 1 and err.endswith("\n")
    assert files() == set(given), "a mistake leaves nothing behind"


@pytest.mark.parametrize(
    "line",
    ["icy --model", "icy --hidden-size x", "icy --metrics topsim", "icy a b", "grammar"],
)
def test_usage_errors_exit_with_2(ecsuite, line):
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and err.startswith(f"ecsuite {line.split()[0]}: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "icy --protocol end-to-end --model gru --model lstm --receiver gru --plot bars.png",
            "--plot: expected one model and one channel",
        ),
        ("icy --model fc1l --seeds 1 --cache a_file --quiet", "a_file"),
        ("icy --model fc1l --save-corpora a_file", "--save-corpora a_file: expected a folder, got a file"),
    ],
)
def test_where_nothing_can_be_written_or_drawn(ecsuite, line, message):
    Path("a_file").write_text("mine")
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1
    assert Path("a_file").read_text() == "mine"
