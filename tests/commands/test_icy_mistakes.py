"""`ecsuite icy` and `ecsuite grammar` refuse mistakes in one line, before any work."""

from pathlib import Path

import pytest

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]
QUICK = [*SMALL, "--hidden-size", "16", "--target", "0.5", "--workers", "1"]
ROW = ["icy", "--model", "fc1l", *QUICK, "--grammar", "perm", "--seeds"]
"""Of a fraction of a second a seed."""


@pytest.fixture(autouse=True)
def wide(monkeypatch, ecsuite):
    """A terminal in which a row of results fits."""
    monkeypatch.setenv("COLUMNS", "150")


def files(folder="."):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


MISTAKES = {
    "icy": "ecsuite icy: models: expected at least one, such as husendz:dgsend (--model)",
    "icy --model lstn": "ecsuite icy: unknown sender 'lstn'; did you mean 'lstm'? choices: rnn, ",
    "icy --model lstm,width=3": "ecsuite icy: unknown option of lstm 'width'; choices: hidden",
    "icy --model lstm,hidden=0": "ecsuite icy: lstm: hidden: expected a number from 1 to 999999, got '0'",
    "icy --model husendz:grru": "ecsuite icy: unknown cell 'grru'; did you mean 'gru'?",
    "icy --model cnn": "ecsuite icy: unknown sender 'cnn'",
    "icy --model lstm --model LSTM": "ecsuite icy: models: expected different names, got lstm twice",
    "icy --model lstm --role speaker": "ecsuite icy: role: unknown value 'speaker'; did you mean 'sender'?",
    "icy --model lstm --protocol exakt": "ecsuite icy: protocol: unknown value 'exakt'; did you mean 'exact'?",
    "icy --model lstm --channel gumbel": "--channel: not read by --protocol exact; read by budget, end-to-end",
    "icy --model lstm --protocol budget --channel gumball": "ecsuite icy: unknown channel 'gumball'; did",
    "icy --model lstm --receiver gru": "--receiver: not read by --protocol exact; read by end-to-end",
    "icy --model lstm --protocol budget --cap 3": "--cap: not read by --protocol budget; read by exact, paper, end-",
    "icy --model lstm --protocol budget --early-stop": "--early-stop: not read by --protocol budget; read by exact, ",
    "icy --model lstm --protocol end-to-end --role sender": "--role: not read by --protocol end-to-end; read by exact",
    "icy --model lstm --protocol budget --save-corpora x": "--save-corpora: not read by --protocol budget; read by ex",
    "icy --model lstm --role receiver --save-corpora x": "--save-corpora: expected senders, and none of them a hash",
    "icy --model lstm --picture bars.png": "--picture: not read by --protocol exact; read by end-to-end, metrics",
    "icy --model lstm --protocol end-to-end": "ecsuite icy: end-to-end: expected one receiver, or one for each",
    "icy --model lstm --grammar prem": "ecsuite icy: unknown grammar 'prem'; did you mean 'perm'?",
    "icy --model lstm --grammar perm,x=1": "ecsuite icy: grammar 'perm,x=1': perm has no options, got 'x=1'",
    "icy --model lstm --grammar shufdet,decides=x": "ecsuite icy: unknown decides of shufdet 'x'; choices: last, first",
    "icy --model lstm --grammar perm+hol": "ecsuite icy: grammar 'perm+hol': hol makes messages, so it must be the",
    "icy --model lstm --seeds 0": "--seeds 0: expected how many (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds 5-3": "--seeds 5-3: expected how many (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds abc": "--seeds abc: expected how many (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds ,": "--seeds ,: expected how many (10), a range (123-132) or a list (123,125)",
    "icy --model lstm --seeds 1000000000": "--seeds 1000000000: expected how many (10), ",
    "icy --model lstm --seeds 1,1": "ecsuite icy: seeds: expected different numbers from 0 to 2^63 - 1",
    "icy --model lstm --seeds 1,2147483648": "--seeds 1,2147483648: expected seeds from 0 to 2,147,483,647",
    "icy --model lstm --target 2": "ecsuite icy: target: expected an accuracy, more than 0 and at most 1, got 2",
    "icy --model lstm --cap 0.5": "ecsuite icy: cap_ratio: expected 1 or more, got 0.5",
    "icy --model lstm --cap inf": "ecsuite icy: cap_ratio: expected 1 or more, got inf",
    "icy --model lstm --max-steps 9": "--max-steps: not read by --protocol exact; read by budget, end-to-end",
    "icy --model lstm --clip 0": "ecsuite icy: clip: expected a number above 0, got 0",
    "icy --model lstm --held-out 1": "ecsuite icy: held_out: expected a fraction from 0 to 0.9, got 1",
    "icy --model lstm --precision fp16": "ecsuite icy: precision: unknown value 'fp16'; did you mean 'bf16'?",
    "icy --model lstm --hidden-size 0": "ecsuite icy: hidden_size: expected 1 to 16,384, got 0",
    "icy --model lstm --hidden-size 100000000": "ecsuite icy: hidden_size: expected 1 to 16,384, got 100,000,000",
    "icy --model lstm --num-attributes 31": "ecsuite icy: --num-attributes: expected 1 to 30, got 31",
    "icy --model lstm --num-values 100000000": "ecsuite icy: 100000000^5 meanings in messages of 20 symbols do not",
    "icy --model lstm --vocab-size 0": "ecsuite icy: --vocab-size: expected 1 to 2,147,483,647, got 0",
    "icy --model lstm --word-length 1 --workers 1": "10 values need 10 different words, but words of 1 symbols over 4",
    "icy --model lstm --device gpu": "unknown device 'gpu'; did you mean 'cpu'? choices: auto, cpu, cuda",
    "icy --model lstm --out a_file/rows.json": "[Errno ",
    "icy --protocol metrics --picture a_file/bars.png": "[Errno ",
    "icy --protocol metrics --picture bars.jpeg": "bars.jpeg: expected the name of a picture, ending in .svg or .png",
    "icy --protocol metrics --grammar prem": "ecsuite icy: unknown grammar 'prem'; did you mean 'perm'?",
    "icy paper/icy_tabel3": "unknown study 'icy_tabel3'; did you mean 'icy_table3'? choices: icy_figure3, ",
    "icy nowhere.yaml": "nowhere.yaml: can't be read: ",
    "icy key.yaml": "key.yaml: unknown key 'model'; did you mean 'models'? choices: name, about, ",
    "icy type.yaml": "type.yaml: seeds: expected list, got 10",
    "icy list.yaml": "list.yaml: expected keys and values, got list",
    "icy table.yaml": "table.yaml: unknown table 'table7'; did you mean",
    "grammar nope": "unknown grammar 'nope'; did you mean 'perm'? choices: concat, hol, perm, ",
    "grammar perm+concat": "grammar 'perm+concat': concat makes messages, so it must be the first of a chain",
    "grammar shufdet,decides=x": "unknown decides of shufdet 'x'; choices: last, first",
    "grammar perm --seed -1": "--seed: expected 0 to 2,147,483,647, got -1",
    "grammar perm --num-values 100000000": "100000000^5 meanings in messages of 20 symbols do not fit in memory",
    "grammar perm --num-attributes 0": "--num-attributes: expected 1 to 30, got 0",
    "grammar perm --word-length 1": "10 values need 10 different words, but words of 1 symbols over 4 make only 4",
    "grammar hol --num-attributes 2 --word-length 1": "100 meanings need as many different messages, but messages of",
    "grammar perm --num-symbols 5": "perm has one message for each meaning: leave out --num-symbols",
    "grammar perm --text a_file": "perm has one message for each meaning: leave out --text",
    "grammar dyck --num-values 3": "dyck has no meanings: leave out --num-values",
    "grammar dyck --num-symbols 0": "--num-symbols: expected 1 to 1,073,741,824, got 0",
    "grammar dyck --vocab-size 1": "brackets: expected at least 2 symbols, got 1: raise --vocab-size",
    "grammar dyck --text a_file": "dyck takes no text: leave out --text",
    "grammar text_parentheses": "text_parentheses: expected a text with word frequencies, got none: give --text FILE",
    "grammar text_parentheses --text nowhere": "cannot read nowhere: No such file or directory",
    "grammar text_parentheses --text a_file": "a_file: expected words, found none",
    "grammar perm --out a_file": "[Errno ",
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
        "a_file": "", "key.yaml": "model: lstm\n", "type.yaml": "models: [lstm]\nseeds: 10\n", "list.yaml": "- lstm\n",
        "table.yaml": "models: [lstm]\npublished: table7\n",
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
    [
        "icy --model",
        "icy --hidden-size x",
        "icy --metrics topsim",
        "icy a b",
        "grammar",
        "grammar perm --num-values x",
    ],
)
def test_usage_errors_exit_with_2(ecsuite, line):
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and " Error " in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "icy --protocol end-to-end --model gru --model lstm --receiver gru --picture bars.png",
            "--picture: expected one model and one channel",
        ),
        (f"{' '.join(ROW)} 1 --cache a_file", "[Errno "),
        (f"{' '.join(ROW)} 1 --save-corpora a_file", "--save-corpora a_file: expected a folder, got a file"),
    ],
)
def test_where_nothing_can_be_written_or_drawn(ecsuite, line, message):
    Path("a_file").write_text("mine")
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1
    assert Path("a_file").read_text() == "mine"
