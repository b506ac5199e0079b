"""The page of every shipped game, made from their configs: `python tests/games_page.py` writes it."""

from pathlib import Path

from ecsuite.commands.list import details_of
from ecsuite.games.config.experiment import named_configs

FILE = Path(__file__).parents[1] / "docs" / "reference" / "games.md"
HEAD = """# Every game

What is seen, said, asked and rewarded, and a round of training where it can be told in text. `ecsuite list game NAME`
prints the same of one game, also of a YAML file of yours; `ecsuite show NAME` shows more rounds, and draws images.
The page is made from the source by `python tests/games_page.py`.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *(game_text(name) for name in named_configs())])


def game_text(name: str) -> str:
    """A game with its facts and its round."""
    details = details_of("games", name)
    lines = [f"## `{name}`", "", f"{details['about']}.", ""]
    lines += [f"- **{what}**: {text}" for what, text in details["sections"].items()]
    if details["round"]:
        lines += ["", "```text", *details["round"], "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    FILE.write_text(page())
    print(FILE)
