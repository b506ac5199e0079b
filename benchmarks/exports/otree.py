"""Exports of oTree (otree 6.0.15) of a naming game: data of the app, and of all apps (wide), played by bots.

    pip install otree==6.0.15 requests
    python benchmarks/exports/otree.py tests/formats/exports

writes `otree.csv` and `otree_wide.csv`. Two players a group; one names an object of the group, a word an attribute.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

SETTINGS = """
SESSION_CONFIGS = [dict(name="naming", num_demo_participants=2, app_sequence=["naming"])]
SESSION_CONFIG_DEFAULTS = dict(real_world_currency_per_point=1.0, participation_fee=0.0)
PARTICIPANT_FIELDS = []
SESSION_FIELDS = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "USD"
USE_POINTS = True
SECRET_KEY = "made up"
"""
APP = """
from otree.api import *

GRID = [(color, shape) for color in ("red", "blue") for shape in ("star", "box")]
WORDS = {"red": "ne", "blue": "wa", "star": "po", "box": "ki"}

class C(BaseConstants):
    NAME_IN_URL = "naming"
    PLAYERS_PER_GROUP = 2
    NUM_ROUNDS = 4

class Subsession(BaseSubsession):
    pass

def creating_session(subsession):
    for group in subsession.get_groups():
        group.color, group.shape = GRID[subsession.round_number - 1]

class Group(BaseGroup):
    color = models.StringField()
    shape = models.StringField()
    signal = models.StringField()

class Player(BasePlayer):
    pass

class Name(Page):
    form_model = "group"
    form_fields = ["signal"]

    @staticmethod
    def is_displayed(player):
        return player.id_in_group == 1

class Wait(WaitPage):
    pass

page_sequence = [Name, Wait]
"""
BOTS = """
from otree.api import *
from . import *

class PlayerBot(Bot):
    def play_round(self):
        if self.player.id_in_group == 1:
            yield Name, dict(signal=f"{WORDS[self.group.color]} {WORDS[self.group.shape]}")
"""
PAGE = (
    "{{ block title }}Name it{{ endblock }}{{ block content }}{{ formfields }}{{ next_button }}{{ endblock }}"
)

with tempfile.TemporaryDirectory() as project:
    app = Path(project, "naming")
    app.mkdir()
    Path(project, "_static").mkdir()
    Path(project, "settings.py").write_text(SETTINGS)
    for name, text in (("__init__.py", APP), ("tests.py", BOTS), ("Name.html", PAGE)):
        (app / name).write_text(text)
    otree = Path(sys.executable).with_name("otree")
    made = Path(project, "made")
    subprocess.run([otree, "test", "naming", f"--export={made}"], cwd=project, check=True)
    for source, target in (("naming", "otree.csv"), ("all_apps_wide", "otree_wide.csv")):
        (found,) = made.glob(f"{source}*.csv")
        Path(sys.argv[1], target).write_bytes(found.read_bytes())
