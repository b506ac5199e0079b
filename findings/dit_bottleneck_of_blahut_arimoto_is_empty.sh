#!/usr/bin/env bash
# dit 2.3: the information bottleneck's curve by Blahut–Arimoto has no information at any beta.
#
# Guess, from the documentation of `IBCurve` ("if 'ba' utilize the iterative Blahut-Arimoto algorithm"): `method="ba"`
# gives the same curve as the default, `"sp"`, and faster, as these are the equations of Tishby, Pereira and Bialek (1999)
# by which bounds of colour naming are computed.
#
# Seen: complexity and relevance are 0 at every beta, without an error. For two equally likely meanings, confused with
# probability 0.1, the curve is known (Witsenhausen and Wyner 1975): at beta = 3 it has 0.949 bits about the meaning and
# 0.517 bits about the world, as `"sp"` gives. `blahut_arimoto_ib` returns a rate and a distortion of 0 together, which no
# encoder has: one of its initial encoders has rows that do not sum to 1, is at "distortion 0" before the first step, and
# so beats all others. Any language is then better than the bound. `RDCurve(method="ba")`, whose distortion does not
# depend on the encoder, is right. Use `"sp"`, and compare a point or two with a known curve.
#
# Versions: dit 2.3, numpy 2.4.6, scipy 1.17.1, CPython 3.11. The script fails if the curve has information.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q dit==2.3 numpy==2.4.6 scipy==1.17.1
cat > "$folder/bottleneck.py" <<'PYTHON'
import dit
import numpy as np
from dit.rate_distortion import IBCurve, RDCurve
from dit.rate_distortion.blahut_arimoto import blahut_arimoto_ib

ERROR = 0.1
joint = dit.Distribution(["00", "01", "10", "11"], [(1 - ERROR) / 2, ERROR / 2, ERROR / 2, (1 - ERROR) / 2])


def entropy(p):
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


def known(beta):
    """Complexity and relevance of the best encoder, which confuses the two words with some probability."""
    noise = np.linspace(1e-9, 0.5 - 1e-9, 100_001)
    complexity, relevance = 1 - entropy(noise), 1 - entropy(noise * (1 - ERROR) + (1 - noise) * ERROR)
    best = np.argmin(complexity - beta * relevance)
    return complexity[best], relevance[best]


curves = {
    name: IBCurve(joint, rvs=[[0], [1]], beta_min=1, beta_max=5, beta_num=5, method=name) for name in ("ba", "sp")
}
print("beta   known           sp              ba")
for place, beta in enumerate(curves["sp"].betas):
    row = [known(beta), *((curves[name].complexities[place], curves[name].relevances[place]) for name in ("sp", "ba"))]
    print(f"{beta:.0f}   ", "  ".join(f"{abs(c):.3f} {abs(r):.3f}  " for c, r in row))
    assert np.allclose(row[0], row[1], atol=2e-3), row
    assert np.allclose(row[2], 0, atol=1e-9), row
result, _ = blahut_arimoto_ib(np.array([[0.45, 0.05], [0.05, 0.45]]), 3.0)
print("blahut_arimoto_ib at beta 3:", result)
assert result.rate == 0 and result.distortion == 0, result
uniform = dit.Distribution(["0", "1"], [0.5, 0.5])
curve = RDCurve(uniform, beta_min=1, beta_max=4, beta_num=4, method="ba")
assert np.allclose(curve.rates, 1 - entropy(np.array(curve.distortions)), atol=1e-3), (curve.rates, curve.distortions)
print("RDCurve, rates minus the known ones:", np.round(curve.rates - 1 + entropy(np.array(curve.distortions)), 6))
PYTHON
"$folder/env/bin/python" -W ignore "$folder/bottleneck.py"
