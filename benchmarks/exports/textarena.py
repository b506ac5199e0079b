"""A game of TextArena (textarena 0.7.4): two players talk, and `state.logs` and what `close` returns are stored.

    pip install textarena==0.7.4
    python benchmarks/exports/textarena.py tests/formats/exports

writes `textarena.json`. TextArena defines no file format: its environments have the log of a game in `state.logs`,
pairs of the number of a player (-1: the game) and a text.
"""

import json
import sys
from pathlib import Path

import textarena

SAID = ("ne po", "wa ki", "[cooperate]", "[defect]", "ne po wa", "wa ki ne")

env = textarena.make("IteratedPrisonersDilemma-v0")
env.reset(num_players=2, seed=1)
for text in SAID:
    env.get_observation()
    done, _ = env.step(action=text)
    if done:
        break
logs = env.state.logs
rewards, game_info = env.close()
log = {"env_id": "IteratedPrisonersDilemma-v0", "logs": logs, "rewards": rewards, "game_info": game_info}
Path(sys.argv[1], "textarena.json").write_text(json.dumps(log) + "\n")
