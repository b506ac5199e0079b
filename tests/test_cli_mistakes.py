import re
import shutil
import sys
from pathlib import Path

import pytest
import torch

import ecsuite as ec

QUICK = {"training.num_epochs": 1, "training.num_examples": 256, "evaluation.num_valid": 64}
MISTAKES = {
    "train-game disk_tiny": "unknown game 'disk_tiny'; did you mean 'disc_tiny'? choices: disc_tiny, ",
    "train-game nowhere.yaml": "nowhere.yaml: can't be read: ",
    "train-game disc_tiny --sender gruu": "--sender: unknown sender 'gruu'; did you mean 'gru'? choices: dgrecv, ",
    "train-game disc_tiny --sender gru,hidden_size=x": "--sender: sender.hidden_size: expected int, got 'x'",
    "train-game shape_gs --world thing": "sender.perception: conv_grid does not take vectors of 16 features: ",
    "train-game disc_tiny --world unequal_attributes": "--world: world.num_values: expected list, got 4",
    "train-game disc_tiny --receiver x": "--receiver: unknown receiver 'x'; choices: ",
    "train-game disc_tiny --sender hashtable": "--sender: sender hashtable learns from a given language only; see",
    "train-game disc_tiny --set channel.kind=gumball": "--set: unknown channel 'gumball'; did you mean 'gumbel'?",
    "train-game disc_tiny --set channel.word_size=8": "--set: channel.word_size: channel gumbel does not read it;",
    "train-game disc_tiny --set channel=quantized,length=fixed": "--set: channel.length: channel quantized does",
    "train-game disc_tiny --set task.kind=concept": "task concept: world attributes has no rules; worlds with",
    "train-game disc_tiny --features x": "--features: world attributes does not read it; read by features",
    "train-game disc_tiny --set task.kind=x": "--set: unknown task 'x'; choices: discrimination, in_batch,",
    "train-game disc_tiny --set =1": "--set =1: expected key=value, such as channel.temperature=2",
    "train-game disc_tiny --set task.num_distractor=1": (
        "--set: unknown key 'task.num_distractor'; did you mean 'task.num_distractors'?"
    ),
    "train-game naming --set play.participant=language_model,data_files=x": (
        "--set: unknown key 'play.participant.data_files'; choices: play.participant.tries, "
    ),
    "train-game disc_tiny --set colour=1": "--set: unknown key 'colour'; choices: ",
    "train-game disc_tiny --device gpu": "unknown device 'gpu'; did you mean 'cpu'? choices: auto, cpu, cuda",
    "train-game disc_tiny --until-accuracy 95": "--until-accuracy: expected at most 1.0, got 95.0",
    "train-game disc_tiny --until-accuracy nan": "--until-accuracy: expected more than 0.0, got nan",
    "train-game disc_tiny --max-minutes -1": "--max-minutes: expected more than 0.0, got -1.0",
    "train-game disc_tiny --epochs -1": "--epochs: expected at least 0, got -1",
    "train-game disc_tiny --patience 3": "--patience: needs training.keep_best, the figure that it watches",
    "train-game disc_tiny --keep-best acuracy": "training.keep_best: unknown figure 'acuracy'; did you mean",
    "train-game disc_tiny --metrics topsin": "evaluation.metrics: unknown metric 'topsin'; did you mean 'topsim'?",
    "train-game disc_tiny --metrics xferbench": "evaluation.metrics: xferbench trains models: ",
    "train-game disc_tiny --log cvs": "--log: unknown logger 'cvs'; did you mean 'csv'? choices: csv, ",
    "train-game disc_tiny --log csv,rows=1": "--log: csv: unknown option 'rows'; it has none",
    "train-game disc_tiny --log mode=offline": "--log: expected a logger before mode=offline: csv, ",
    "train-game disc_tiny --log ./none.py:Mine": "./none.py: can't be read: No such file",
    "train-game disc_tiny --init-from nowhere": "--init-from: nowhere: expected a run folder with a checkpoint",
    "train-game disc_tiny --set training.freeze_sender=true --set training.freeze_receiver=true":
        "--set: training.freeze_receiver: both agents are frozen",
    "train-game disc_tiny --seed -1": "--seed: expected 0 to 2,147,483,647, got -1",
    "train-game disc_tiny --seed 2147483648": "--seed: expected 0 to 2,147,483,647, got 2147483648",
    "train-game disc_tiny --train-data x": "--train-data: world.train_data and valid_data: give both files",
    "train-game disc_tiny --set task.num_distractors=16": "17 distinct candidates need 17 objects, but ",
    "train-game disc_tiny --out a_file": "a_file is a file: choose another folder with --out",
    "train-game disc_tiny --out .": ". is not empty and not a run folder: choose another folder with --out",
    "show thing_qt --rounds 0": "--rounds 0: expected 1 to 50",
    "show thing_qt --from trian": "unknown split 'trian'; did you mean 'train'?",
    "show thing_qt --plot sheet.gif": "sheet.gif: expected the name of a picture, ending in .svg, .pdf, .png",
    "data features birds.csv": "birds.csv: expected the name of a feature file, ending in .npz",
    "data features birds.npz --encoder resnet": "--encoder: not read by synthetic features; read by --images",
    "data features birds.npz --device cuda": "--device: not read by synthetic features; read by --images",
    "data features birds.npz --images photos --num-classes 3": "--num-classes: not read by --images; read by",
    "data features birds.npz --seed 2147483648": "--seed: expected 0 to 2,147,483,647, got 2147483648",
    "data features birds.npz --images nowhere": "nowhere: expected a folder of images",
    "data features birds.npz --num-classes 0": "num_classes: expected at least 1, got 0",
    "train-game mu_cub --features nowhere.npz": "nowhere.npz: can't be read: ",
    "score nowhere": "cannot read nowhere: No such file or directory",
    "score a_file --metrics cbn": "unknown metric 'cbn'; did you mean 'cbm'? choices: cbm, ",
    "score bad.jsonl": "bad.jsonl:2: expected a list of non-negative integers",
    "score good.jsonl --metrics xferbench,preset=minni": "unknown preset 'minni'; did you mean 'mini'?",
    "score good.jsonl --metrics xferbench,targets=nowhere": "nowhere: no such folder of target texts",
    "score good.jsonl --metrics xferbench,protocol=strickt": "unknown protocol 'strickt'; did you mean 'strict'?",
    "score good.jsonl --metrics xferbench,preset=danish": "preset danish needs texts of da: run `ecsuite data",
    "score good.jsonl --metrics topsim,preset=full": "unknown option of topsim 'preset'; ",
    "score good.jsonl --metrics xferbench,seeds=3": "unknown option of xferbench 'seeds'; did you mean",
    "score good.jsonl --metrics xferbench,num_seeds=0": "xferbench.num_seeds: expected int >= 1, got 0",
    "score good.jsonl --preset full": "ecsuite score: no such option: --preset",
    "score good.jsonl --metrics cbm --cache kept": "--cache: not read by --metrics cbm; ",
    "score good.jsonl --metrics cbm --workers 2": "--workers: not read by --metrics cbm; ",
    "score good.jsonl --metrics cbm --device cpu": "--device: not read by --metrics cbm; ",
    "score good.jsonl --metrics elcc --seed 3": "--seed: not read by --metrics elcc; read by cbm, ",
    "score good.jsonl --metrics xferbench --seed 2147483648": "--seed: expected 0 to 2,147,483,647",
    "score good.jsonl --metrics xferbench,num_seeds=2 --seed 2147483647": "num_seeds=2: expected seeds of at most",
    "score reference random --text nowhere.txt": "--text: not read by random; read by human, paren_real\n",
    "score reference no_pretrain --text nowhere.txt": "--text: not read by no_pretrain; read by human, ",
    "score reference paren_synth --seed 99999999999999999999": "--seed: expected 0 to 2,147,483,647, got 9999",
    "translate good.jsonl --pairs x --seed 99999999999999999999": "--seed: expected 0 to 2,147",
    "grammar perm --seed 2147483648": "--seed: expected 0 to 2,147,483,647, got 2147483648\n",
    "compare correlations --paper --metric bogus": "--metric: not read by --paper; read by --translation\n",
    "xtreme --baselines --plot a.svg": "--plot: not read by --baselines; read by CORPUS, --model\n",
    "xtreme --baselines --human nowhere.txt": "--human: not read by --baselines; read by CORPUS\n",
    "xtreme --baselines --seeds 5": "--seeds: not read by --baselines; read by CORPUS, --model\n",
    "xtreme --model bert --human nowhere.txt": "--human: not read by --model; read by CORPUS\n",
    "xtreme --model bert --protocol adapt": "--protocol adapt: needs a corpus; for --model expected one of",
    "xtreme nowhere --tasks udpo": "unknown task 'udpo'; did you mean 'udpos'? choices: ",
    "xtreme --baselines --languages xx": "unknown language 'xx'; choices: ",
    "xtreme nowhere --preset tiny": "unknown preset 'tiny'; ",
    "translate nowhere --pairs nowhere --device gpu": "unknown device 'gpu'; did you mean 'cpu'?",
    "convert nowhere out.csv --to cvs": "unknown form 'cvs'; did you mean 'csv'?",
    "train-game nowhere.csv --metrics topsin": "evaluation.metrics: unknown metric 'topsin'; did you mean",
    "xtreme good.jsonl --plot a.txt": "a.txt: expected the name of a picture, ending in .svg, .pdf, .png\n",
    "icy --protocol metrics --plot a.txt": "a.txt: expected the name of a picture, ending in ",
    "score reference randon": "unknown baseline 'randon'; did you mean 'random'?",
    "score reference human": "human needs a text: give --text FILE",
    "compare nowhere.json": "nowhere.json: ",
    "compare table nowhere --as pdf": "ecsuite compare table: invalid value for '--as': 'pdf' is not one of",
    "data wikipedia --pairs 3": "ecsuite data wikipedia: no such option: --pairs",
    "score good.jsonl --metrics elcc --out a_file/scores.json": "a_file",
}  # fmt: skip


@pytest.mark.parametrize("arguments", MISTAKES, ids=[line[-60:] for line in MISTAKES])
def test_mistake(refused, tmp_path, arguments):
    (tmp_path / "a_file").write_text("")
    (tmp_path / "good.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    (tmp_path / "bad.jsonl").write_text("[1, 2]\n[2.5]\n[-2]\n")
    err = refused(*arguments.split())
    assert err.startswith(MISTAKES[arguments])
    assert not (tmp_path / "runs").exists()
    if "bad.jsonl" in arguments:
        assert err == "bad.jsonl:2: expected a list of non-negative integers, got 2.5 (and 1 more)\n"


USAGE = {
    "train-game disc_tiny --seed x": "ecsuite train-game: invalid value for '--seed': ",
    "train-game": (
        "ecsuite train-game: missing argument 'GAME', such as ecsuite train-game disc_small; see ecsuite train-game "
    ),
    "sweep a.yaml --set training.seed=2": "ecsuite sweep: no such option: --set; write it in the file: `set: {",
    "list topsim": "topsim is a metric: ecsuite list metric topsim\n",
    "list agents": "unknown kind 'agents': agents are listed as senders and receivers: ecsuite list senders",
    "score none --metrics topsim posdis": "posdis: no such file or folder; posdis is a metric: --metrics topsim,posdis",
    "train-game disc_tiny --epoch 3": (
        "ecsuite train-game: no such option: --epoch; did you mean --epochs"  # and others, as typer's version finds
    ),
    "train-game disc_tiny --epochs": "ecsuite train-game: option '--epochs' requires an argument; see ",
    "convert a b c --to csv": "ecsuite convert: got unexpected extra argument",
    "--colour": "ecsuite: no such option: --colour; see ecsuite --help",
    "game": "unknown command 'game'; did you mean 'train-game'? commands: train-game, ",
    "trian-game": "unknown command 'trian-game'; did you mean 'train-game' or 'translate'? commands: ",
    "frobnicate": "unknown command 'frobnicate'; commands: train-game, ",
}  # fmt: skip


@pytest.mark.parametrize("arguments", USAGE)
def test_usage_errors_are_a_line(refused, arguments):
    assert refused(*arguments.split()).startswith(USAGE[arguments])


TYPICAL = {
    "train-game disc_smal": "did you mean 'disc_small'?",
    "train-game nowhere.yaml": "nowhere.yaml: can't be read: No such file or directory; shipped ones: ecsuite",
    "train-game disc_tiny --seed 5 --out other": "choose another folder with --out",
    "train-game disc_tiny --set chanel.kind=soft": ": ecsuite config GAME",
    "train-game disc_tiny --vocab-size 3": "did you mean --set channel.vocab_size=VALUE?",
    "train-game disc_tiny --device cuda": "device cuda: this machine has no CUDA device that torch can use: try auto",
    "show other other --plot curves.svg": "pip install -e '.[plots]'",
    "show runs/none": "runs/none: no such file or folder; shipped ones: ecsuite list game",
    "show runsnone": "unknown game 'runsnone'",
    "score empty.jsonl": "expected one message per line, such as [3, 1, 4]",
    "train-game picture.png": "expected a file that ends in .yaml, a table such as objects.csv or a folder of images; ",
    "score a_file --metrics topsin,": "did you mean 'topsim'?",
}  # fmt: skip


@pytest.fixture(scope="module")
def other_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "other"
    ec.train("disc_tiny", overrides=QUICK, out=folder, device="cpu")
    return folder


@pytest.mark.parametrize("line", TYPICAL)
def test_a_typical_mistake_says_what_to_type(refused, tmp_path, monkeypatch, other_run, line):
    shutil.copytree(other_run, tmp_path / "other")
    (tmp_path / "empty.jsonl").write_text("[]\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "a_file").write_text("")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    before = set(tmp_path.rglob("*"))
    assert TYPICAL[line] in refused(*line.split())
    assert set(tmp_path.rglob("*")) == before


def test_resuming_without_a_run_works_and_says_so(ecsuite):
    settings = [argument for key in QUICK for argument in ("--set", f"{key}={QUICK[key]}")]
    code, _, err = ecsuite("train-game", "disc_tiny", *settings, "--resume", "--out", "new")
    assert code == 0 and "from the beginning" in err


ALIASES = "\n".join(["  - &a0 [x, x, x]", *(f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 8))])
HOSTILE = [
    ("train-game", f"training:\n  seed:\n{ALIASES}\n", "expected at most 100,000 values, got more"),
    ("train-game", f"training: {{seed: {[1] * 9999}}}", "training.seed: expected int, got [1, 1"),
    ("train-game", f"optimizer: {{lr: 0x{'f' * 5000}}}", "optimizer.lr: "),  # and what msgspec of this version says
    ("train-game", f"format: 0x{'f' * 5000}", "format int of a config file is not known"),
    ("cbm", f"rows: [{[1] * 9999}]", "rows[0]: expected keys and values, got [1, 1"),
    ("cbm", f"rows: [{{name: a, base: b, set: {[1] * 9999}}}]", "rows[0]: set: expected keys such as"),
    ("cbm", "rows: [{name: a, base: b, set: {1: 2}}]", "rows[0]: expected keys such as channel.max_len"),
]  # fmt: skip
"""A command, a YAML file, and how the message goes on after the name of the file."""


@pytest.mark.sample(3)
@pytest.mark.parametrize(("command", "text", "message"), HOSTILE)
def test_a_message_is_short_whatever_the_file(refused, tmp_path, command, text, message):
    (tmp_path / "a.yaml").write_text(text)
    err = refused(command, "a.yaml")
    assert re.match(rf"a\.yaml(:\d+)?: {re.escape(message)}", err) and len(err) < 300


def test_a_long_name_is_cut(refused):
    assert refused("train-game", "x" * 5000).startswith(f"unknown game '{'x' * 59}…'; choices: ")


def test_what_the_system_refuses_is_told_with_the_place(ecsuite):
    Path("file.txt").write_text("1 2\n2 1\n")
    for folder, reason in {"/proc/x": "no such file or directory", "file.txt": "not a directory"}.items():
        code, _, err = ecsuite("score", "file.txt", "--metrics", "topsim", "--out", f"{folder}/s.json")
        told = f"{folder}/s.json: can't be written ({reason}); choose another file (--out, --plot)"
        assert (code, err.strip().splitlines()[-1]) == (2, told)
