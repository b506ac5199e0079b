"""How much of an XferBench score is the size of the corpus? Scores of languages that differ in their size alone.

Uniform noise has nothing to learn: what its score gains with fewer symbols is due to repetition. Zipfian parentheses
have structure. A seed draws the corpus and the initial weights.

    python benchmarks/xferbench_size.py --sizes 12500 50000 200000 1000000 --seeds 1 2
    python benchmarks/xferbench_size.py --sources uniform_noise --num-types 11 --sizes 12500 110000 250000
"""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from rows import add_json_option, collect, publish

from ecsuite.eval.metrics.score import Options
from ecsuite.eval.xferbench.metric import score_source
from ecsuite.eval.xferbench.presets import XferBenchOptions
from ecsuite.grammars import baselines

SOURCES = {"uniform_noise": baselines.uniform_noise, "zipf_parentheses": baselines.zipf_parentheses}


def figures(
    sources: Sequence[str], sizes: Sequence[int], seeds: Sequence[int], num_types: int, preset: str
) -> Iterator[tuple[str, str, float]]:
    """The score of each row, nats per token."""
    for seed in seeds:
        for name in sources:
            for size in sizes:
                corpus = SOURCES[name](size, np.random.default_rng(seed), num_types=num_types)
                score = score_source(corpus, Options(seed=seed), XferBenchOptions(preset=preset))
                if score.value is not None:
                    yield f"{name}, {num_types:,} types, {size:,} symbols", "nats", score.value


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--sizes", nargs="+", type=int, required=True, help="numbers of symbols")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--num-types", type=int, default=990, help="different symbols")
    parser.add_argument("--preset", default="mini")
    add_json_option(parser)
    given = parser.parse_args()
    rows = figures(given.sources, given.sizes, given.seeds, given.num_types, given.preset)
    publish(collect(rows), as_json=given.json)


if __name__ == "__main__":
    main()
