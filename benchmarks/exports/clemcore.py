"""`interactions.json` of clemcore (clemcore 3.7.2) of a naming game, as its own recorder of interactions writes it.

    pip install clemcore==3.7.2
    python benchmarks/exports/clemcore.py tests/formats/exports

writes `clemcore.json`. No model is queried: the messages are from a language of two words.
"""

import json
import sys
from pathlib import Path

from clemcore.clemgame.recorder import GameInteractionsRecorder

COLORS = {"red": "ne", "blue": "wa"}
SHAPES = {"star": "po", "box": "ki"}

recorder = GameInteractionsRecorder("naming", "0_default", 1, "pair", {"Player 1": {}, "Player 2": {}})
recorder.log_player("Player 1", "Speaker", "programmatic")
recorder.log_player("Player 2", "Listener", "programmatic")
for number, (color, shape) in enumerate((color, shape) for color in COLORS for shape in SHAPES):
    if number:
        recorder.log_next_round()
    shown = f"name the {color} {shape}"
    said = f"{COLORS[color]} {SHAPES[shape]}"
    recorder.log_event("GM", "Player 1", {"type": "send message", "content": shown, "label": "context"})
    recorder.count_request()
    recorder.log_event("Player 1", "GM", {"type": "get message", "content": said, "label": "response"})
    recorder.log_event("GM", "Player 2", {"type": "send message", "content": said, "label": "context"})
    recorder.count_request()
    recorder.log_event(
        "Player 2", "GM", {"type": "get message", "content": f"{color} {shape}", "label": "response"}
    )
recorder.log_game_end()
Path(sys.argv[1], "clemcore.json").write_text(json.dumps(recorder.interactions) + "\n")
