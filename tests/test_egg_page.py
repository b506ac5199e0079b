"""What docs/from_egg.md says of our options is accepted."""

import re
from pathlib import Path

from ecsuite.games.experiment import load_experiment

PAGE = Path(__file__).parents[1] / "docs" / "from_egg.md"
FLAGS = {
    "--task": "task.kind",
    "--channel": "channel.kind",
    "--sender": "sender.kind",
    "--receiver": "receiver.kind",
}


def test_settings_of_the_table_are_read():
    table = PAGE.read_text().split("| EGG, `egg.core`")[0]
    cells = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")]
    settings = [setting for cell in cells for setting in re.findall(r"--set (\S+?)[ `]", cell)]
    assert len(settings) > 7
    for setting in settings:
        game = ["channel=reinforce"] if "entropy" in setting else []
        if setting.startswith("world.num_values"):
            continue  # with files only
        assert load_experiment("disc_small", [*game, setting])
    for flag, key in FLAGS.items():
        for value in re.findall(rf"{flag} (\S+?)[ `]", "".join(cells)):
            assert load_experiment("disc_small", flags={key: value})
