#!/usr/bin/env bash
# statsmodels 0.14.5 with scipy 1.17.1: the power of a t test for a clear effect is NaN, of a larger one a number again.
#
# Guess, written before it was run: power rises to 1 with the effect and with the number of values, and
# `solve_power(effect_size=10, alpha=.05, power=.8)` says that two or three values of each group are enough.
#
# Seen: two standard deviations with 50 values of each group have power NaN (30 values: .99999999, 100: 1); with two
# values of each group NaN at 8.5 to 9.5 standard deviations, .99 at 10, NaN from 11 on. `solve_power` for an effect of
# 10 warns that it did not converge, and returns 10. The two-sided power adds the probability of the far tail, for which
# scipy's noncentral t distribution (`scipy.stats.nct.cdf`, `scipy.special.nctdtr`) gives NaN where it is below about
# 1e-16. Who plans seeds of trainings, whose effects are often many standard deviations, meets it at once: take the tail
# as 0 where it is NaN.
#
# Versions: statsmodels 0.14.5, scipy 1.17.1, numpy 2.4.6. The script fails if the figures change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet statsmodels==0.14.5 scipy==1.17.1 numpy==2.4.6
cat > "$folder/power.py" <<'PYTHON'
import warnings

import numpy as np
from scipy import stats
from statsmodels.stats.power import TTestIndPower

warnings.simplefilter("ignore")  # statsmodels shows its own anyway
plan = TTestIndPower()
by_number = {number: float(plan.power(2.0, number, 0.05)) for number in (10, 30, 50, 100)}
by_effect = {effect: float(plan.power(effect, 2, 0.05)) for effect in (8.0, 8.5, 9.5, 10.0, 11.0, 12.0)}
solved = float(np.ravel(plan.solve_power(effect_size=10, alpha=0.05, power=0.8))[0])
tail = {effect: float(stats.nct.cdf(-4.303, 2, effect)) for effect in (7.5, 8.0)}
print(by_number, by_effect, solved, tail, sep="\n")
assert np.isnan(by_number[50]) and by_number[30] > 0.9999 and by_number[100] == 1, "the behaviour has changed"
assert [effect for effect, power in by_effect.items() if np.isnan(power)] == [8.5, 9.5, 11.0, 12.0]
assert solved == 10 and 0 < tail[7.5] < 1e-15 and np.isnan(tail[8.0])
PYTHON
"$folder/env/bin/python" "$folder/power.py"
