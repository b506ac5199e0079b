"""Options that several commands share."""

from collections import defaultdict

import typer.main

from ecsuite.cli import app

SHARED = ("--workers", "--cache", "--seeds", "--seed", "--device", "--json")
FILES = {"evaluate", "methods", "report", "people export", "people play", "people serve", "people simulate"}
"""Commands whose --out is neither JSON nor a folder in runs/."""


def test_options_that_commands_share_have_one_help():
    group = typer.main.get_command(app)
    helps = defaultdict(set)
    for name in group.list_commands(None):
        for parameter in group.get_command(None, name).params:
            option = parameter.opts[0]
            if option in SHARED or (option == "--out" and name not in FILES and not name.startswith("data ")):
                helps[option].add(parameter.help)
    assert {option: len(texts) for option, texts in helps.items()} == dict.fromkeys(SHARED, 1) | {"--out": 2}
