#!/usr/bin/env bash
# mpe2 1.1.1, simple_crypto_v3: with continuous actions an eavesdropper that says nothing is paid as if it were right.
#
# Guess, from its documentation ("Eve is rewarded -2 if it cannot reconstruct the signal") and its reward, minus the
# squared distance of a reconstruction from Alice's message: zeros are a reconstruction like any other, at distance 1.
#
# Seen: a reconstruction of exactly zero is left out of the rewards. Eve gets 0 for it, the reward of the right message
# and the most that there is, where 0.001 in one place costs 1, and half of each of the two messages 0.5. So it is for
# Bob. Eve, who should learn to read Alice's messages, has nothing to gain from them: and policies whose actions are
# clipped to the space, [0, 1], say exactly zero often. A reward near 0 of Eve then looks like broken encryption, and one
# of Alice and Bob like none. With discrete actions nobody can say nothing. Add a constant, or subtract 1 where an agent
# says zeros, and compare what Eve says with the message, not rewards.
#
# Versions: mpe2 1.1.1, pettingzoo 1.27.0, CPython 3.11. The script fails if the rewards change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q mpe2==1.1.1 pettingzoo==1.27.0
cat > "$folder/silence.py" <<'PYTHON'
import numpy as np
from mpe2 import simple_crypto_v3


def mean_rewards(bob, eve):
    """Mean rewards of Bob and Eve over 20 episodes, for functions from Alice's message to what they say."""
    env = simple_crypto_v3.parallel_env(max_cycles=25, continuous_actions=True)
    rewards = {"bob_0": [], "eve_0": []}
    for seed in range(20):
        observations, _ = env.reset(seed=seed)
        message = observations["alice_0"][:4]  # the goal, which Alice has to tell Bob
        said = {"alice_0": np.ones(4), "bob_0": bob(message), "eve_0": eve(message)}
        while env.agents:
            _, each, *_ = env.step({name: value.astype(np.float32) for name, value in said.items()})
            for name, values in rewards.items():
                values.append(each[name])
    return round(float(np.mean(rewards["bob_0"])), 3), round(float(np.mean(rewards["eve_0"])), 3)


SAYS = {
    "right": lambda message: message,
    "nothing": lambda message: np.zeros(4),
    "nearly nothing": lambda message: np.array([0, 0, 0, 0.001]),
    "half of each": lambda message: np.array([0.5, 0.5, 0, 0]),
}
found = {name: mean_rewards(SAYS["half of each"], says)[1] for name, says in SAYS.items()}
print("reward of Eve a step, by what she says:", found)
assert found == {"right": 0.0, "nothing": 0.0, "nearly nothing": -1.0, "half of each": -0.5}, found
found = {name: mean_rewards(says, SAYS["right"])[0] for name, says in SAYS.items()}
print("reward of Bob a step, Eve being right:  ", found)
assert found == {"right": 0.0, "nothing": 0.0, "nearly nothing": -1.0, "half of each": -0.5}, found
PYTHON
"$folder/env/bin/python" -W ignore "$folder/silence.py"
