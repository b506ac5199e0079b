"""Known morphemes found again: F1 of `morphemes` on procedurally made languages, by condition.

    python benchmarks/morphemes.py
    python benchmarks/morphemes.py --grid 20 --seeds 3      # 20 languages of the whole grid of conditions

Languages after Boldt & Mortensen 2025 (arXiv 2510.03439, section 4) with the settings of their program: meanings of
four attributes of four values, and 500 messages; each condition changes one thing. A found morpheme is exact if form
and meaning are right; in the fuzzy F1 it counts by the smaller of the similarity of forms (2 x longest common
subsequence / sum of the lengths) and of meanings (Jaccard) to the true morpheme that it resembles most.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from rows import Row, add_json_option, publish

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.morphemes import csar, morphemes
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.traits import Metric
from ecsuite.eval.statistics.estimates import mean_and_half_width
from ecsuite.runtime.ragged import Ragged

NUM_ATTRIBUTES, NUM_VALUES, NUM_SPARSE = 4, 4, 8

Form = tuple[int, ...]
Meaning = frozenset[int]
Morphemes = set[tuple[Form, Meaning]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """Properties in which languages differ."""

    num_messages: int = 500
    """Messages of the corpus."""
    synonyms: int = 1
    """Forms of a value, each as frequent."""
    longest: int = 1
    """Most symbols of a form; lengths are drawn uniformly."""
    vocab_size: int = 50
    """Symbols that forms of several symbols are made of."""
    polysemy: float = 0
    """Share of forms that are replaced by forms of others."""
    is_shuffled: bool = False
    """Whether forms stand in random order."""
    is_skewed: bool = False
    """Whether the n-th value is n times as frequent as the first (sparse: n times its probability)."""
    noise: float = 0
    """Probability that another symbol without meaning is inserted, again and again."""
    is_sparse: bool = False
    """Whether a meaning is a random set of eight concepts."""
    is_fused: bool = False
    """Whether forms mean random sets of values, not single ones."""


METRICS = {"morphemes": morphemes, "csar": csar}
CONDITIONS = {
    "base": Language(),
    "three synonyms": Language(synonyms=3),
    "polysemy 15 %": Language(polysemy=0.15),
    "noise 50 %": Language(noise=0.5),
    "shuffled": Language(is_shuffled=True),
    "skewed": Language(is_skewed=True),
    "sparse": Language(is_sparse=True),
    "1-4 of 50 symbols": Language(longest=4),
    "1-4 of 10 symbols": Language(longest=4, vocab_size=10),
    "50 messages": Language(num_messages=50),
    "50, 1-4 of 50 symbols": Language(num_messages=50, longest=4),
    "fused": Language(is_fused=True),
}


def speak(language: Language, rng: np.random.Generator) -> tuple[Corpus, Morphemes]:
    """A corpus, and the morphemes that were used in it."""
    meanings = list(_meanings(language, rng))
    forms = _forms(language, rng)
    most = max((symbol for several in forms.values() for form in several for symbol in form), default=0)
    used: Morphemes = set()
    messages = []
    for meaning in meanings:
        parts: list[Form] = []
        left = meaning
        for group, several in forms.items():
            if group <= left:
                left -= group
                form = several[rng.integers(len(several))]
                parts.append(form)
                used.add((form, group))
        for _ in range(rng.geometric(1 - language.noise) - 1):
            parts.insert(rng.integers(len(parts) + 1), (int(rng.integers(most + 1)),))
        if language.is_shuffled:
            parts = [parts[place] for place in rng.permutation(len(parts))]
        messages.append([symbol for part in parts for symbol in part])
    concepts = Ragged.from_rows([sorted(meaning) for meaning in meanings])
    names = tuple(str(number) for number in range(NUM_ATTRIBUTES * NUM_VALUES))
    return Corpus(messages, concepts=concepts, concept_names=names), used


def _meanings(language: Language, rng: np.random.Generator) -> Iterator[Meaning]:
    """Draw the meanings of the messages."""
    if language.is_sparse:
        weights = np.arange(1, NUM_SPARSE + 1) / (NUM_SPARSE * (NUM_SPARSE + 1) / 2)
        drawn = rng.random((language.num_messages, NUM_SPARSE)) < (weights if language.is_skewed else 0.5)
        yield from (frozenset(np.flatnonzero(row).tolist()) for row in drawn if row.any())
        return
    weights = np.arange(1.0, NUM_VALUES + 1) if language.is_skewed else np.ones(NUM_VALUES)
    values = rng.choice(NUM_VALUES, (language.num_messages, NUM_ATTRIBUTES), p=weights / weights.sum())
    for row in (values + np.arange(NUM_ATTRIBUTES) * NUM_VALUES).tolist():
        yield frozenset(row)


def _forms(language: Language, rng: np.random.Generator) -> dict[Meaning, list[Form]]:
    """The forms of each set of values, in the order in which they are said."""
    num_concepts = NUM_SPARSE if language.is_sparse else NUM_ATTRIBUTES * NUM_VALUES
    groups = [frozenset([concept]) for concept in range(num_concepts)]
    if language.is_fused:
        choices = [(None, n) for n in range(NUM_SPARSE)] if language.is_sparse else [
            (None, *range(place * NUM_VALUES, (place + 1) * NUM_VALUES)) for place in range(NUM_ATTRIBUTES)
        ]  # fmt: skip
        groups = [frozenset(each) - {None} for each in product(*choices) if set(each) != {None}]
        groups = [groups[place] for place in rng.permutation(len(groups))]
    num_forms = len(groups) * language.synonyms
    if language.longest == 1:
        all_forms: list[Form] = [(number,) for number in range(num_forms)]
    else:
        symbols = rng.integers(language.vocab_size, size=(num_forms, language.longest)).tolist()
        sizes = rng.integers(1, language.longest + 1, num_forms).tolist()
        all_forms = [tuple(row[:size]) for row, size in zip(symbols, sizes, strict=True)]
    replaced = rng.permutation(num_forms)[: int(num_forms * language.polysemy)].tolist()
    others = [number for number in range(num_forms) if number not in replaced]
    for number in replaced:
        all_forms[number] = all_forms[rng.choice(others)]
    return {
        group: all_forms[place * language.synonyms : (place + 1) * language.synonyms]
        for place, group in enumerate(groups)
    }


def found(corpus: Corpus, metric: Metric = morphemes) -> Morphemes:
    """The inventory that a metric finds."""
    (score,) = metric(corpus, Options())
    return {
        (tuple(map(int, each["form"])), frozenset(map(int, each["meaning"])))
        for each in score.details["inventory"]
    }


def agreement(true: Morphemes, guessed: Morphemes, *, exact: bool) -> tuple[float, float, float]:
    """Precision, recall and F1 of an inventory."""
    if not (true and guessed):
        return 0.0, 0.0, 0.0
    precision, recall = (
        float(np.mean([one in other if exact else _likest(one, other) for one in ours]))
        for ours, other in ((guessed, true), (true, guessed))
    )
    return precision, recall, 2 * precision * recall / (precision + recall) if precision * recall else 0.0


def _likest(morpheme: tuple[Form, Meaning], others: Morphemes) -> float:
    """The highest similarity of a morpheme to one of others."""
    form, meaning = morpheme
    alike = ((other, len(meaning & about) / len(meaning | about)) for other, about in others)
    best = 0.0
    for other, same in alike:
        if same > best:
            best = max(best, min(same, 2 * _common(form, other) / (len(form) + len(other))))
    return best


def _common(first: Form, second: Form) -> int:
    """The length of the longest common subsequence."""
    lengths = [0] * (len(second) + 1)
    for one in first:
        before = 0
        for place, other in enumerate(second, 1):
            kept = lengths[place]
            lengths[place] = before + 1 if one == other else max(kept, lengths[place - 1])
            before = kept
    return lengths[-1]


def grid(size: int) -> dict[str, Language]:
    """Random languages of all combinations of the conditions; polysemous and synonymous ones are not fused."""
    rng = np.random.default_rng(0)
    chosen = {}
    for number in range(size):
        fused = bool(rng.random() < 0.2)  # the share in the grid of the authors' program
        language = Language(
            num_messages=int(rng.choice([50, 500])),
            synonyms=1 if fused else int(rng.choice([1, 3])),
            polysemy=0 if fused else float(rng.choice([0, 0.15])),
            noise=float(rng.choice([0, 0.5])),
            is_shuffled=bool(rng.integers(2)),
            is_skewed=bool(rng.integers(2)),
            is_sparse=bool(rng.integers(2)),
            is_fused=fused,
        )
        forms = [(1, 50), (4, 10), (4, 50)][rng.integers(3)]
        chosen[f"{number}"] = replace(language, longest=forms[0], vocab_size=forms[1])
    return chosen


def main() -> None:
    """Print a row for each condition."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="languages of each condition")
    parser.add_argument("--grid", type=int, help="this many random combinations of all conditions instead")
    parser.add_argument("--metric", default="morphemes", choices=METRICS, help="csar: without our end")
    add_json_option(parser)
    arguments = parser.parse_args()
    languages = {"all combinations": list(grid(arguments.grid).values())} if arguments.grid else {
        name: [language] for name, language in CONDITIONS.items()
    }  # fmt: skip
    rows = []
    if not arguments.json:
        columns = ("exact F1", "fuzzy F1", "precision", "recall")
        print(f"{'':22}" + "".join(f"{name:>16}" for name in columns) + f"{'seconds':>9}")
    for name, several in languages.items():
        began, figures = time.perf_counter(), []
        for language, seed in product(several, range(1, arguments.seeds + 1)):
            corpus, true = speak(language, np.random.default_rng(seed))
            guessed = found(corpus, METRICS[arguments.metric])
            fuzzy = agreement(true, guessed, exact=False)
            figures.append((agreement(true, guessed, exact=True)[2], fuzzy[2], *fuzzy[:2]))
        seconds = (time.perf_counter() - began) / len(figures)
        exact, alike = ([row[column] for row in figures] for column in (0, 1))
        rows += [
            Row(name=f"{name}: {kind}", unit="F1", values=tuple(values), higher_is_better=True)
            for kind, values in (("exact", exact), ("fuzzy", alike))
        ]
        if not arguments.json:
            cells = [mean_and_half_width([row[column] for row in figures]) for column in range(4)]
            spreads = ("" if half is None else f" ± {half:.3f}" for _, half in cells)
            text = "".join(f"{mean:9.3f}{spread:8}" for (mean, _), spread in zip(cells, spreads, strict=True))
            print(f"{name:22}{text}{seconds:9.2f}", flush=True)
    if arguments.json:
        publish(rows, as_json=True)


if __name__ == "__main__":
    main()
