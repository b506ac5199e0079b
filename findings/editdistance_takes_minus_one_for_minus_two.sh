#!/usr/bin/env bash
# editdistance 0.8.1, rapidfuzz 3.14.5: symbols -1 and -2 are one symbol.
#
# Guess: an edit distance of sequences of integers compares the integers. Messages of agents are often padded with -1, and
# -2 may stand for a start, an end or a missing symbol: the distance of [5, -1] and [5, -2] is 1, as for [5, 1] and [5, 2].
#
# Seen: editdistance (which EGG's topographic similarity calls) returns 0, for lists and for NumPy arrays. It compares
# Python's hashes of the elements, and in CPython hash(-1) == hash(-2) == -2. rapidfuzz returns 1 for lists, where it treats
# -1 apart, and 0 for NumPy arrays of the same integers and for floats. All of them also take 0 and 2**61 - 1 for one
# symbol, the modulus of hashes of integers, which symbols of quantised channels with more than 60 bits reach. Compare
# strings instead, with one character for each distinct symbol: these have no such collisions.
#
# Versions: editdistance 0.8.1, rapidfuzz 3.14.5, numpy 2.4.6, CPython 3.11. The script fails if a distance changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet editdistance==0.8.1 rapidfuzz==3.14.5 numpy==2.4.6
cat > "$folder/symbols.py" <<'PYTHON'
import editdistance
import numpy as np
from rapidfuzz.distance import Levenshtein

PAIRS = {"-1 and -2": ([5, -1], [5, -2]), "0 and 2**61 - 1": ([5, 0], [5, 2**61 - 1]), "1 and 2": ([5, 1], [5, 2])}
WAYS = {
    "editdistance": editdistance.eval,
    "editdistance, arrays": lambda *pair: editdistance.eval(*map(np.array, pair)),
    "rapidfuzz": Levenshtein.distance,
    "rapidfuzz, arrays": lambda *pair: Levenshtein.distance(*map(np.array, pair)),
}
found = {way: {name: distance(*pair) for name, pair in PAIRS.items()} for way, distance in WAYS.items()}
print(found)
for way, distances in found.items():
    assert list(distances.values()) == [int(way == "rapidfuzz"), 0, 1], f"{way}: the distances have changed"
PYTHON
"$folder/env/bin/python" "$folder/symbols.py"
