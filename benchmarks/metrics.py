"""Time and memory of metrics by the number of messages: wall and CPU seconds of reading and computing, peak memory.

    python benchmarks/metrics.py --sizes 10000 1000000
    python benchmarks/metrics.py --sizes 10000000 --metrics elcc cbm topsim posdis ami --repeats 1
    python benchmarks/metrics.py --sizes 10000 --metrics all --beside OTHER      # OTHER/ecsuite is another version

Makes corpora of four attributes of ten values, messages of 5 to 9 symbols with EOS and noise, and concepts, as games
write them. Each measurement runs in a separate process. With `--beside` another version alternates on the same files,
so that changes in the speed of the machine affect both; its rows are called `other`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import Row, add_json_option, collect, other_version, peak_megabytes, publish, timed

NUM_ATTRIBUTES, NUM_VALUES, NUM_NOISE = 4, 10, 10
METRICS = ["elcc", "cbm", "topsim", "posdis", "ami"]


def write(folder: Path, num_messages: int) -> None:
    """Write the files of a corpus: a symbol an attribute, some replaced, up to four more symbols, and EOS, 0."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    texts = [f"a{attribute}={value}" for attribute in range(NUM_ATTRIBUTES) for value in range(NUM_VALUES)]
    with open(folder / "corpus.jsonl", "w") as messages, open(folder / "meanings.jsonl", "w") as meanings:
        for start in range(0, num_messages, 100_000):
            size = min(100_000, num_messages - start)
            drawn = rng.integers(NUM_VALUES, size=(size, NUM_ATTRIBUTES))
            named = drawn + np.arange(NUM_ATTRIBUTES) * NUM_VALUES
            symbols = np.concatenate([1 + named, rng.integers(1, 51, (size, NUM_NOISE - 6))], axis=1)
            symbols = np.where(rng.random(symbols.shape) < 0.2, rng.integers(1, 51, symbols.shape), symbols)
            ends = rng.integers(NUM_ATTRIBUTES, symbols.shape[1] + 1, size).tolist()
            messages.writelines(
                f"{[*row[:end], 0]}\n" for row, end in zip(symbols.tolist(), ends, strict=True)
            )
            for row, names in zip(drawn.tolist(), named.tolist(), strict=True):
                concepts = ", ".join([f'"{texts[name]}"' for name in names])
                meanings.write(f'{{"meaning": {row}, "concepts": [{concepts}]}}\n')


def measure(folder: Path, names: list[str]) -> list[tuple[str, str, float]]:
    """Read a corpus and compute metrics, in this process."""
    from ecsuite.eval.metrics import find_metric, metric_names
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.views.scorecard import score_corpus
    from ecsuite.formats import read_corpus

    for name in metric_names(names):  # imported before time is taken
        find_metric(name)
    wall, cpu, corpus = timed(lambda: read_corpus(folder / "corpus.jsonl"))
    figures = [("read", "s", wall), ("read, CPU", "s", cpu), ("read, peak", "MB", peak_megabytes())]
    wall, cpu, _ = timed(lambda: score_corpus(corpus, names, Options()))
    return [*figures, ("scores", "s", wall), ("scores, CPU", "s", cpu), ("peak", "MB", peak_megabytes())]


def figures(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, float]]:
    """Measure each size, metric and version in a separate process."""
    packages = {"": Path(__file__).resolve().parents[2]}
    if arguments.beside:
        packages["other "] = other_version(arguments.beside)
    for size in arguments.sizes:
        at = folder / str(size)
        if not (at / "meanings.jsonl").exists():
            write(at, size)
        for _ in range(arguments.repeats):
            for name in arguments.metrics:
                for which, package in packages.items():
                    command = [sys.executable, __file__, "--line", str(at), "--metrics", *name.split(",")]
                    environment = os.environ | {"PYTHONPATH": str(package)}
                    found = subprocess.check_output(command, env=environment, text=True)
                    for what, unit, value in json.loads(found):
                        yield f"{which}{name} of {size}: {what}", unit, value


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[10_000, 1_000_000], help="numbers of messages"
    )
    parser.add_argument("--metrics", nargs="+", default=METRICS, help="a row each; `all`, or several as a,b")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each")
    parser.add_argument("--folder", type=Path, help="folder of the corpora; default: a temporary folder")
    parser.add_argument("--beside", type=Path, help="folder of another version of the package `ecsuite`")
    parser.add_argument("--line", type=Path, help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.line:
        print(json.dumps(measure(arguments.line, arguments.metrics)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        rows: list[Row] = collect(figures(arguments, arguments.folder or Path(temporary)))
    publish(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
