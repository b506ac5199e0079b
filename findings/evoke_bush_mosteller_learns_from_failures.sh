#!/usr/bin/env bash
# evoke (evoke-signals) 0.1.4: agents that learn by Bush–Mosteller reinforcement learn from failures as from successes.
#
# Guess, from the docstring of `update_strategies_bush_mosteller`, which quotes Skyrms (2010, p. 86: the fraction by which
# a choice becomes more likely "is the product of the reward and some learning parameter"): in the cooperative game of two
# states, two signals and two acts, where a failure pays 0, `BushMostellerSR` learns to signal, as `MatchingSR` does.
#
# Seen: `payoff` is an argument that the function does not use. Whatever a sender and a receiver did becomes more likely,
# so that they end with a convention drawn at random: of 40 pairs with learning parameter 0.1 that play 2,000 rounds, 3 are
# right in more than 90 % of rounds, and as many would be of random pure strategies (2 of 16); the mean is 0.47, at chance.
# With the parameter multiplied by the payoff, all 40 are right in more than 90 % of rounds. The statistics of a single run
# look like learning, since the strategies do converge. Pass `learning_parameter` times the payoff, in a subclass or as
# below, until it is mended (the repository of July 2025, eb48d45, has the same lines).
#
# Versions: evoke-signals 0.1.4, numpy 2.4.6, Python below 3.13. The script fails if the shares change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet evoke-signals==0.1.4 numpy==2.4.6 scipy==1.17.1
cat > "$folder/pairs.py" <<'PYTHON'
import numpy as np
from evoke.src.evolve import Agent, BushMostellerSR
from evoke.src.games import lewis_square


def success(seed):
    """Probability that a pair is right after 2,000 rounds."""
    np.random.seed(seed)
    pair = BushMostellerSR(lewis_square(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5), 0.1)
    pair.run(2000, calculate_stats="end")
    return pair.game.payoff(pair.sender.strategies, pair.receiver.strategies)[0]


def pairs():
    """How many of 40 pairs are right in more than 90 % of rounds, and the mean of all."""
    successes = [success(seed) for seed in range(40)]
    return int(sum(each > 0.9 for each in successes)), round(float(np.mean(successes)), 2)


found = {"as published": pairs()}
published = Agent.update_strategies_bush_mosteller
Agent.update_strategies_bush_mosteller = lambda agent, seen, done, payoff, parameter: published(
    agent, seen, done, payoff, parameter * payoff
)
found["parameter times payoff"] = pairs()
print(found)
num_good, mean = found["as published"]
assert num_good <= 8 and abs(mean - 0.5) < 0.1, "the behaviour has changed"
assert found["parameter times payoff"][0] >= 36, "the control has changed"
PYTHON
"$folder/env/bin/python" "$folder/pairs.py"
