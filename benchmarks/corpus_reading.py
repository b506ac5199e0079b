"""Speed of reading a corpus: MB/s, symbols/s, the ratio to `json.loads` line by line, and peak memory.

    python benchmarks/corpus_reading.py --symbols 10000000

writes messages of 1 to 19 symbols to a temporary folder and reads them, each reader in a separate process.
Times are CPU seconds of one thread, so that other load on the machine has little influence.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rows import Row, add_json_option, publish

from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats import read_corpus
from ecsuite.formats.directory import message_lines
from ecsuite.runtime.ragged import Ragged


def make_corpus(num_symbols: int, vocab_size: int) -> Ragged:
    """Messages of 1 to 19 uniformly drawn symbols, about `num_symbols` in total."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 20, size=num_symbols // 10)
    values = rng.integers(0, vocab_size, size=lengths.sum(), dtype=np.int32)
    return Ragged.from_lengths(values, lengths)


def read_with_json(path: Path) -> int:
    """`json.loads` line by line, discarding the result: a lower bound for readers in pure Python."""
    with open(path) as file:
        return sum(len(json.loads(line)) for line in file)


def read_with_ecsuite(path: Path) -> int:
    """`read_corpus`, which stores all symbols."""
    return len(read_corpus(path).messages.values)


def main() -> None:
    """Measure each reader in a separate process, so that peak memory is separate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--symbols", type=int, default=10_000_000, help="number of symbols to read")
    parser.add_argument("--vocab-size", type=int, default=100, help="number of different symbols")
    parser.add_argument("--repeats", type=int, default=3, help="number of readings; the fastest counts")
    parser.add_argument("--reader", choices=["ecsuite", "json"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.reader:
        read = {"json": read_with_json, "ecsuite": read_with_ecsuite}[arguments.reader]
        times = []
        for _ in range(arguments.repeats):
            start = time.process_time()
            num_symbols = read(arguments.file)
            times.append(time.process_time() - start)
        print(num_symbols, *times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        messages = make_corpus(arguments.symbols, arguments.vocab_size)
        start = time.process_time()
        write_atomically(path, message_lines(messages))
        seconds = {"writing": time.process_time() - start}
        megabytes = path.stat().st_size / 1e6
        num_written = len(messages.values)
        rows = [Row(name="writing", unit="s", values=(seconds["writing"],))]
        if not arguments.json:
            print(
                f"{num_written / 1e6:.1f} M symbols, {len(messages) / 1e6:.2f} M messages, {megabytes:.0f} MB"
            )
            print(f"writing  {megabytes / seconds['writing']:6.0f} MB/s")
        del messages
        for reader in ("json", "ecsuite"):
            command = [sys.executable, __file__, "--reader", reader, "--file", str(path)]
            command += ["--repeats", str(arguments.repeats)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            num_read, *times, peak = map(float, output.split())
            seconds[reader] = min(times)
            rows.append(Row(name=f"reading, {reader}", unit="s", values=tuple(times)))
            rows.append(Row(name=f"peak memory, {reader}", unit="GiB", values=(peak,)))
            if num_read != num_written:
                raise SystemExit(f"{reader} read {num_read:.0f} symbols, not {num_written}")
            if arguments.json:
                continue
            rate = megabytes / seconds[reader], num_read / seconds[reader] / 1e6
            print("{:8s} {:6.0f} MB/s, {:5.1f} M symbols/s,".format(reader, *rate), end=" ")
            print(f"{seconds[reader]:.2f} s, peak memory {peak:.2f} GiB")
        if arguments.json:
            publish(rows, as_json=True)
            return
        print(f"ratio    {seconds['json'] / seconds['ecsuite']:.1f} x json.loads line by line")


if __name__ == "__main__":
    main()
