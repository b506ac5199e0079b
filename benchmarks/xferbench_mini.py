"""Does XferBench at a reduced size rank corpora as the full benchmark does? The ladder, its noise, and its correlation.

Sources are those whose order at full size is published (`PUBLISHED`): human languages of a folder of texts, parentheses
with the frequencies of one of them and with Zipf-Mandelbrot's, nothing, uniform noise; and corpora of games, each held
against the published score of its kind. `--set` changes the recipe. Results are kept, so a run that was stopped goes
on.

    python benchmarks/xferbench_mini.py --texts ../shared/data/text --seeds 3
    python benchmarks/xferbench_mini.py --texts TEXTS --corpus disc=runs/disc_large --corpus recon=runs/r
    python benchmarks/xferbench_mini.py --texts TEXTS --targets da fi --set lr=0.0005 --set tune_epochs=6
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from scipy import stats

from ecsuite.corpus import Corpus
from ecsuite.eval.icy.study import num_cores
from ecsuite.eval.xferbench.presets import PRESETS, Preset
from ecsuite.eval.xferbench.sources import Request, make_source
from ecsuite.eval.xferbench.texts import Text, choose_texts, read_texts
from ecsuite.eval.xferbench.transfer import transfer
from ecsuite.formats import read_corpus

PUBLISHED = {
    "ru": 5.880, "fr": 5.893, "paren_real": 5.976, "paren_synth": 5.998, "yao": 6.034, "shapeworld": 6.038,
    "disc": 6.048, "recon": 6.056, "no_pretrain": 6.072, "random": 6.145,
}  # fmt: skip
"""The authors' scores at full size on Wikipedia (2024); of games the middle of their kind's range."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every source with every seed, and print the ladder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="folder of da.txt.gz, fr.txt.gz …")
    parser.add_argument(
        "--targets", nargs="+", help="which of its texts are targets; the embedded ones if not given"
    )
    parser.add_argument("--corpus", action="append", default=[], help="NAME=PATH, NAME as in PUBLISHED")
    parser.add_argument("--sources", nargs="+", help="only these")
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the preset")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=Path("runs/xferbench"))
    options = parser.parse_args(arguments)

    changes = {key: yaml.safe_load(value) for key, _, value in (each.partition("=") for each in options.set)}
    preset = replace(PRESETS[options.preset], **changes)
    texts = read_texts(options.texts)
    targets = [texts[name] for name in options.targets] if options.targets else choose_texts(None, preset)
    corpora = dict(each.split("=", 1) for each in options.corpus)
    names = [
        name
        for name in options.sources or PUBLISHED
        if name in corpora or name in texts or name in ("paren_real", "paren_synth", "no_pretrain", "random")
    ]
    values: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(options.seeds):
        for name in names:
            began = time.perf_counter()
            corpus = source(name, preset, seed, texts, corpora)
            found = transfer(
                corpus, targets, preset, [seed], folder=options.cache, num_workers=num_cores(), device="cpu"
            )
            values[name] += found.means
            print(
                f"{name} seed {seed}: {found.means[0]:.4f} in {time.perf_counter() - began:.0f} s", flush=True
            )
    print(f"\n{preset}\ntargets: {', '.join(text.name for text in targets)}\n{ladder(values)}")


def source(
    name: str, preset: Preset, seed: int, texts: Mapping[str, Text], corpora: Mapping[str, str]
) -> Corpus | None:
    """What to pretrain on."""
    if name in corpora:
        return read_corpus(Path(corpora[name]))
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "text.txt"
        kind = "human" if name in texts else name
        if kind in ("human", "paren_real"):
            plain.write_text("\n".join(texts[name if name in texts else "fr"].documents()), encoding="utf-8")
        return make_source(kind, Request(preset=preset, protocol="strict", seed=seed, text=plain))


def ladder(values: Mapping[str, Sequence[float]]) -> str:
    """Mean and deviation of each source, the gap to the one above, and the correlation with the published order."""
    lines = [f"{'source':12} {'full':>6} {'mean':>8} {'sd':>7} {'gap':>8}  seeds"]
    above = None
    for name, scores in values.items():
        deviation = f"{np.std(scores, ddof=1):7.4f}" if len(scores) > 1 else f"{'':7}"
        mean = float(np.mean(scores))
        gap = f"{mean - above:8.4f}" if above is not None else f"{'':8}"
        seeds = " ".join(f"{score:.4f}" for score in scores)
        lines.append(f"{name:12} {PUBLISHED[name]:6.3f} {mean:8.4f} {deviation} {gap}  {seeds}")
        above = mean
    full = np.array([PUBLISHED[name] for name in values])
    means = np.array([np.mean(scores) for scores in values.values()])
    if len(full) > 2:
        interval = stats.bootstrap(
            (full, means),
            lambda one, other: stats.spearmanr(one, other).statistic,
            paired=True,
            vectorized=False,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
        rho = stats.spearmanr(full, means).statistic
        lines.append(f"Spearman {rho:.3f}, 95 % {interval.low:.3f} … {interval.high:.3f}")
    noise = [np.var(scores, ddof=1) for scores in values.values() if len(scores) > 1]
    if noise:
        num_seeds = len(next(iter(values.values())))
        least = 2 * np.sqrt(2 * np.mean(noise) / num_seeds)
        lines.append(
            f"smallest difference seen with {num_seeds} seeds: {least:.4f} (two standard errors, pooled)"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
