"""Measures of 200 languages whose structure is known: their means by kind, and how they correlate.

    python benchmarks/known_languages.py --picture docs/pictures/known_languages.svg     # three minutes on one core

A language gives each of 3 or 4 values of 2 or 3 attributes a word of one or two symbols, of an alphabet that attributes
share or not. Each meaning has several messages, about 200 in all. Six kinds:

- `concatenative`: the words, in the order of the attributes;
- `permuted`: the symbols of these messages in another order, the same for all;
- `holistic`: random symbols for each meaning, of the same number and alphabet;
- `free order`: the words in a random order in each message;
- `synonyms`: two or three words per value; each message has one at random;
- `noise`: half to all of the symbols are random.

A share of the symbols, 0 to 0.3 of a language, is random in all others. Spearman's rho is over all languages in which
both measures are defined.
"""

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.eval.views.figures.canvas import prepare_picture, save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.runtime.ragged import Ragged

KINDS = ("concatenative", "permuted", "free order", "synonyms", "holistic", "noise")
NUM_LANGUAGES, NUM_MESSAGES = 200, 200
METRICS = (
    *(
        "topsim",
        "posdis",
        "bosdis",
        "mig",
        "dci",
        "variation",
        "variation,program=celebi",
        "hce",
        "residual_entropy",
    ),
    *(
        "tre7",
        "cbm",
        "context_independence",
        "npmi",
        "word_entropy",
        "ami",
        "ncnpmi",
        "attribute_information",
    ),
    "morphemes",
)
LEFT_OUT = (
    *(f"variation_{name},program=celebi" for name in ("synonymy", "freedom", "entanglement")),
    "ami_arithmetic",
)
"""Scores that nearly equal other scores."""
SHORT = {"variation_homonymy,program=celebi": "variation_homonymy, CELEBI"}


def language(seed: int) -> tuple[str, Corpus]:
    """Language of the given kind."""
    kind, rng = KINDS[seed % len(KINDS)], np.random.default_rng([12, seed])
    num_attributes, num_values = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    length, is_shared, num_words = int(rng.integers(1, 3)), rng.random() < 0.5, int(rng.integers(2, 4))
    noise = rng.uniform(0.5, 1) if kind == "noise" else rng.uniform(0, 0.3)
    needed = num_values * (num_words if kind == "synonyms" else 1)
    size = needed if length == 1 else needed // 2 + 1
    every = list(product(range(size), repeat=length))
    words = np.array([  # (num_attributes, needed, length)
        rng.permutation(every)[:needed] + (0 if is_shared else size * each) for each in range(num_attributes)
    ])  # fmt: skip
    whole = np.array(list(product(range(num_values), repeat=num_attributes)))
    row = np.repeat(np.arange(len(whole)), max(1, round(NUM_MESSAGES / len(whole))))
    meanings = whole[row]
    chosen = meanings + num_values * (rng.integers(0, num_words, meanings.shape) if kind == "synonyms" else 0)
    said = words[np.arange(num_attributes), chosen]  # (num_messages, num_attributes, length)
    if kind == "free order":
        said = np.take_along_axis(said, rng.random(meanings.shape).argsort(axis=1)[:, :, None], axis=1)
    symbols, num_symbols = said.reshape(len(row), -1), int(words.max()) + 1
    if kind == "permuted":
        symbols = symbols[:, rng.permutation(symbols.shape[1])]
    if kind == "holistic":
        symbols = rng.integers(0, num_symbols, (len(whole), symbols.shape[1]))[row]
    random = rng.integers(0, num_symbols, symbols.shape)
    symbols = np.where(rng.random(symbols.shape) < noise, random, symbols)
    concepts = Ragged.from_rows((meanings + num_values * np.arange(num_attributes)).tolist())
    return kind, Corpus(symbols.tolist(), meanings=meanings, concepts=concepts)


def values_of(corpus: Corpus) -> dict[str, float]:
    """The value of each measure, NaN where it is undefined."""
    with few_draws():
        scores = [score for name in METRICS for score in find_metric(name)(corpus)]
    return {
        SHORT.get(each.name, each.name): float("nan") if each.value is None else each.value
        for each in scores
        if each.name not in LEFT_OUT
    }


def correlations(table: np.ndarray) -> np.ndarray:
    """Spearman's rho of each pair of columns, over the rows in which both are defined."""
    number = table.shape[1]
    found = np.eye(number)
    for one in range(number):
        for other in range(one):
            both = table[np.isfinite(table[:, [one, other]]).all(axis=1)][:, [one, other]]
            found[one, other] = found[other, one] = spearmanr(*both.T).statistic
    return found


def main() -> None:
    """Print the means, and draw the correlations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", type=int, default=NUM_LANGUAGES)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path, help="file for the correlations")
    arguments = parser.parse_args()
    if arguments.picture is not None:
        prepare_picture(arguments.picture)
    kinds, rows = [], []
    for seed in range(arguments.languages):
        kind, corpus = language(seed)
        kinds.append(kind)
        rows.append(values_of(corpus))
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    rho = correlations(table)
    distance = np.clip(1 - np.abs(rho), 0, None)
    order = leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    print("| measure |", " | ".join(KINDS), "|\n|---|" + "---|" * len(KINDS))
    for name, column in zip(names, table.T, strict=True):
        means = [np.nanmean(column[np.array(kinds) == kind]) for kind in KINDS]
        print(f"| `{name}` |", " | ".join(f"{mean:.2f}" for mean in means), "|")
    if arguments.json is not None:
        found = {
            names[one]: {names[other]: round(float(rho[one, other]), 3) for other in order} for one in order
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.picture is not None:
        ordered = [names[place] for place in order]
        texts = [
            [f"{value:.1f}".replace("0.", ".").replace("-", "\N{MINUS SIGN}") for value in row]
            for row in rho[order][:, order]
        ]
        figure = heat_map(
            rho[order][:, order], ordered, ordered, texts=texts, limits=(-1, 1), scale="Spearman's rho",
            title="Correlations of measures over 200 languages of known structure",
        )  # fmt: skip
        save(figure, arguments.picture)


if __name__ == "__main__":
    main()
