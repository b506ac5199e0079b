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
WORDS = dict(
    zip(("red", "blue", "green", "star", "dot", "box"), ("ne", "lu", "ka", "po", "wa", "mi"), strict=True)
)
IDS = dict(zip(WORDS, (3, 1, 4, 5, 9, 2), strict=True))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    ids = [[IDS[color], IDS[shape]] for color, shape in GRID]
    words = [[WORDS[color], WORDS[shape]] for color, shape in GRID]
    rows = list(zip(ids, words, GRID, strict=True))

    def write(name, header, lines):
        (folder / name).write_text("\n".join([*([header] if header else []), *lines]) + "\n")

    write("table.csv", "message,color,shape", (f"{a} {b},{c},{s}" for (a, b), _, (c, s) in rows))
    write("lists.csv", "message,color,shape", (f'"{[*i, 0]}",{c},{s}' for i, _, (c, s) in rows))
    write("european.csv", "message;size;shape", (f"{a} {b};{a},5;{s}" for (a, b), _, (_, s) in rows))
    write(
        "experiment.csv", "participant,trial,code,rt,color,shape",
        (f"p{n // 3},{n},{a} {b},{n * 7.5},{c},{s}" for n, ((a, b), _, (c, s)) in enumerate(rows)),
    )  # fmt: skip
    write("wide.csv", "m1,m2,color,shape", (f"{a},{b},{c},{s}" for (a, b), _, (c, s) in rows))
    named = (f'"{n}" "{" ".join(w)}" "{c}" "{s}"' for n, (_, w, (c, s)) in enumerate(rows, 1))
    write("frame.txt", '"message" "color" "shape"', named)
    write("signs.csv", "message,meaning", (f"{a}_{b},{c}_{s}" for (a, b), _, (c, s) in rows))
    (folder / "language.json").write_text(json.dumps({f"{c} {s}": " ".join(w) for _, w, (c, s) in rows}))
    write("typed.csv", "message,color,shape", (f"{''.join(w)},{c},{s}" for _, w, (c, s) in rows))
    write("pairs.txt", None, (f"{c} {s} -> {' '.join(w)}" for _, w, (c, s) in rows))
    write("said.txt", None, (" ".join(w) for _, w, _ in rows))
    write("meant.csv", "color,shape", (f"{c},{s}" for _, _, (c, s) in rows))
    (folder / "records.json").write_text(json.dumps([{"signal": i, "object": i} for i in ids]))
    write("padded.jsonl", None, ("[1, 2, 0]", "[1, 2, 3]", "[2, 0, 0]"))
    np.savez(folder / "messages.npz", message=np.array(ids), sender_input=np.array(ids))
    write("lab.csv", "message,L,a", (f"{' '.join(w)},{a}.5,-{b}.25" for (a, b), w, _ in rows))
    write(
        "empty.csv", "message,color,shape",
        (f"{a} {b},{c},{'' if n == 4 else s}" for n, ((a, b), _, (c, s)) in enumerate(rows)),
    )  # fmt: skip
    write(
        "speakers.csv", "speaker,message,color,shape",
        (f"{who},{a} {b},{c},{s}" for who in "AB" for (a, b), _, (c, s) in rows),
    )  # fmt: skip
    (folder / "table.csv.gz").write_bytes(gzip.compress((folder / "table.csv").read_bytes()))
    write("things.csv", "shape,color,weight", (f"{s},{c},{n}" for n, (c, s) in enumerate(GRID)))
    write("notes.csv", "shape,color,note", (f"{s},{c},seen {n % 4} times" for n, (c, s) in enumerate(GRID)))
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
