import gzip
import json
import re
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "own_data.md"
TABLE = PAGE.read_text().partition("## I have")[2].partition("## Games")[0]
COMMANDS = [line for line in re.findall(r"`ecsuite ([^`]+)` \|$", TABLE, re.MULTILINE)]
GRID = list(product(("red", "blue", "green"), ("star", "dot", "box")))
WORDS = dict(zip("red blue green star dot box".split(), "ne lu ka po wa mi".split(), strict=True))
IDS = dict(zip(WORDS, (3, 1, 4, 5, 9, 2), strict=True))


PLACES = list(enumerate((*[WORDS[each] for each in pair], *[IDS[each] for each in pair], *pair) for pair in GRID))
TABLES = {
    "table.csv": ("message,color,shape", "{a} {b},{c},{s}"),
    "lists.csv": ("message,color,shape", '"[{a}, {b}, 0]",{c},{s}'),
    "european.csv": ("message;size;shape", "{a} {b};{a},5;{s}"), "wide.csv": ("m1,m2,color,shape", "{a},{b},{c},{s}"),
    "experiment.csv": ("participant,trial,code,rt,color,shape", "p{third},{n},{a} {b},{time},{c},{s}"),
    "frame.txt": ('"message" "color" "shape"', '"{next}" "{v} {w}" "{c}" "{s}"'),
    "signs.csv": ("message,meaning", "{a}_{b},{c}_{s}"), "typed.csv": ("message,color,shape", "{v}{w},{c},{s}"),
    "pairs.txt": (None, "{c} {s} -> {v} {w}"), "said.txt": (None, "{v} {w}"), "meant.csv": ("color,shape", "{c},{s}"),
    "lab.csv": ("message,L,a", "{v} {w},{a}.5,-{b}.25"), "empty.csv": ("message,color,shape", "{a} {b},{c},{some}"),
    "things.csv": ("shape,color,weight", "{s},{c},{n}"),
    "notes.csv": ("shape,color,note", "{s},{c},seen {fourth} times"),
    "A.csv": ("speaker,message,color,shape", "A,{a} {b},{c},{s}"), "B.csv": (None, "B,{a} {b},{c},{s}"),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    texts = {}
    for name, (header, row) in TABLES.items():
        lines = [] if header is None else [header]
        for n, (v, w, a, b, c, s) in PLACES:
            numbers = {"third": n // 3, "time": n * 7.5, "next": n + 1, "fourth": n % 4, "some": "" if n == 4 else s}
            lines.append(row.format(n=n, v=v, w=w, a=a, b=b, c=c, s=s, **numbers))
        texts[name] = "".join(f"{line}\n" for line in lines)
    texts["speakers.csv"] = texts.pop("A.csv") + texts.pop("B.csv")
    texts["padded.jsonl"] = "[1, 2, 0]\n[1, 2, 3]\n[2, 0, 0]\n"
    ids = [[a, b] for _, (_, _, a, b, *_) in PLACES]
    texts["language.json"] = json.dumps({f"{c} {s}": f"{v} {w}" for _, (v, w, _, _, c, s) in PLACES})
    texts["records.json"] = json.dumps([{"signal": row, "object": row} for row in ids])
    for name, text in texts.items():
        (folder / name).write_text(text)
    np.savez(folder / "messages.npz", message=np.array(ids), sender_input=np.array(ids))
    (folder / "table.csv.gz").write_bytes(gzip.compress(texts["table.csv"].encode()))
    return folder


def test_the_table_has_its_lines():
    assert len(COMMANDS) == 21


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_of_the_table(succeeded, monkeypatch, files, tmp_path, command):
    for file in files.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    out = succeeded(*shlex.split(command))
    if "topsim" in command:
        assert re.search(r"topsim +(1\.000|0\.[1-9])", out), out
