#!/usr/bin/env bash
# emlangkit 0.3.0: the p-value beside topographic similarity counts pairs of messages as independent.
#
# Guess, written before it was run: `compute_topographic_similarity` gives a p-value of a permutation of the messages
# (Mantel's test), so that about 5 % of languages without any structure have p < .05.
#
# Seen: the p-value is that of Spearman's correlation over all n (n - 1) / 2 pairs as if they were independent. Where
# all combinations of values are said once, 11 % of random languages have p < .05. Where values are unequally frequent,
# as in any corpus that people or games with a power law make, it is 64 % of messages that are drawn independently of
# what they are about; where each meaning has two messages, or three, 75 and 90 % of random languages. Report the value,
# and test it by exchanging the messages of whole meanings.
#
# Versions: emlangkit 0.3.0, numpy 2.4.6, scipy 1.17.1, editdistance 0.8.1. The script fails if the shares change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet emlangkit==0.3.0 numpy==2.4.6 scipy==1.17.1 editdistance==0.8.1
cat > "$folder/shares.py" <<'PYTHON'
import itertools
import warnings

import numpy as np
from emlangkit.metrics import compute_topographic_similarity

warnings.simplefilter("ignore")
GRID = np.array(list(itertools.product(range(4), repeat=2)))
UNEQUAL = [0.7, 0.1, 0.1, 0.1]


def random_language(rng, copies):
    """Each meaning once or several times, with words that say nothing about its parts."""
    return np.repeat(rng.permutation(GRID), copies, axis=0), np.repeat(GRID, copies, axis=0)


def unequal_values(rng):
    """Sixty messages and meanings, drawn independently of each other."""
    return rng.choice(4, (60, 3), p=UNEQUAL), rng.choice(4, (60, 3), p=UNEQUAL)


def share(make):
    """How many of 100 languages without structure have p < .05, in percent."""
    seeds = range(100)
    return sum(compute_topographic_similarity(*make(np.random.default_rng(seed)))[1] < 0.05 for seed in seeds)


found = {f"{n} message(s) a meaning": share(lambda rng, n=n: random_language(rng, n)) for n in (1, 2, 3)}
found["unequal values"] = share(unequal_values)
print(found)
expected = {"1 message(s) a meaning": 11, "2 message(s) a meaning": 75, "3 message(s) a meaning": 90, "unequal values": 64}
assert all(abs(found[name] - expected[name]) <= 3 for name in expected), "the behaviour has changed"
PYTHON
"$folder/env/bin/python" "$folder/shares.py"
