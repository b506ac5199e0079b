"""Does XferBench at preset mini rank corpora as it should? Prints the ladder, its gaps and its noise.

Sources, from what should help most to what should hurt: human text (where a folder of texts is given, its
`fr`), Zipfian parentheses, no pretraining, uniform noise. Targets: the embedded languages, and the folder's
other texts. With `--out`, a run that was stopped goes on where it was.

    python benchmarks/xferbench_mini.py --texts ../shared/data/text --out ladder.jsonl
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.xferbench.presets import PRESETS, Preset
from ecsuite.eval.xferbench.targets import Text, embedded_texts, encode, read_texts, shuffled, train_bpe
from ecsuite.eval.xferbench.transfer import transfer
from ecsuite.grammars.baselines import uniform_noise, zipf_parentheses

TARGETS = ("da", "eu", "fa", "fi", "he", "id", "ja", "kk", "ro", "ur")
"""The ten target languages of the paper."""


def human(text: Text, preset: Preset) -> Corpus:
    """A text as a corpus: BPE tokens of as many of its lines as the preset reads, a message a line."""
    lines = shuffled(text.lines)
    tokenizer = train_bpe(lines, preset.bpe_size)
    rows: list[list[int]] = []
    num_tokens = 0
    for row in encode(tokenizer, lines):
        rows.append(row)
        num_tokens += len(row)
        if num_tokens >= preset.pretrain_tokens:
            break
    return Corpus(messages=Ragged.from_rows(rows))


def sources(texts: dict[str, Text], preset: Preset) -> dict[str, Callable[[int], Corpus | None]]:
    """What to pretrain on, by name, as functions of the seed."""
    size, num_types = preset.pretrain_tokens, preset.bpe_size
    ladder: dict[str, Callable[[int], Corpus | None]] = {
        "parentheses": lambda seed: zipf_parentheses(size, np.random.default_rng(seed), num_types=num_types),
        "none": lambda seed: None,
        "uniform": lambda seed: uniform_noise(size, np.random.default_rng(seed), num_types=num_types),
    }
    return {"French": lambda seed: human(texts["fr"], preset)} | ladder if "fr" in texts else ladder


def table(values: dict[str, list[float]]) -> str:
    """Mean and noise of each source, and its gap to the source above as such and in standard deviations."""
    lines = [f"{'source':12} {'mean':>7} {'sd':>7} {'gap':>7} {'gap/sd':>7}  seeds"]
    above: list[float] = []
    for name, scores in values.items():
        sd = f"{np.std(scores, ddof=1):7.4f}" if len(scores) > 1 else f"{'':7}"
        gap = f"{np.mean(scores) - np.mean(above):7.4f}" if above else f"{'':7}"
        ratio = f"{'':7}"
        if above and len(scores) > 1:
            pooled = np.sqrt((np.var(scores, ddof=1) + np.var(above, ddof=1)) / 2)
            ratio = f"{(np.mean(scores) - np.mean(above)) / pooled:7.1f}"
        seeds = " ".join(f"{score:.4f}" for score in scores)
        lines.append(f"{name:12} {np.mean(scores):7.4f} {sd} {gap} {ratio}  {seeds}")
        above = scores
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every source on every kind of target for every seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, help="folder of da.txt.gz, fr.txt.gz …")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="which of its texts are targets")
    parser.add_argument("--kinds", nargs="+", default=["embedded", "texts"], choices=["embedded", "texts"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, help="append each result to this JSON Lines file")
    options = parser.parse_args(arguments)

    preset = PRESETS["mini"]
    texts = {text.name: text for text in read_texts(options.texts)} if options.texts else {}
    kinds = {
        "embedded": embedded_texts(preset),
        "texts": [texts[name] for name in options.targets if name in texts],
    }
    records: list[dict[str, Any]] = []
    if options.out and options.out.exists():
        records = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {(record["kind"], record["source"], record["seed"]): record["mean"] for record in records}

    for kind in options.kinds:
        if not kinds[kind]:
            continue
        values: dict[str, list[float]] = {}
        for seed in options.seeds:
            for name, make in sources(texts, preset).items():
                if (kind, name, seed) not in done:
                    start = time.perf_counter()
                    result = transfer(make(seed), kinds[kind], preset, seed)
                    seconds = round(time.perf_counter() - start, 1)
                    print(f"{kind} {name} seed {seed}: {result.mean:.4f} in {seconds} s", flush=True)
                    done[kind, name, seed] = result.mean
                    if options.out:
                        record = {"kind": kind, "source": name, "seed": seed, "mean": result.mean}
                        with options.out.open("a") as file:
                            record |= {"by_target": result.by_target, "seconds": seconds}
                            file.write(json.dumps(record) + "\n")
                values.setdefault(name, []).append(done[kind, name, seed])
        print(f"\npreset {preset.name}, {kind}: {', '.join(text.name for text in kinds[kind])}")
        print(table(values), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
