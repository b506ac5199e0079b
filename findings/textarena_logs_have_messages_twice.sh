#!/usr/bin/env bash
# TextArena 0.7.4: the log of a game has a message as often as its environment delivers it, not as often as it was said.
#
# Guess, written before it was run: `env.state.logs`, pairs of a player and a text, has each message of a player once, in
# the order of the game, so that its texts are what the players said.
#
# Seen: `add_observation` writes to the log whenever a text is delivered. The Iterated Prisoner's Dilemma delivers what is
# said in its conversation to the speaker and to the other player, and so logs it twice in a row; the decisions of the
# same players, which nobody is sent, it logs once, and Tic Tac Toe delivers a move to all at once and logs it once. The
# prompts of players are there once a player. Who counts words, or trains on a log, has some of a game's texts twice and
# others once: leave out what equals the entry before it, with the same player.
#
# Versions: textarena 0.7.4. The script fails if the numbers change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet textarena==0.7.4
cat > "$folder/logs.py" <<'PYTHON'
import textarena


def logged(name, *actions):
    """How often the log has each action, after one play of them."""
    env = textarena.make(name)
    env.reset(num_players=2, seed=1)
    for action in actions:
        env.get_observation()
        env.step(action=action)
    texts = [text for player, text in env.state.logs if player >= 0]
    return [texts.count(action) for action in actions]


talk = logged("IteratedPrisonersDilemma-v0", "hello there", "good day", "[cooperate]", "[defect]")
moves = logged("TicTacToe-v0", "[4]", "[0]")
print(talk, moves)
assert talk == [2, 2, 1, 1] and moves == [1, 1], "the behaviour has changed"
PYTHON
cd "$folder" && env/bin/python logs.py
