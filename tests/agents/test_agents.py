"""Parameter counts of the sender and receiver of a game."""

from ecsuite.eval.icy.agents import parameter_count
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world


def test_sizes_are_those_of_the_reference_model():
    """EGG's model for the same game has 228,870 and 847,584 parameters (its receiver has the candidate encoder)."""
    experiment = load_experiment("disc_small")
    game = make_pair(experiment, make_world(experiment))
    assert parameter_count(game.speaker.network) == 228_870
    of_receiver = (game.listener.network, game.listener.perception, game.task)
    assert sum(parameter_count(part) for part in of_receiver) == 847_584
    assert parameter_count(game) == 228_870 + 847_584
