#!/usr/bin/env bash
# evoke (evoke-signals) 0.1.4: the assortment of a population changes nothing in its replicator dynamics.
#
# Guess, from the docstrings of `OnePop.assortment` ("set assortment level") and `OnePop.avg_payoff_vector` ("expected
# payoffs of every type … depends on assortment"): in a game of donations with benefit 3 and cost 1 (a prisoner's dilemma)
# cooperation spreads where assortment is above cost / benefit = 1/3, and dies out below (Hamilton's rule).
#
# Seen: `replicator_discrete` and `replicator_odeint` never read the assortment. At 0, 0.5 and 1 cooperators die out alike,
# to the last bit; at 1, where each type meets only its own, they should win. And `avg_payoff_vector`, which reads it, takes
# payoffs of the opponents for those of the type wherever the matrix is not symmetric: without assortment, in a population
# of half cooperators, it gives cooperators the higher payoff, 3.5 against 0.5, where they get 1.5 and the others 2.5. The
# payoffs in evoke's own figure with assortment (Skyrms 2010, Figure 5.2) are symmetric, so that it does not show there.
# Give the dynamics a payoff matrix A with assortment in it: e * A[i, i] + (1 - e) * A[i, j] in row i and column j.
#
# Versions: evoke-signals 0.1.4, numpy 2.4.6, scipy 1.17.1, Python below 3.13. The script fails if the shares change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet evoke-signals==0.1.4 numpy==2.4.6 scipy==1.17.1
cat > "$folder/donations.py" <<'PYTHON'
import numpy as np
from evoke.src.evolve import OnePop
from evoke.src.games import NoSignal

PAYOFFS = np.array([[3.0, 0.0], [4.0, 1.0]])  # cooperators, defectors: benefit 3, cost 1, and 1 for everybody
HALF = np.array([0.5, 0.5])


def cooperators(payoffs, assortment):
    """Share of cooperators after 100 generations that began with half."""
    game = NoSignal(payoffs)
    population = OnePop(game, game.pure_strats())
    population.assortment(assortment)
    return float(population.replicator_discrete(HALF, 100)[-1][0])


game = NoSignal(PAYOFFS)
published = [cooperators(PAYOFFS, e) for e in (0, 0.5, 1)]
intended = [cooperators(e * np.diag(PAYOFFS)[:, None] + (1 - e) * PAYOFFS, 0) for e in (0, 0.5, 1)]
payoffs = OnePop(game, game.pure_strats()).avg_payoff_vector(HALF).tolist()
print({"published": published, "assortment in the payoffs": intended, "payoffs": payoffs, "theirs": (PAYOFFS @ HALF).tolist()})
assert len(set(published)) == 1 and published[0] < 1e-6, "the behaviour has changed"
assert intended[0] < 1e-6 and min(intended[1:]) > 1 - 1e-6, "the control has changed"
assert payoffs == [3.5, 0.5], "the payoffs have changed"
PYTHON
"$folder/env/bin/python" "$folder/donations.py"
