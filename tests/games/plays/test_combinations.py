"""Any two kinds of participants in any play of rounds, in pairs, societies and chains: played, or refused in a line."""

from itertools import product
from pathlib import Path

import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

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
