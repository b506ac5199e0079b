"""Does XferBench at a reduced size rank corpora as the full benchmark does? Scores, noise, and rank correlation.

Sources are those whose score at full size is published (`PUBLISHED`): human languages of a folder of texts,
parentheses, no pretraining, uniform noise, and corpora of games (`--corpus`), each compared with the published score of
its game. Published corpora that are not available are replaced by stand-ins (`STAND_INS`): Markov chains with the same
numbers of lines, different lines and symbol types, and the same unigram and bigram entropies; their correlation is
reported separately. `--set` changes settings of the preset. Results are cached, so that a stopped run resumes.

    python benchmarks/xferbench_mini.py --texts ../shared/data/text --seeds 1 2 3
    python benchmarks/xferbench_mini.py --texts TEXTS --corpus disc44=runs/disc_small --corpus mu_concept=runs/mu
    python benchmarks/xferbench_mini.py --texts TEXTS --targets da fi --set lr=0.0005 --set tune_epochs=6
    python benchmarks/xferbench_mini.py --texts TEXTS --stand-ins --picture docs/pictures/xferbench_mini.svg
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray
from rows import add_json_option, collect, cpu_seconds, publish
from scipy import optimize, stats

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures.canvas import ends, prepare_picture, save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xferbench.jobs import make_study
from ecsuite.eval.xferbench.metric import measure
from ecsuite.eval.xferbench.presets import PRESETS, SOURCES, XferBenchPreset
from ecsuite.eval.xferbench.texts import BaselineSettings, Text, choose_texts, read_texts
from ecsuite.formats import read_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.launchers import num_cores
from ecsuite.runtime.ragged import Ragged

BASELINES = ("paren_real", "paren_synth", "no_pretrain", "random")
PUBLISHED = {
    "zh": 5.850, "ar": 5.869, "ko": 5.874, "es": 5.879, "ru": 5.880, "fr": 5.893, "hi": 5.958,
    "paren_real": 5.976, "paren_synth": 5.998, "mu_concept": 6.030, "mu_setref": 6.032, "disc66": 6.039,
    "mu_ref": 6.046, "disc44": 6.048, "recon44": 6.065, "no_pretrain": 6.072, "random": 6.145,
}  # fmt: skip
"""The authors' scores at full size on Wikipedia (2024), means of three runs: Mu & Goodman's three games on ShapeWorld,
discrimination of 6 attributes of 6 values and of 4 of 4 (each the mean of three corpora), reconstruction of 4 of 4."""


class StandIn(NamedTuple):
    """Statistics of a published corpus that is not available."""

    published: float
    """Published score at full size."""
    num_types: int
    """Number of symbol types."""
    length: int
    """Symbols per line."""
    num_lines: int
    """Number of lines."""
    num_different: int
    """Number of different lines."""
    unigram: float
    """Entropy of a symbol, bits."""
    bigram: float
    """Entropy of two adjacent symbols of a line, bits."""


STAND_INS = {
    "yao_coco": StandIn(5.971, 902, 15, 40_000, 40_000, 6.60, 12.88),
    "ec_at_scale": StandIn(6.028, 20, 10, 60_000, 60_000, 4.21, 7.14),
    "rlupus": StandIn(6.030, 9, 415, 1000, 1000, 3.09, 5.98),
    "disc66'": StandIn(6.035, 10, 11, 10_000, 3279, 2.89, 4.31),
    "disc44'": StandIn(6.050, 9, 11, 10_000, 187, 2.56, 3.54),
    "nav_cold": StandIn(6.132, 4, 7, 10_000, 1437, 1.99, 3.41),
    "babyai_goto": StandIn(6.185, 5, 21, 6116, 653, 1.24, 1.54),
    "babyai_32": StandIn(6.270, 3, 12, 5496, 18, 0.36, 0.42),
}
"""From the analysis files of ELCC (Boldt & Mortensen 2024b): score, types, length, lines, different lines, entropies;
the two longest corpora have fewer lines here, because no more are read."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every source with every seed, and print the ranking."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="folder of da.txt.gz, fr.txt.gz …")
    parser.add_argument("--targets", nargs="+", help="texts as targets; default the artificial languages")
    parser.add_argument("--corpus", action="append", default=[], help="NAME=PATH, NAME as in PUBLISHED")
    parser.add_argument("--stand-ins", action="store_true", help="also run the stand-ins")
    parser.add_argument("--sources", nargs="+", help="run only these sources")
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the preset")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cache", type=Path, default=Path("runs/xferbench"))
    parser.add_argument("--workers", type=int, default=num_cores(), help="processes; default one a core")
    parser.add_argument("--picture", type=Path, help="SVG file for a plot of the ranking")
    add_json_option(parser)
    options = parser.parse_args(arguments)
    if options.picture:
        prepare_picture(options.picture)
    changes = {key: yaml.safe_load(value) for key, _, value in (each.partition("=") for each in options.set)}
    preset = replace(PRESETS[options.preset], **changes)
    texts = read_texts(options.texts)
    targets = [texts[name] for name in options.targets] if options.targets else choose_texts(None, preset)
    corpora = dict(each.split("=", 1) for each in options.corpus)
    names = [name for name in PUBLISHED if name in {*corpora, *texts, *BASELINES}]
    names += list(STAND_INS) if options.stand_ins else []
    names = [name for name in names if name in (options.sources or names)]
    values: dict[str, list[float]] = {name: [] for name in names}
    figures: list[tuple[str, str, float]] = []
    for seed in options.seeds:
        for name in names:
            start, used = time.perf_counter(), cpu_seconds()
            corpus = source(name, preset, seed, texts, corpora)
            found = measure(
                make_study(corpus, targets, preset, [seed], device="cpu"),
                Runner(folder=options.cache, num_workers=options.workers),
            )
            values[name] += found.means
            by_target = " ".join(f"{target} {value:.4f}" for target, value in found.by_seed[seed].items())
            wall, cpu = time.perf_counter() - start, cpu_seconds() - used
            figures += [("a score", "s", wall), ("a score, CPU", "s", cpu)]
            print(
                f"{name} seed {seed}: {found.means[0]:.4f} in {wall:.0f} s, CPU {cpu:.0f} s; {by_target}",
                file=sys.stderr if options.json else sys.stdout,
                flush=True,
            )
    if options.json:
        publish(collect(figures), as_json=True)
        return
    print(f"\n{preset}\ntargets: {', '.join(text.name for text in targets)}\n{summary(values)}")
    if options.picture:
        draw(values, options.picture)


def source(
    name: str, preset: XferBenchPreset, seed: int, texts: Mapping[str, Text], corpora: Mapping[str, str]
) -> Corpus | None:
    """The corpus of a source; None for no pretraining."""
    if name in corpora:
        return read_corpus(Path(corpora[name]))
    if name in STAND_INS:
        return stand_in(STAND_INS[name])
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "text.txt"
        kind = "human" if name in texts else name
        if kind in ("human", "paren_real"):
            plain.write_text("\n".join(texts[name if name in texts else "fr"].documents()), encoding="utf-8")
        return SOURCES.load(kind)(BaselineSettings(preset=preset, protocol="strict", seed=seed, text=plain))


def stand_in(like: StandIn) -> Corpus:
    """Lines of a first-order Markov chain, deterministic for given statistics.

    Symbol frequencies follow Zipf's law with the exponent that gives the unigram entropy. Transitions are random,
    with a concentration that gives the bigram entropy. If lines repeat, likely lines are repeated more often, as
    far as needed to keep the bigram entropy.
    """
    rng = np.random.default_rng(0)
    ranks = np.arange(1.0, like.num_types + 1)
    flat = np.log2(like.num_types) <= like.unigram + 1e-3
    exponent = 0.0 if flat else optimize.brentq(lambda s: _bits(ranks**-s) - like.unigram, 0, 8)
    shares = ranks**-exponent / (ranks**-exponent).sum()
    noise = rng.gumbel(size=(like.num_types, like.num_types))

    def joint(bound: float) -> NDArray[np.float64]:
        """Joint distribution of adjacent symbols: noise, scaled until both marginals are the symbol frequencies."""
        pairs = np.exp(np.maximum(bound * (noise - noise.max(1, keepdims=True)), -300.0))
        for _ in range(300):
            pairs *= (shares / pairs.sum(1))[:, None]
            pairs *= shares / pairs.sum(0)
        return pairs

    if _bits(joint(0)) <= like.bigram:
        bound = 0.0
    else:
        tight = next((bound for bound in (1, 2, 4, 8, 16) if _bits(joint(bound)) < like.bigram), None)
        bound = (
            16
            if tight is None
            else optimize.brentq(lambda b: _bits(joint(b)) - like.bigram, 0, tight, xtol=1e-3)
        )
    after = joint(bound)
    after /= after.sum(1, keepdims=True)
    lines = np.empty((0, like.length), dtype=np.int64)
    for _ in range(100):
        states = [rng.choice(like.num_types, size=2 * like.num_different, p=shares)]
        for _ in range(like.length - 1):
            passed = rng.random(len(states[0]))[:, None] > after.cumsum(1)[states[-1]]
            states.append(passed.sum(1).clip(max=like.num_types - 1))
        found, first = np.unique(np.concatenate([lines, np.stack(states, 1)]), axis=0, return_index=True)
        lines = found[first.argsort()][: like.num_different]
        if len(lines) == like.num_different:
            break
    likely = np.log(shares[lines[:, 0]]) + np.log(after[lines[:, :-1], lines[:, 1:]]).sum(1)
    weights = [np.exp(power * (likely - likely.max())) for power in np.linspace(0, 1, 11)]
    pairs = (lines[:, :-1] * like.num_types + lines[:, 1:]).ravel()
    num_more = like.num_lines - len(lines)
    counts = [np.repeat(1 + num_more * each / each.sum(), like.length - 1) for each in weights]
    off = [abs(_bits(np.bincount(pairs, each)) - like.bigram) for each in counts]
    chosen = weights[int(np.argmin(off))]
    more = rng.choice(len(lines), size=num_more, p=chosen / chosen.sum())
    return Corpus(messages=Ragged.from_rows(lines[np.concatenate([np.arange(len(lines)), more])].tolist()))


def _bits(weights: NDArray[np.float64]) -> float:
    return float(stats.entropy(weights.ravel(), base=2))


def summary(values: Mapping[str, Sequence[float]]) -> str:
    """Table of means and deviations, correlation with the published scores, and smallest detectable difference."""
    lines = [f"{'source':12} {'full':>6} {'mean':>8} {'sd':>7}  seeds"]
    for name, scores in values.items():
        deviation = f"{np.std(scores, ddof=1):7.4f}" if len(scores) > 1 else f"{'':7}"
        seeds = " ".join(f"{score:.4f}" for score in scores)
        lines.append(f"{name:12} {_published(name):6.3f} {np.mean(scores):8.4f} {deviation}  {seeds}")
    for label, names in _groups(values).items():
        if len(names) > 4:
            full, means = _points(names, values)
            rho = stats.spearmanr(full, means).statistic
            interval = stats.bootstrap(
                (full, means),
                lambda one, other: stats.spearmanr(one, other).statistic,
                paired=True,
                vectorized=False,
                method="percentile",
                rng=np.random.default_rng(0),
            ).confidence_interval
            tau = stats.kendalltau(full, means).statistic
            lines.append(
                f"{label}: {len(names)} sources, Spearman {rho:.3f}, 95 % {interval.low:.3f} … {interval.high:.3f}; "
                f"Kendall {tau:.3f}; R² {stats.pearsonr(full, means).statistic ** 2:.3f}"
            )
    noise = [np.var(scores, ddof=1) for scores in values.values() if len(scores) > 1]
    if noise:
        num_seeds = len(next(iter(values.values())))
        least = 2 * np.sqrt(2 * np.mean(noise) / num_seeds)
        lines.append(
            f"smallest detectable difference with {num_seeds} seeds: {least:.4f} (two standard errors, pooled; with "
            f"the median variance {2 * np.sqrt(2 * np.median(noise) / num_seeds):.4f})"
        )
    return "\n".join(lines)


def draw(values: Mapping[str, Sequence[float]], path: Path) -> None:
    """Plot scores at the reduced size over published scores, as an SVG: a row a source, by what is published."""
    points: list[tuple[list[Point], list[Point]]] = []
    for label, names in _groups(values).items():
        for name in names if label != "all" else ():
            full, means = _points([name], values)
            spread = np.std(values[name], ddof=1) if len(values[name]) > 1 else 0.0
            low, high = ends(float(means[0]), float(spread))
            row = {"row": name, "group": label}
            mini = Point(value=float(means[0]), low=low, high=high, single=values[name], **row)
            points.append(([Point(value=float(full[0]), **row)], [mini]))
    points.sort(key=lambda pair: pair[0][0].value or 0.0)
    panels = (
        Panel(points=[point for full, _ in points for point in full], axis="published, nats per token"),
        Panel(points=[point for _, mini in points for point in mini], axis="mini, with deviation over seeds"),
    )
    save(intervals(*panels), path)


def _published(name: str) -> float:
    return PUBLISHED[name] if name in PUBLISHED else STAND_INS[name].published


def _groups(values: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    real = [name for name in values if name in PUBLISHED]
    chains = [name for name in values if name in STAND_INS]
    return {"sources": real, "stand-ins": chains, "all": list(values)} if chains else {"sources": real}


def _points(
    names: Sequence[str], values: Mapping[str, Sequence[float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    full = np.array([_published(name) for name in names])
    return full, np.array([np.mean(values[name]) for name in names])


if __name__ == "__main__":
    main()
