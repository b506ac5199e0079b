"""Concept Best Matching (Carmeli et al. 2024): its program, and its definition."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.benchmarks.peers.languages import noisy
from ecsuite.benchmarks.peers.rows import Programs, Row
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm import cbm, cbm_types
from ecsuite.eval.metrics.score import Options
from ecsuite.runtime.ragged import Ragged

NAME = "cbm"
SAMPLE = "comm_results.jsonl"
"""The sample in its repository."""
CODE = """
import types
sys.modules.setdefault("jsonlines", types.ModuleType("jsonlines"))
from concept_best_match import ConceptBestMatch
result = [
    {key: value for key, value in ConceptBestMatch(rows, **flags).calc_best_match().items() if key != "Match_mapping"}
    for rows, flags in data
]
"""
NUM_ORDERS = 20


def rows(programs: Programs) -> Iterator[Row]:
    """Its rows; only with the program, as two are about its flags."""
    if not programs.has(NAME) or programs.folder is None:
        return
    sample = _read(programs.folder / NAME / SAMPLE)
    types = cbm_types(_corpus(sample, ends=True), Options())[0].value
    default, kept = _run(programs, [(sample, {}), (sample, {"words_eos": False})])
    yield _row("words are tokens, sets in the paper", "its sample of 1,000 messages, CBM", default, types)
    yield _row(
        "EOS is kept if the command has two arguments",
        "the same, CBM",
        kept,
        cbm(_corpus(sample, ends=True), Options())[0].value,
    )

    language = noisy(num_attributes=3, noise=0.5)
    assert language.concepts is not None
    names = language.concept_names
    pairs = [
        [".".join(map(str, message)), ".".join([*(names[each] for each in phrase), "</s>"])]
        for message, phrase in zip(language.messages, language.concepts, strict=True)
    ]
    flags = {"words_eos": False, "concepts_eos": True}
    plain = [[message, phrase.removesuffix(".</s>")] for message, phrase in pairs]
    swapped, right = _run(programs, [(pairs, flags), (plain, {"words_eos": False})])
    yield _row(
        "the flag for the end of concepts drops the first", "500 messages, 15 concepts, half noise, CBM", swapped,
        float(right["Match_score"]),
    )  # fmt: skip

    few = sample[:40]
    rng = np.random.default_rng(0)
    orders = [few, *([few[place] for place in rng.permutation(len(few))] for _ in range(NUM_ORDERS))]
    found = _run(programs, [(order, {}) for order in orders])
    for key, what in (("Unmatched_score", "unmatched"), ("Recall", "recall")):
        values = [float(each[key]) for each in found]
        yield _row(
            "ties are broken by the order of rows",
            f"40 messages of its sample in {NUM_ORDERS} orders, {what}",
            f"{min(values):.3f} to {max(values):.3f}",
            "`tied` is told",
        )
    pairs = [["1.0", "a"], ["1.0", "b"], ["2.0", "c"], ["3.0", "c"]] * 10
    yield _row(
        "a concept paired with weight 0 counts as matched",
        "40 messages, one word for two concepts and two for one, unmatched",
        float(_run(programs, [(pairs, {})])[0]["Unmatched_score"]),
        cbm(_corpus(pairs, ends=True), Options())[0].details["unmatched"],
    )


def _read(file: Path) -> list[list[str]]:
    return [
        list(row.values()) if isinstance(row, dict) else row
        for row in map(json.loads, file.read_text().splitlines())
    ]


def _corpus(pairs: list[list[str]], *, ends: bool) -> Corpus:
    """The corpus of rows of a message and a phrase, each of symbols joined by dots."""
    texts = [(message.split("."), phrase.split(".")) for message, phrase in pairs]
    words = {
        word: number
        for number, word in enumerate(dict.fromkeys(each for message, _ in texts for each in message))
    }
    concepts = {
        name: number
        for number, name in enumerate(dict.fromkeys(each for _, phrase in texts for each in phrase))
    }
    return Corpus(
        [[words[each] for each in message] for message, _ in texts],
        eos=words["0"] if ends else None,
        concepts=Ragged.from_rows([[concepts[each] for each in phrase] for _, phrase in texts]),
        concept_names=tuple(concepts),
    )


def _run(programs: Programs, data: list[tuple[Any, dict[str, bool]]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = programs.run(NAME, CODE, data)
    return found


def _row(defect: str, measured: str, theirs: Any, right: Any) -> Row:
    value = float(theirs["Match_score"]) if isinstance(theirs, dict) else theirs
    return Row(program="CBM", defect=defect, measured=measured, theirs=value, right=right, is_run=True)
