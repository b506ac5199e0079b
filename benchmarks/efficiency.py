"""Efficiency: do intervals cover, and where are the languages of the World Color Survey?

    python benchmarks/efficiency.py coverage
    python benchmarks/efficiency.py colours     # needs `ecsuite data wcs`; keeps the bound of the colours

Coverage is that of the mean score over corpora of the same size, of a language of 16 meanings and five words that are
drawn once: messages drawn one by one, and speakers who each have their own version of the language.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.downloads.wcs import corpus_of
from ecsuite.eval.metrics.efficiency import EfficiencyOptions, efficiency
from ecsuite.eval.metrics.information_bound import bound_of, fit
from ecsuite.eval.metrics.score import Options
from ecsuite.files.data_folder import data_folder
from ecsuite.runtime.provenance import processor
from ecsuite.spaces.colour import survey
from ecsuite.spaces.kinds import SpaceOptions

MEANINGS = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1).reshape(-1, 2)
OPTIONS = EfficiencyOptions(scale=0.7)
NUM_CORPORA = 200
CONCENTRATION = 3
"""Concentration of a speaker's shares of words around the shares of the language."""


def corpus(encoder: np.ndarray, rng: np.random.Generator, *, each: int = 0, speakers: int = 0) -> Corpus:
    """Messages drawn one by one, `each` a meaning on average, or one about each meaning by every speaker."""
    if speakers:
        meanings = np.tile(np.arange(16), speakers)
        shares = [rng.dirichlet(CONCENTRATION * row + 1e-3) for _ in range(speakers) for row in encoder]
    else:
        meanings = np.concatenate([np.arange(16), rng.integers(0, 16, 16 * each - 16)])
        shares = list(encoder[meanings])
    words = [[1 + rng.choice(5, p=of_meaning)] for of_meaning in shares]
    columns = {"speaker": np.repeat(np.arange(speakers), 16)} if speakers else {}
    return Corpus(words, meanings=MEANINGS[meanings], columns=columns)


def coverage() -> list[dict]:
    """The share of intervals that hold the mean score, and its bias with and without correction, by kind of corpus."""
    rng = np.random.default_rng(0)
    encoder = rng.dirichlet(np.full(5, 0.4), 16)
    space = SpaceOptions(scale=OPTIONS.scale).make(MEANINGS)
    truth = fit(space, bound_of(space), encoder)
    true = {
        "efficiency_loss": truth.loss,
        "complexity": truth.complexity,
        "semantic_accuracy": truth.accuracy,
        "optimal_distance": truth.distance,
    }
    rows = []
    for sizes in ({"each": 10}, {"each": 40}, {"speakers": 6}, {"speakers": 25}):
        drawn = [efficiency(corpus(encoder, rng, **sizes), Options(), OPTIONS) for _ in range(NUM_CORPORA)]
        for of_score in zip(*drawn, strict=True):
            values = np.array([score.value for score in of_score])
            ends = np.array([score.ci95 for score in of_score])
            held = (ends[:, 0] <= values.mean()) & (values.mean() <= ends[:, 1])
            width = float(np.ptp(ends, axis=1).mean() / (2 * 1.96 * values.std(ddof=1)))
            name = of_score[0].name
            biases = {"bias": float(values.mean() - true[name])}
            if "corrected" in of_score[0].details:
                corrected = np.mean([score.details["corrected"] for score in of_score])
                biases["corrected_bias"] = float(corrected - true[name])
            rows.append({**sizes, "score": name, "coverage": float(held.mean()), "width": width, **biases})
    return rows


def colours() -> list[dict]:
    """The place of each language, and the mean place of its turned ones."""
    rows = []
    for language in survey(data_folder("wcs")):
        start = time.process_time()
        scores = efficiency(corpus_of(language), Options(), EfficiencyOptions(space="colour"))
        found = {
            score.name: [score.value, score.chance.level if score.chance else None, *score.ci95]
            for score in scores
        }
        seconds = time.process_time() - start
        rows.append(
            {"language": language.name, "beta": scores[0].details["beta"], **found, "seconds": seconds}
        )
    for name in ("efficiency_loss", "optimal_distance"):
        table = np.array([row[name][:2] for row in rows], float)
        nearer, number = int((table[:, 0] < table[:, 1]).sum()), int(np.isfinite(table[:, 1]).sum())
        means, spreads = np.nanmean(table, 0).round(3), np.nanstd(table, 0).round(3)
        print(f"{name}: {means} ± {spreads}, {nearer} of {number} that have turned ones nearer")
    return rows


def main() -> None:
    """Run one part, and keep its rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["coverage", "colours"])
    part = parser.parse_args().part
    rows = coverage() if part == "coverage" else colours()
    file = Path(__file__).parent / "results" / f"efficiency_{part}.json"
    file.write_text(json.dumps({"processor": processor(), "rows": rows}, indent=1) + "\n")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
