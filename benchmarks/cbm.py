"""Speed of concept best matching: seconds per part, and the ratio to the authors' program if given.

    python benchmarks/cbm.py
    python benchmarks/cbm.py --utterances 10000 --program concept_best_match.py

The second command also runs https://github.com/bcarmeli/cbm on the same synthetic corpus and compares the counts.
Times are CPU seconds of one thread, the minimum of several runs, to reduce the effect of other processes.
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
from rows import Row, add_json_option, publish

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm import cbm, cbm_types, sensitivity, translate
from ecsuite.eval.metrics.score import Options
from ecsuite.runtime.ragged import Ragged


def make_corpus(num_utterances: int, num_words: int, num_concepts: int, length: int, phrase: int) -> Corpus:
    """Phrases of different concepts; half of the words name one of them, half are drawn by Zipf's law."""
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
    """CPU seconds of the fastest run, and its result."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def load_program(path: Path) -> Any:
    """The authors' class; `jsonlines`, which it only needs to read files, may be missing."""
    sys.modules.setdefault("jsonlines", ModuleType("jsonlines"))
    spec = util.spec_from_file_location("concept_best_match", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: expected a Python file")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ConceptBestMatch


def main() -> None:
    """Measure, and compare with the authors' program if given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--utterances", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=4_000, help="maximum number of different words")
    parser.add_argument("--concepts", type=int, default=50)
    parser.add_argument("--length", type=int, default=4, help="words per message")
    parser.add_argument("--phrase", type=int, default=4, help="concepts per phrase")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs; the fastest counts")
    parser.add_argument("--program", type=Path, help="the authors' concept_best_match.py")
    add_json_option(parser)
    arguments = parser.parse_args()
    corpus = make_corpus(
        arguments.utterances, arguments.words, arguments.concepts, arguments.length, arguments.phrase
    )

    if arguments.json:
        parts = {
            "counting and matching": lambda: translate(corpus),
            "cbm": lambda: cbm(corpus, Options()),
            "cbm_types": lambda: cbm_types(corpus, Options()),
            "sensitivity": lambda: sensitivity(corpus),
        }
        rows = [
            Row(name=name, unit="s", values=tuple(fastest(part, 1)[0] for _ in range(arguments.repeats)))
            for name, part in parts.items()
        ]
        publish(rows, as_json=True)
        return

    seconds, _ = fastest(lambda: translate(corpus), arguments.repeats)
    print(f"counting and matching    {seconds:7.3f} s")
    whole, (score,) = fastest(lambda: cbm(corpus, Options()), arguments.repeats)
    counts = score.details["counts"]
    print(f"cbm, everything          {whole:7.3f} s, including {len(score.chance.draws)} permutations")
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
    program_seconds, results = fastest(lambda: program(rows, words_eos=False).calc_best_match(), 1)
    names = {"good": "Good_edges", "ambiguous": "Ambiguous_edges", "paraphrase": "Paraphrase_edges"}
    names |= {"unmatched": "Unmatched_concepts", "total_edges": "Total_edges"}
    differing = {key: results[name] for key, name in names.items() if results[name] != counts[key]}
    if differing and not score.details["tied"]:
        raise SystemExit(f"expected the counts of the program, {differing}, got {counts}")
    print(f"the authors' program     {program_seconds:7.3f} s, same counts: {not differing}")
    ratios = program_seconds / seconds, program_seconds / whole
    print(f"ratio                    {ratios[0]:7.1f} x for the same part, {ratios[1]:.1f} x for everything")


if __name__ == "__main__":
    main()
