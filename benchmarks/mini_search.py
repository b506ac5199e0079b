"""Which reduced XferBench ranks games among each other? Recipes are compared on one half of the sources.

The sources are those of xferbench_mini.py: human texts, parentheses, corpora of games (`--corpus`) and stand-ins for
published corpora. `SEARCH` is the half that recipes are chosen on, with seed 0; `HELD_OUT` is the other half, on which
the chosen recipe and the default are measured with seeds that the search did not use. No pretraining and noise are in
both, as baselines. Every score is stored in `--cache`, so that a stopped command resumes.

    python benchmarks/mini_search.py --texts TEXTS --corpus disc44=runs/disc_small --corpus recon44=runs/recon44
    python benchmarks/mini_search.py --texts TEXTS --half held_out --recipes default epochs4 --seeds 1 2
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from early_stopping import plan_early
from rows import cpu_seconds
from xferbench_mini import PUBLISHED, STAND_INS, source

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.bootstrap import statistic_interval
from ecsuite.eval.statistics.correlation import spearman
from ecsuite.eval.xferbench.jobs import XferBenchStudy, make_study, plan
from ecsuite.eval.xferbench.metric import XferBenchResult, collect, measure
from ecsuite.eval.xferbench.presets import MINI, XferBenchPreset
from ecsuite.eval.xferbench.texts import choose_texts, read_texts
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import look_up

BASELINES = ("no_pretrain", "random")
SEARCH = ("fr", "paren_real", "yao_coco", "rlupus", "disc66'", "disc44", "recon44", "babyai_goto", *BASELINES)
HELD_OUT = (
    "ru", "paren_synth", "ec_at_scale", "mu_concept", "disc66", "disc44'", "nav_cold", "babyai_32", *BASELINES,
)  # fmt: skip
"""The games and stand-ins in the order of their published scores, one to each half in turn."""
OTHER_TEXTS = ("zh", "ar", "ko", "es", "hi")
"""Human texts that are in neither half."""
HALVES = {"search": SEARCH, "held_out": HELD_OUT, "held_out_texts": (*HELD_OUT, *OTHER_TEXTS)}
GAMES = {*STAND_INS, "mu_concept", "disc66", "disc44", "recon44"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """A way to reduce XferBench."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the preset `mini` that differ."""
    most_passes: float | None = None
    """Most times that pretraining reads a corpus in an epoch; small corpora are then trained on for fewer steps."""
    power: float = 1.0
    """A message that occurs n times is kept n to this power times, rounded up; 0: once."""

    stops_early: bool = False
    """Whether pretraining ends when the loss on held-out messages stops falling; its epochs are then the most."""

    def preset(self, corpus: Corpus | None) -> XferBenchPreset:
        """The preset for a corpus."""
        preset = replace(MINI, **self.changes)
        if corpus is None or self.most_passes is None:
            return preset
        num_symbols = len(corpus.messages.values) + len(corpus.messages)  # an end is a token
        return replace(
            preset, pretrain_tokens=min(preset.pretrain_tokens, int(self.most_passes * num_symbols))
        )

    def corpus(self, corpus: Corpus | None) -> Corpus | None:
        """The corpus with the chosen number of copies of each message, in its order."""
        if corpus is None or self.power == 1.0:
            return corpus
        rows = [tuple(corpus.messages[index].tolist()) for index in range(len(corpus.messages))]
        counts: dict[tuple[int, ...], int] = {}
        for row in rows:
            counts[row] = counts.get(row, 0) + 1
        left = {row: int(np.ceil(count**self.power)) for row, count in counts.items()}
        kept = []
        for index, row in enumerate(rows):
            if left[row] > 0:
                left[row] -= 1
                kept.append(index)
        return Corpus(messages=corpus.messages.take(np.array(kept)))

    def measure(self, study: XferBenchStudy, runner: Runner) -> XferBenchResult:
        """Run a study."""
        if not self.stops_early:
            return measure(study, runner)
        jobs = plan_early(study)
        results = runner.run(list(jobs.values()))
        return collect(study, {job: results[jobs[key]] for key, job in plan(study).items()})


SLOW = {
    "pretrain_tokens": 500_000, "pretrain_epochs": 4, "lr": 3e-4, "tune_epochs": 6, "tune_lr": 2e-4,
}  # fmt: skip
"""Lower learning rates and more steps."""
RECIPES = {
    "default": Recipe(),
    "passes10": Recipe(most_passes=10),
    "distinct": Recipe(power=0.0),
    "sqrt": Recipe(power=0.5),
    "distinct_passes10": Recipe(power=0.0, most_passes=10),
    "epochs1": Recipe(changes={"pretrain_epochs": 1}),
    "epochs4": Recipe(changes={"pretrain_epochs": 4}),
    "dropout": Recipe(changes={"dropout": 0.1}),
    "tune6": Recipe(changes={"tune_epochs": 6}),
    "deeper": Recipe(changes={"num_layers": 4, "pretrain_epochs": 1}),
    "wider": Recipe(changes={"width": 128, "num_heads": 4, "pretrain_epochs": 1}),
    "whole": Recipe(changes={"pretrain_vocabulary": "whole"}),
    "real": Recipe(changes={"languages": ("da", "fi"), "num_embedded": 0}),
    "epochs4_passes10": Recipe(changes={"pretrain_epochs": 4}, most_passes=10),
    "epochs4_passes10_targets4": Recipe(changes={"pretrain_epochs": 4, "num_embedded": 4}, most_passes=10),
    "epochs4_twice": Recipe(changes={"pretrain_tokens": 500_000, "pretrain_epochs": 4}),
    "slow": Recipe(changes=SLOW),
    "slow_passes10": Recipe(changes=SLOW, most_passes=10),
    "slow_dropout": Recipe(changes=SLOW | {"dropout": 0.1}),
    "early": Recipe(changes={"pretrain_epochs": 8}, stops_early=True),
    "three_minutes": Recipe(changes={"pretrain_tokens": 500_000, "pretrain_epochs": 5, "dropout": 0.1}),
}
"""Recipes by name; `three_minutes` has the published proportions: five epochs of pretraining, dropout, and four tokens
of pretraining for one of fine-tuning."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the sources of a half with each recipe and print a line for each recipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="folder of da.txt.gz, fr.txt.gz …")
    parser.add_argument("--corpus", action="append", default=[], help="NAME=PATH, as in xferbench_mini.py")
    parser.add_argument("--half", choices=HALVES, default="search")
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), help=", ".join(RECIPES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--cache", type=Path, default=Path("runs/xferbench"))
    given = parser.parse_args(arguments)
    texts, corpora = read_texts(given.texts), dict(each.split("=", 1) for each in given.corpus)
    names = [
        name
        for name in HALVES[given.half]
        if name in {*corpora, *texts, *STAND_INS} or name not in {*GAMES, *OTHER_TEXTS}
    ]
    for recipe_name in given.recipes:
        recipe: Recipe = look_up("recipe", recipe_name, RECIPES)
        values: dict[str, list[float]] = {name: [] for name in names}
        start, used = time.perf_counter(), cpu_seconds()
        for seed in given.seeds:
            for name in names:
                corpus = recipe.corpus(source(name, MINI, seed, texts, corpora))
                preset = recipe.preset(corpus)
                targets = (
                    choose_texts(None, preset)
                    if preset.num_embedded
                    else [texts[each] for each in preset.languages]
                )
                study = make_study(corpus, targets, preset, [seed], device="cpu")
                runner = Runner(folder=given.cache, num_workers=1)
                values[name] += recipe.measure(study, runner).means
        number = len(names) * len(given.seeds)
        spent = f"{(time.perf_counter() - start) / number:.0f} s, CPU {(cpu_seconds() - used) / number:.0f} s a score"
        print(f"{recipe_name}: {summary(values)}; {spent}", flush=True)
        print("  " + " ".join(f"{name} {np.mean(each):.3f}" for name, each in values.items()), flush=True)


def summary(values: Mapping[str, Sequence[float]]) -> str:
    """Rank correlations with the published scores, and games that are wrongly behind noise."""
    published = {**PUBLISHED, **{name: chain.published for name, chain in STAND_INS.items()}}
    means = {name: float(np.mean(each)) for name, each in values.items()}
    noise = means["random"]
    games = [name for name in values if name in GAMES]
    wrong = [name for name in games if means[name] > noise and published[name] <= published["random"]]
    texts = []
    for label, group in (("all", list(values)), ("games", games)):
        ours, theirs = (np.array([table[name] for name in group]) for table in (means, published))
        interval = statistic_interval(spearman, ours, theirs)
        within = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
        texts.append(f"{label} rho {float(spearman(ours, theirs)):.2f}{within}")
    return f"{', '.join(texts)}; wrongly behind noise: {', '.join(wrong) or 'none'}"


if __name__ == "__main__":
    main()
