"""The bytes of the corpora of all grammars: SHA-256 of corpus.jsonl and, where there is one, meanings.jsonl.

Bound: none. A grammar draws integers from its own seeded stream, so its bytes are the same on every machine; those
that draw from real-valued probabilities (Zipf-Mandelbrot) compare them with uniform numbers, where a last digit
would have to fall between two draws to matter.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

from access import as_json, run
from comparison import Case
from corpora import write_text

GEOMETRY = ("--num-attributes", "3", "--num-values", "4", "--word-length", "3", "--seed", "7")
CHAINS = ("rot+perm", "shufdet,decides=first", "proj+shuf", "perm+perm")
"""What a name can be beside one grammar: chains, options, the same link twice."""
STREAM = ("--num-symbols", "2000", "--vocab-size", "40", "--seed", "7")
OPTIONS = ("regular,runs=5",)


def corpus_digests(folder: Path, name: str, options: tuple[str, ...]) -> dict[str, str]:
    run("grammar", name, *options, "--out", "corpus", folder=folder)
    names = ("corpus.jsonl", "meanings.jsonl")
    files = [folder / "corpus" / file for file in names if (folder / "corpus" / file).exists()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def text_parentheses(folder: Path) -> dict[str, str]:
    text = write_text(folder / "text.txt")
    return corpus_digests(folder, "text_parentheses", (*STREAM, "--text", str(text)))


def names(folder: Path) -> Any:
    """The grammars that `ecsuite list` names: a new one needs a case here."""
    return sorted(as_json("list", folder=folder)["grammars"])


MEANT = ("concat", "hol", "perm", "proj", "rot", "shufdet", "shuf", "pairsum", *CHAINS)
STREAMS = (
    "zipf_parentheses", "dyck", "shuffle_dyck", "regular", "bag_of_words", "zipf_noise", "uniform_noise", *OPTIONS,
)  # fmt: skip

CLAUSES = "clauses,sov=2,osv=1,marker=0.67+shuf"

CASES = {"names": Case(names), "text_parentheses": Case(text_parentheses)}
CASES |= {name: Case(partial(corpus_digests, name=name, options=GEOMETRY)) for name in MEANT}
CASES |= {name: Case(partial(corpus_digests, name=name, options=STREAM)) for name in STREAMS}
CASES[CLAUSES] = Case(partial(corpus_digests, name=CLAUSES, options=("--num-values", "4", "--seed", "7")))
