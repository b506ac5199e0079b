"""Known results of the naming game with scripted agents: rounds to consensus, and the critical size of a minority.

    python benchmarks/naming_game.py            # all; results/naming_game.json
    python benchmarks/naming_game.py --small    # a minute

Rounds to consensus grow as N^1.5 with open names (Baronchelli et al. 2006, for N up to 100,000) and as N log N with two
names, of which the game with open names also has a term, so that its exponent below N = 1,000 is less than 1.5; a
committed minority of 0.098 turns a population of two names, for N to infinity (Xie et al. 2011). Here N is 50 to 1,000,
and a minority has `PATIENCE` rounds an agent to turn the others.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from ecsuite.eval.statistics.bootstrap import tipping_point
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.runtime.provenance import processor

FILE = Path(__file__).parent / "results" / "naming_game.json"
SIZES = (50, 100, 200, 400, 1000)
SHARES = (0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13)
PATIENCE = 100
MOST = 10**7


def play_of(number: int, seed: int, *settings: str):
    """Make a naming game of `number` agents, with `number` rounds per step."""
    sizes = [f"play.agents={number}", f"training.batch_size={number}", f"training.num_examples={MOST}"]
    experiment = load_experiment("naming", [*sizes, f"training.seed={seed}", *settings])
    return make_play(experiment, torch.device("cpu"))


def rounds_to_consensus(number: int, seed: int, *settings: str) -> int:
    """Rounds until all agents have one name."""
    play, step = play_of(number, seed, *settings), 0
    while play.consensus_at is None:
        play.train_step(step)
        step += 1
    return play.consensus_at


def is_turned(number: int, share: float, seed: int) -> bool:
    """Whether all other agents, who begin with another name, adopt the name of a committed minority."""
    play = play_of(
        number, seed, "play.pool=2", "play.participant=collapsing,begins_with=b",
        f"play.num_others={round(share * number)}", "play.other=committed,name=a",
    )  # fmt: skip
    for step in range(PATIENCE):
        play.train_step(step)
        if play.consensus_at is not None:
            return True
    return False


def exponent(rounds: dict[int, list[int]]) -> tuple[float, float, float]:
    """Slope of log rounds over log N, with the 95 % interval over resampled runs."""
    rng, sizes = np.random.default_rng(0), np.log(list(rounds))

    def slope(of):
        return np.polyfit(sizes, [np.log(np.mean(each)) for each in of], 1)[0]

    draws = [slope([rng.choice(each, len(each)) for each in rounds.values()]) for _ in range(1000)]
    return tuple(
        round(float(each), 4) for each in (slope(rounds.values()), *np.quantile(draws, (0.025, 0.975)))
    )


def terms(rounds: dict[int, list[float]]) -> dict[str, list[float]]:
    """The shares a and b of a N^1.5 + b N log N in the mean rounds, with 95 % intervals, from means and intervals.

    The last phase of the game with open names is that of few names, whose N log N is not small for N up to 1,000.
    """
    sizes = np.array([float(n) for n in rounds])
    mean, low, _ = np.array(list(rounds.values())).T
    error = (mean - low) / 1.96
    columns = np.stack([sizes**1.5, sizes * np.log(sizes)], 1) / error[:, None]
    drawn = np.random.default_rng(0).normal(mean, error, (2000, len(mean)))
    fits = np.array([np.linalg.lstsq(columns, row / error, rcond=None)[0] for row in [mean, *drawn]])
    limits = np.quantile(fits[1:], (0.025, 0.975), axis=0)
    return {
        name: [round(float(each), 3) for each in (fits[0, n], *limits[:, n])]
        for n, name in enumerate(("N^1.5", "N log N"))
    }


def interval(values) -> list[float]:
    """Mean, and its 95 % interval over runs."""
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return [round(float(np.mean(values) + sign * half), 4) for sign in (0, -1, 1)]


def main() -> None:
    """Play, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    sizes, seeds = (SIZES[:3], 5) if small else (SIZES, 20)
    found = {"processor": processor(), "seeds": seeds, "seeds of a share": seeds // 2, "patience": PATIENCE}
    for name, settings in (("open names", ["play.symbols=letters"]), ("two names", ["play.pool=2"])):
        rounds = {n: [rounds_to_consensus(n, seed, *settings) for seed in range(1, seeds + 1)] for n in sizes}
        over = {n: 1.5 * np.log(n) if name == "open names" else np.log(n * np.log(n)) for n in sizes}
        found[name] = {
            "rounds": {n: interval(each) for n, each in rounds.items()},
            "exponent": exponent(rounds),
            "over the law": {n: interval(np.array(each) / np.exp(over[n])) for n, each in rounds.items()},
        }
        found[name]["terms"] = terms(found[name]["rounds"])
        print(name, json.dumps(found[name], indent=1))
    found["tipping point"] = {}
    for number in (100,) if small else (100, 1000):
        runs = [
            (share, is_turned(number, share, seed)) for share in SHARES for seed in range(1, seeds // 2 + 1)
        ]
        turned = {share: float(np.mean([t for s, t in runs if s == share])) for share in SHARES}
        found["tipping point"][number] = {"turned": turned, "point": tipping_point(*zip(*runs, strict=True))}
        print(number, json.dumps(found["tipping point"][number]))
    if not small:
        FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
