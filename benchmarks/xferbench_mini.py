"""Does XferBench at preset mini rank corpora as it should? Prints the ladder, its gaps and its noise.

Sources, from what should help most to what should hurt: human text (where a folder of texts is given, its
`fr`), Zipfian parentheses, no pretraining, uniform noise. Targets: the embedded languages, and the folder's
other texts.

    python benchmarks/xferbench_mini.py --texts ../shared/data/text
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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


def sources(
    texts: dict[str, Text], preset: Preset
) -> dict[str, Callable[[np.random.Generator], Corpus | None]]:
    """What to pretrain on, by name; each seed draws another sample of the random ones."""
    size, num_types = preset.pretrain_tokens, preset.bpe_size
    ladder: dict[str, Callable[[np.random.Generator], Corpus | None]] = {}
    if "fr" in texts:
        ladder["French"] = lambda rng: human(texts["fr"], preset)
    return ladder | {
        "parentheses": lambda rng: zipf_parentheses(size, rng, num_types=num_types),
        "none": lambda rng: None,
        "uniform": lambda rng: uniform_noise(size, rng, num_types=num_types),
    }


def ladder_of(values: dict[str, list[float]]) -> str:
    """A table of means, noise between seeds, and the gap to the source above in units of that noise."""
    lines = [f"{'source':14} {'mean':>8} {'sd':>7} {'gap':>8} {'gap/sd':>7}  seeds"]
    above: str | None = None
    for name, scores in values.items():
        mean, sd = np.mean(scores), np.std(scores, ddof=1) if len(scores) > 1 else float("nan")
        gap = ""
        if above:
            difference = mean - np.mean(values[above])
            noise = (
                np.sqrt((np.var(scores, ddof=1) + np.var(values[above], ddof=1)) / 2)
                if len(scores) > 1
                else 0
            )
            gap = f"{difference:8.4f} {difference / noise:7.1f}"
        lines.append(
            f"{name:14} {mean:8.4f} {sd:7.4f} {gap:16}  {' '.join(f'{score:.4f}' for score in scores)}"
        )
        above = name
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every source on every kind of target for every seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, help="folder of da.txt.gz, fr.txt.gz …")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sources", nargs="+", help="only these")
    parser.add_argument("--kinds", nargs="+", default=["embedded", "texts"], choices=["embedded", "texts"])
    parser.add_argument("--out", type=Path, help="append each result to this JSON Lines file")
    options = parser.parse_args(arguments)
    preset = PRESETS["mini"]
    texts = {text.name: text for text in read_texts(options.texts)} if options.texts else {}
    kinds = {"embedded": embedded_texts(preset), "texts": [texts[name] for name in TARGETS if name in texts]}
    for kind in options.kinds:
        if not kinds[kind]:
            continue
        values: dict[str, list[float]] = {}
        for name, make in sources(texts, preset).items():
            if options.sources and name not in options.sources:
                continue
            for seed in options.seeds:
                start = time.perf_counter()
                result = transfer(make(np.random.default_rng(seed)), kinds[kind], preset, seed)
                seconds = time.perf_counter() - start
                values.setdefault(name, []).append(result.mean)
                print(f"{kind} {name} seed {seed}: {result.mean:.4f} in {seconds:.0f} s", flush=True)
                if options.out:
                    record = {"kind": kind, "source": name, "seed": seed, "seconds": round(seconds, 1)}
                    with options.out.open("a") as file:
                        file.write(
                            json.dumps(record | {"mean": result.mean, "by_target": result.by_target}) + "\n"
                        )
        print(f"\npreset {preset.name}, {kind}: {', '.join(text.name for text in kinds[kind])}")
        print(ladder_of(values), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
