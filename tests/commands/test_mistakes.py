import shlex
from pathlib import Path

import pytest

import ecsuite as ec

FILES = {
    "mine.csv": "message,color,shape\n1 2,red,star\n1 3,red,box\n4 2,blue,star\n", "unread.csv": "a,b\nx,y\nz,w\n",
    "wrong.csv": "shape,color\nstar,green\nring,blue\nbox,red\nbox,blue\n",
    "a_file": "mine", "there.py": "", "corpus.jsonl": "[1, 2]\n",
}  # fmt: skip
MISTAKES = {
    "check ./gone.py:X": "./gone.py: can't be read: No such file or directory",
    "check ./there.py": "./there.py: expected a part of this file, such as ./there.py:Noisy",
    "check gumbel": "gumbel: unknown kind of part, add --kind: play, world, environment, task",
    "check gumbel --kind chanel": "unknown kind 'chanel'; did you mean 'channel'?",
    "check hammin --kind distance": "topsim.message_distance: unknown distance 'hammin'; did you mean",
    "check rsa --kind metric": "needs the agents of a run",
    "cite runs/none": "runs/none: expected a run folder, with a config.yaml or a metadata.json",
    "cite topsin": "unknown game, study, part, metric or run 'topsin'; did you mean 'topsim'?",
    "score mine.csv --out mine.csv": "--out mine.csv: an input of the command: choose another file",
    "score corpus.jsonl --meanings mine.csv --out ./mine.csv": "--out mine.csv: an input of the command",
    "score corpus.jsonl --split letters": "--split letters: corpus.jsonl has messages of symbols, not texts to split",
    "score mine.csv --by color --all": "--all: not read with --by: expected one corpus",
    "score mine.csv corpus.jsonl --all": "--all: not read with several corpora: expected one corpus",
    "report unread.csv --out page.html": "unread.csv: no column of messages among a, b",
    "compare table finished --failed --metrics topsim": "--metrics: not read with --failed",
    "compare table finished --all --metrics topsim": "--all, --metrics: expected one of these",
    "compare finished perm --split letters": "--split: not read by results with scores",
    "config disk_tiny": "did you mean 'disc_tiny'",
    "config paper/zoo_digit": "unknown study 'zoo_digit'; did you mean 'zoo_digits'?",
    "config paper/zoo_digits --set seeds=1": "--set and --diff are for games only; save the study and edit the",
    "evaluate finished --features x.npz": "--features: the world of finished, attributes, has no features of a file",
    "evaluate finished --intervene drop --keep interactions --out kept.parquet": "--intervene, --keep: expected",
    "evaluate finished --objects wrong.csv": "--objects: the world of finished, attributes, has no objects of a file",
    "evaluate finished --reason nope": "--reason: unknown reasoning 'nope'; choices: literal, rsa",
    "evaluate finished --set channel.vocab=9": "--set: unknown key 'channel.vocab'",
    "evaluate finished --set channel.vocab_size=9": "the agents do not fit the changed game: their weights",
    "evaluate finished --set world.num_values=5": "the objects have other attributes or values than training",
    "evaluate nothing": "nothing: not a run folder: it has no config.yaml",
    "grammar": "ecsuite grammar: expected a grammar, such as shufdet",
    "grammar --examples --num-values 1": "--num-values: expected at least 2",
    "grammar --examples --out here": "--out: not used with --examples",
    "grammar --examples --vocab-size 27": "--vocab-size: expected at most 26 letters, got 27",
    "grammar perm --num-attributes 1 --out finished": "finished: has a run, or a corpus of another source, which",
    "icy --model fc1l --save-corpora a_file": "--save-corpora a_file: expected a folder, got a file",
    "icy --model fc1l --seeds 1 --cache a_file --quiet": "a_file",
    "icy --protocol end-to-end --model gru --model lstm --receiver gru --plot a.png": "--plot: expected one model",
    "list channel gumbl": "unknown channel 'gumbl'; did you mean 'gumbel'? choices: soft, ",
    "list chanel": "unknown kind 'chanel'; did you mean 'channels'? choices: channels, ",
    "list game disc": "unknown game 'disc'; did you mean 'disc_",
    "new chanel a.py": "unknown kind 'chanel'; did you mean 'channel'?",
    "new channel a.txt": "a.txt: expected a name for a Python file, such as noisy.py",
    "new channel there.py": "there.py: exists already: choose another name",
    "people": "expected a command: try, play, serve, ", "people play nowhere": "nowhere",
    "people play nowhere --dataset eng": "--dataset", "people play nowhere --role judge": "'judge'",
    "people serve x.yaml --dataset eng": "ecsuite people serve: no such option: --dataset",
    "people statu x": "did you mean 'status'", "people try": "missing argument 'GRAMMAR'",
    "people try concat --role sender": "--role", "people try shufdt --no-browser --port 0": "did you mean 'shufdet'",
    "reproduce --device cpu": "--device: expected a claim", "reproduce --workers 3": "--workers: expected a claim",
    "score corpus.jsonl --metrics ./gone.py:x": "./gone.py: can't be read",
    "score reference human --out new/a.json": "human needs a text",
    "show disc_tiny --as csv": "--as: not read by rounds of a game",
    "show disc_tiny --eos 0": "--eos: not read by rounds of a game",
    "show finished finished": "expected --plot FILE, for learning curves, or one language",
    "show finished --measure accuracy --plot a.svg --as csv": "--as: not read by learning curves",
    "show finished --measure accurracy --plot a.svg": "unknown measure 'accurracy'; did you mean 'accuracy'?",
    "show finished finished --plot a.svg --rounds 3": "--rounds: not read by learning curves",
    "show finished finished --plot a.svg --split letters": "--split: not read by learning curves",
    "show finished finished --plot a.txt": "a.txt: expected the name of a picture, ending in .svg, .pdf, .png",
    "show none finished --plot a.svg": "none: expected a run folder; there is no such folder",
    "translate --pairs pairs.tsv --split letters": "--split: not read by a run without a corpus",
    "xtreme --baselines --eos 0": "--eos: not read by --baselines",
    "xtreme --model encoder --missing leave": "--missing: not read by --model",
}  # fmt: skip


@pytest.mark.parametrize("line", MISTAKES, ids=[line[:60] for line in MISTAKES])
def test_a_mistake_is_told_in_a_line(refused, small_files, line):
    for name, text in FILES.items():
        Path(name).write_text(text)
    before = set(Path().rglob("*"))
    assert MISTAKES[line] in refused(*shlex.split(line))
    assert set(Path().rglob("*")) == before


def test_other_values_than_those_of_training_are_told_with_their_place(refused):
    rows = "".join(f"{shape},{color}\n" for shape in ("star", "ring", "box") for color in ("red", "blue"))
    Path("objects.csv").write_text(f"shape,color\n{rows}")
    Path("wrong.csv").write_text(FILES["wrong.csv"])
    quick = {"training.num_examples": 64, "training.batch_size": 32, "training.num_epochs": 1}
    ec.train("objects.csv", out="run", overrides=quick, note=lambda _: None, device="cpu")
    told = 'wrong.csv: row 2, column "color": expected a training value (blue, red), got green'
    assert told in refused("evaluate", "run", "--objects", "wrong.csv")


def test_a_run_without_a_corpus_says_how_to_go_on(refused, small_files):
    Path("finished/corpus.jsonl").unlink()
    err = refused("show", "finished")
    assert err.startswith("finished: no corpus yet: ") and "--resume" in err
