"""How fast concept best matching is: seconds a part, and the ratio to the authors' program where it is at hand.

    python benchmarks/cbm.py
    python benchmarks/cbm.py --utterances 10000 --program concept_best_match.py

The second runs https://github.com/bcarmeli/cbm beside ours on the same made-up corpus and compares the counts.
Times are CPU seconds of one thread, the fastest of some runs, so that other work on the machine counts little.
"""

import argparse
import sys
import time
from collections.abc import Callable
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.cbm import cbm, cbm_types
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.translation_graph import translate


def make_corpus(num_utterances: int, num_words: int, num_concepts: int, length: int, phrase: int) -> Corpus:
    """Phrases of different concepts; half of the words name one of them, half are Zipf's noise."""
    rng = np.random.default_rng(0)
    concepts = rng.random((num_utterances, num_concepts)).argsort(axis=1)[:, :phrase]
    share = 1 / np.arange(1, num_words + 1)
    noise = rng.choice(num_words, (num_utterances, length), p=share / share.sum())
    named = concepts[:, rng.integers(0, phrase, length)] % num_words
    words = np.where(rng.random(noise.shape) < 0.5, named, noise)

    def ragged(rows: Any) -> Ragged:
        return Ragged.from_lengths(rows.astype(np.int32).ravel(), np.full(len(rows), rows.shape[1]))

    return Corpus(messages=ragged(words), concepts=ragged(concepts))


def fastest(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """CPU seconds of the fastest run, and what it gave."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def load_program(path: Path) -> Any:
    """The authors' class; `jsonlines`, which it needs for reading files alone, may be missing."""
    sys.modules.setdefault("jsonlines", ModuleType("jsonlines"))
    spec = util.spec_from_file_location("concept_best_match", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: expected a Python file")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ConceptBestMatch


def main() -> None:
    """Measure, and compare where the authors' program is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--utterances", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=4_000, help="how many different ones at most")
    parser.add_argument("--concepts", type=int, default=50)
    parser.add_argument("--length", type=int, default=4, help="words a message")
    parser.add_argument("--phrase", type=int, default=4, help="concepts a phrase")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of how many runs counts")
    parser.add_argument("--program", type=Path, help="the authors' concept_best_match.py")
    arguments = parser.parse_args()
    corpus = make_corpus(
        arguments.utterances, arguments.words, arguments.concepts, arguments.length, arguments.phrase
    )

    seconds, _ = fastest(lambda: translate(corpus), arguments.repeats)
    print(f"counting and matching    {seconds:7.3f} s")
    whole, (score,) = fastest(lambda: cbm(corpus, Options()), arguments.repeats)
    counts = score.details["counts"]
    print(f"cbm, everything          {whole:7.3f} s, of it {score.details['permutations']} permutations")
    types, _ = fastest(lambda: cbm_types(corpus, Options()), arguments.repeats)
    print(f"cbm_types, everything    {types:7.3f} s")
    curves, points = fastest(lambda: sensitivity(corpus), arguments.repeats)
    print(f"sensitivity              {curves:7.3f} s, {len(points['sizes'])} points")
    print(f"{counts['unique_words']:,} words, {counts['unique_concepts']} concepts, score {score.value:.4f}")
    if arguments.program is None:
        return

    rows = [
        [".".join(map(str, corpus.messages[i])), ".".join(map(str, corpus.concepts[i]))]
        for i in range(len(corpus.messages))
    ]
    program = load_program(arguments.program)
    theirs, results = fastest(lambda: program(rows, words_eos=False).calc_best_match(), 1)
    names = {"good": "Good_edges", "ambiguous": "Ambiguous_edges", "paraphrase": "Paraphrase_edges"}
    names |= {"unmatched": "Unmatched_concepts", "total_edges": "Total_edges"}
    differing = {key: results[name] for key, name in names.items() if results[name] != counts[key]}
    if differing and not score.details["tied"]:
        raise SystemExit(f"the program counts {differing}, we {counts}")
    print(f"the authors' program     {theirs:7.3f} s, same counts: {not differing}")
    print(f"ratio                    {theirs / seconds:7.1f} x for the same, {theirs / whole:.1f} x with all")


if __name__ == "__main__":
    main()
