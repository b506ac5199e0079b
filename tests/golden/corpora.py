"""Eight small corpora on which every metric is held: written by hand or by rule, one of each kind that there is.

None is drawn by the package's own generators, except `grammar`, whose bytes have figures of their own.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from access import run

SENTENCES = """
the old boat is on the river
a small boat is near the old bridge
two men pull the boat to the bank
the river is high after the rain
rain falls on the bridge and on the bank
a man on the bridge sees the small boat
the men wait near the fire until the rain ends
after the rain the river is brown and fast
the fire is small and the wood is wet
a dog runs along the bank to the boat
the dog sees a bird near the water
the bird flies over the bridge
the men carry dry wood to the fire
one man sings and the dog sleeps near the fire
at night the river is still
the boat is tied to the old bridge
the old boat is on the river
in the morning the men cross the river in the small boat
the dog runs over the bridge
nobody waits on the bank
""".strip().splitlines()
"""A text of our own, with the repetitions of human language."""

PAIRS = [
    ("4.7.0", "red.square"), ("4.7.0", "red.square"), ("4.8.0", "red.circle"), ("5.7.0", "blue.square"),
    ("5.8.0", "blue.circle"), ("5.8.2.0", "blue.circle"), ("6.7.0", "green.square"), ("6.8.0", "green.circle"),
    ("6.6.0", "green"), ("4.0", "red"), ("5.0", "blue"), ("7.0", "square"), ("8.4.0", "red.circle"),
    ("2.0", "triangle"), ("6.2.0", "green.triangle"), ("0", ""), ("5.2.0", "blue.triangle"), ("4.8.0", "red.circle"),
]  # fmt: skip
"""Words joined by dots, and concepts likewise, with synonyms, a homonym and an empty phrase."""


def write_text(path: Path) -> Path:
    path.write_text("\n".join(SENTENCES) + "\n")
    return path


def write_lines(path: Path, values: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def write_folder(folder: Path, messages: list[list[int]], meanings: list[Any], **metadata: Any) -> Path:
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", messages)
    write_lines(folder / "meanings.jsonl", meanings)
    files = ("corpus.jsonl", "meanings.jsonl")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    about = {"format": "ecsuite-corpus", "format_version": 1, "eos": 0, "sha256": hashes, **metadata}
    (folder / "metadata.json").write_text(json.dumps(about))
    return folder


def irregular(folder: Path) -> Path:
    """24 meanings of three attributes, each said twice, with words that depend on two and a symbol after EOS."""
    meanings = [list(each) for each in product(range(4), range(3), range(2))] * 2
    rows = [[1 + a, 5 + b, *([9] if a == b else [8 + c]), 0, 7] for a, b, c in meanings]
    rows = [row if number % 5 else row[1:] for number, row in enumerate(rows)]
    named = [{"meaning": [a, b, c], "concepts": [f"c{a}", f"c{4 + b}", f"c{7 + c}"]} for a, b, c in meanings]
    return write_folder(folder / "corpus", rows, named, concept_names=[f"c{number}" for number in range(9)])


def game(folder: Path) -> Path:
    """What agents said after two epochs of `disc_tiny` with two symbols a message, written down once."""
    said = ["22", "11", "13", "42", "33", "33", "33", "33", "55", "15", "13", "15", "22", "11", "13", "12"]
    rows = [[*map(int, message), 0] for message in said]
    meanings = [[a, b] for a, b in product(range(4), range(4))]
    named = [{"meaning": [a, b], "concepts": [f"attribute0={a}", f"attribute1={b}"]} for a, b in meanings]
    return write_folder(folder / "corpus", rows, named)


def features(folder: Path) -> Path:
    """30 feature vectors, no two alike, and messages that tell a half-plane and a sixth of a circle."""
    vectors = [[round((7 * n % 30) / 30 - 0.5, 3), round((11 * n % 30) ** 2 / 900, 3), n / 64] for n in range(30)]
    rows = [[1 + (x > 0), 3 + int(3 * y), *([6] * (z > 0.3)), 0] for x, y, z in vectors]
    return write_folder(folder / "corpus", rows, [{"meaning": vector} for vector in vectors])


def grammar(folder: Path) -> Path:
    """A chain of two grammars: 27 messages of three symbols, without EOS."""
    size = ("--num-attributes", "3", "--num-values", "3", "--word-length", "1", "--seed", "3")
    run("grammar", "rot+perm", *size, "--out", "corpus", folder=folder)
    return folder / "corpus"


def text(folder: Path) -> Path:
    write_lines(folder / "text.jsonl", SENTENCES)
    return folder / "text.jsonl"


def cbm_pairs(folder: Path) -> Path:
    write_lines(folder / "pairs.jsonl", PAIRS)
    return folder / "pairs.jsonl"


def constant(folder: Path) -> Path:
    meanings = [{"meaning": [a, b], "concepts": [f"c{a}", f"d{b}"]} for a, b in product(range(3), range(2))]
    return write_folder(folder / "corpus", [[1, 2, 0]] * 6, meanings)


def empty(folder: Path) -> Path:
    write_lines(folder / "empty.jsonl", [[0], [0], [], [3, 0], [0]])
    return folder / "empty.jsonl"


CORPORA: dict[str, Callable[[Path], Path]] = {
    "irregular": irregular, "game": game, "features": features, "grammar": grammar, "text": text,
    "cbm_pairs": cbm_pairs, "constant": constant, "empty": empty,
}  # fmt: skip
"""By name: each writes its files into a folder, and tells what to score."""
