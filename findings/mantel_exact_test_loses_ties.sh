#!/usr/bin/env bash
# mantel 2.2.3: the exact test's p-value leaves out orders whose correlation equals the observed one.
#
# Guess, from the docstring of `mantel.test` ("If the number of possible permutations is smaller, all permutations will be
# tested"): of a language for 2 x 3 meanings all 6! = 720 orders are tested, and p is the share of orders whose
# correlation is at least the observed one. The 2! * 3! = 12 orders that rename values of an attribute keep all distances
# between meanings, so that no language can have a p below 12 / 720 = .0167.
#
# Seen: p is .0028 = 2 / 720 for a compositional language, a sixth of the exact one, with Pearson's correlation (the
# default) and normalised Levenshtein distances. Each order adds the same products in another sequence, so that equal
# correlations differ in their last digits, and `>=` counts only some of them. Of this language's messages in 40
# orders 32 have too small a p, none too large a one. Spearman's correlation, whose ranks are halves, has the right p, as
# distances in whole numbers have. `result.correlations >= result.r - 1e-9` gives the exact share from the same result.
#
# Versions: mantel 2.2.3, numpy 2.4.6, scipy 1.17.1. The script fails if a p-value is exact.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet mantel==2.2.3 numpy==2.4.6 scipy==1.17.1
cat > "$folder/ties.py" <<'PYTHON'
from itertools import combinations, product

import mantel
import numpy as np
from scipy.spatial.distance import pdist

MEANINGS = list(product(range(2), range(3)))
WORDS = [("ka", "poti")[first] + ("nu", "re", "wil")[second] for first, second in MEANINGS]


def edits(one, other):
    """Levenshtein distance of two words."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        new = [i]
        for j, against in enumerate(other, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (letter != against)))
        row = new
    return row[-1]


def p_values(words, method):
    """The p-value of the library, and the share of orders with at least the observed correlation."""
    form = np.array([edits(a, b) / max(len(a), len(b)) for a, b in combinations(words, 2)])
    found = mantel.test(pdist(MEANINGS, "hamming"), form, perms=0, method=method, tail="upper")
    assert len(found.correlations) == 720
    return float(found.p), float(np.mean(found.correlations >= found.r - 1e-9))


rng = np.random.default_rng(0)
orders = [np.arange(6), *(rng.permutation(6) for _ in range(39))]
rows = {
    method: [p_values([WORDS[place] for place in order], method) for order in orders] for method in ("pearson", "spearman")
}
print({method: {"compositional": each[0], "too small": sum(p < exact for p, exact in each)} for method, each in rows.items()})
assert rows["pearson"][0] == (2 / 720, 12 / 720), "the p-value has changed"
assert sum(p < exact for p, exact in rows["pearson"]) >= 20 and all(p <= exact for p, exact in rows["pearson"])
assert rows["spearman"][0] == (12 / 720, 12 / 720), "the control has changed"
PYTHON
"$folder/env/bin/python" "$folder/ties.py"
