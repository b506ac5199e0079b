"""Any two kinds of participants in any play of rounds, in pairs, societies and chains: played, or refused in a line."""

import math
import random
from itertools import product
from pathlib import Path

import pytest
from stopped_runs import trained

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError

NETWORKS = Path(__file__).parents[2] / "fixtures" / "small" / "finished"
"""Two attributes of four values; five symbols, up to three a message."""
NAMING, TALK = ("naming",), ("discrimination", "reconstruction")
PARTS = {
    "language_model,memory=2": NAMING + TALK, "exemplars": NAMING + TALK, f"trained,run={NETWORKS}": TALK,
    "roth_erev": NAMING + TALK, "replicator,step=0.2": NAMING + TALK,
    "collapsing": NAMING, "committed,name=a": NAMING, "win_stay": NAMING, "bayesian": NAMING,
    "language_model,backend=page": (),
}  # fmt: skip
"""Participants, and what they play here, where nobody sits at a page."""
CASES = list(product(NAMING + TALK, ("pair", "society", "chain"), PARTS, (None, *PARTS), ("letters", "pool")))
STRUCTURES = {
    "pair": ["play.agents=2", "training.num_epochs=1"],
    "society": ["play.agents=4", "play.meets=ring", "training.num_epochs=1"],
    "chain": ["play.agents=3", "training.num_epochs=2"],
}
GAMES = {
    "naming": ["training.num_examples=12"],
    "talk_chain": [
        "play.blocks=1", "play.num_taught=8", "play.candidates=3", "world.num_attributes=2", "world.num_values=4"
    ],
}  # fmt: skip


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    ("task", "structure", "one", "other", "symbols"),
    CASES,
    ids=["-".join(str(part)[:9] for part in case) for case in CASES],
)
def test_a_combination_is_played_or_refused_in_a_line(task, structure, one, other, symbols, tmp_path):
    game = "naming" if task == "naming" else "talk_chain"
    settings = [
        *GAMES[game], *STRUCTURES[structure], f"play.participant={one}", f"play.symbols={symbols}",
        "play.names=[a,b,c,d,e]", "training.batch_size=16",
    ]  # fmt: skip
    settings += ["play.max_symbols=3"] if symbols != "pool" else []
    settings += ["play.num_others=1", f"play.other={other}"] if other else []
    settings += [f"play.task={task}"] if task in TALK else []
    try:
        trained(load_experiment(game, settings), tmp_path / "run")
    except ConfigError as error:
        is_known = all(task in PARTS[each] for each in (one, other) if each)
        fits = symbols != "pool" or game == "naming"
        assert not (is_known and fits) and "\n" not in str(error) and not (tmp_path / "run").exists()
    else:
        assert len(read_corpus(tmp_path / "run").messages) > 0


SETTINGS_OF_SIGNS = {
    "naming_acceptance": {
        "play.agents": ("2", "3", "5"), "play.meets": ("all", "ring", "list,pairs=[[0,1],[1,0]]", "list,pairs=[[0,4]]"),
        "play.signs": ("2", "7", "300"), "play.accepts": ("metropolis", "always", "never"),
        "play.seen": ("0", "0.5", "1"), "play.components": ("1", "50"), "play.noise": ("0", "2"),
        "play.prior": ("0.01", "10"),
    },
    "evolution": {
        "play.dynamics": ("roth_erev", "replicator"), "play.repeats": ("1", "7"),
        "play.signals": ("null", "2", "5"), "play.initial": ("1.0", "0.01"),
    },
}  # fmt: skip
WORLDS_OF_SIGNS = {
    "attributes": {
        "world.num_attributes": ("1", "2"), "world.num_values": ("2", "3"), "world.held_out": ("0", "0.3"),
        "world.frequencies": ("uniform", "power_law"),
    },
    "unequal_attributes,num_values=[2,3],exponents=[2,0]": {}, "letter_strings,max_count=2": {},
    "events,entities=2,actions=1": {}, "digits": {}, "thing": {},
}  # fmt: skip
SHARED_SETTINGS = {
    "training.batch_size": ("1", "4", "40"), "training.num_epochs": ("1", "2"), "training.accumulate": ("1", "2"),
    "evaluation.corpus_size": ("1", "100"), "evaluation.mode": ("greedy", "sample"),
    "training.until_accuracy": ("null", "0.5"),
}  # fmt: skip


@pytest.mark.sample(10)
@pytest.mark.parametrize("number", range(300))
def test_random_settings_of_plays_with_signs_are_played_or_refused_in_a_line(number, tmp_path):
    rng = random.Random(number)
    kind, world = rng.choice(sorted(SETTINGS_OF_SIGNS)), rng.choice(sorted(WORLDS_OF_SIGNS))
    settings = [
        f"play.kind={kind}", f"world={world}", "training.num_examples=30", "training.evaluate_every=2",
        "evaluation.num_valid=1024", "training.precision=fp32",
    ]  # fmt: skip
    for options in (SETTINGS_OF_SIGNS[kind], WORLDS_OF_SIGNS[world], SHARED_SETTINGS):
        chosen = {key: rng.choice((values[0], rng.choice(values))) for key, values in options.items()}
        settings += [f"{key}={value}" for key, value in chosen.items() if value != options[key][0]]
    try:
        result = trained(load_experiment("disc_tiny", settings), tmp_path / "run")
    except ConfigError as error:
        assert "\n" not in str(error) and not (tmp_path / "run").exists()
    else:
        assert result.measures and all(math.isfinite(value) for value in result.measures.values())
        assert len(read_corpus(tmp_path / "run").messages) > 0
