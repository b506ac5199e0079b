"""The page of the four papers is current, and names commands, configs and files that exist."""

import functools

import pytest
import yaml
from seeds import page as seeds

from ecsuite.cli import Commands, UsageError
from ecsuite.commands.catalogue import COMMANDS
from ecsuite.eval.experiments.claims.claim import shipped_claims
from ecsuite.eval.experiments.grids import shipped_studies
from ecsuite.parts.config import shipped_configs

ROWS = [(paper, row) for paper, rows in seeds.read_rows().items() for row in rows]
SHIPPED = {
    "train-game": shipped_configs, "config": shipped_configs, "icy": shipped_studies, "cbm": shipped_studies,
    "xferbench": shipped_studies, "sweep": shipped_studies, "reproduce": shipped_claims,
}  # fmt: skip


def test_the_page_is_current():
    assert seeds.PAGE.read_text() == seeds.page(), "run: python benchmarks/seeds/page.py"


def test_rows_have_a_state_and_their_files_exist():
    for paper, row in ROWS:
        place = f"{paper}: {row['item']}"
        assert row.keys() == seeds.KEYS and row["paper"] == paper and paper in seeds.TITLES, place
        assert row["state"] in seeds.STATES and row["why_or_file"].strip(), place
        assert row["command"] or row["state"] == seeds.NOT_POSSIBLE, place
        if row["state"] == seeds.RUN:
            file, _ = seeds.file_of(row)
            assert file and (seeds.ROOT / file).is_file(), f"{place}: {row['why_or_file']}"
    items = [(paper, row["item"]) for paper, row in ROWS]
    assert len(set(items)) == len(items)


made = functools.cache(functools.partial(Commands().get_command, None))


@pytest.mark.parametrize("paper", sorted({paper for paper, _ in ROWS}))
def test_commands_parse(paper):
    for row in (row for of_paper, row in ROWS if of_paper == paper):
        for program, *words in seeds.commands_of(row):
            require_command(program, words, f"{paper}: {row['item']}: {row['command']}")


def require_command(program, words, place):
    assert program in ("ecsuite", "python"), place
    if program == "python":
        file = next(word for word in words if word.endswith(".py"))
        assert (seeds.ROOT / file).is_file(), place
        options = [word for word in words if word.startswith("--")]
        assert all(f'"{option}"' in (seeds.ROOT / file).read_text() for option in options), place
        return
    length = 2 if " ".join(words[:2]) in COMMANDS else 1
    name, arguments = " ".join(words[:length]), words[length:]
    assert name in COMMANDS, place
    context = made(name).make_context(name, list(arguments))
    if name == "xtreme evaluate":
        assert context.params["predictions"] or context.params["published"], f"{place}: nothing to score"
    for key, listed in (("row", "rows"), ("source", "sources")):  # of cbm and xferbench
        if wanted := name in ("cbm", "xferbench") and set(context.params.get(key) or ()):
            study = (seeds.ROOT / "configs" / f"{context.params['study']}.yaml").read_text()
            assert wanted <= {each["name"] for each in yaml.safe_load(study)[listed]}, place
    first = next((each for each in made(name).params if each.param_type_name == "argument"), None)
    value = context.params.get(first.name) if name in SHIPPED and first is not None else None
    for given in [value] if isinstance(value, str) else value or ():
        is_file = given.endswith((".yaml", ".yml"))
        assert is_file or given.removeprefix("paper/") in SHIPPED[name](), f"{place}: no {given}"


@pytest.mark.parametrize(
    "command",
    [
        "ecsuite no-such-command", "ecsuite xferbench --no-such-option", "ecsuite xferbench paper/no_such_study",
        "ecsuite cbm paper/cbm_table1 --row no_such_row", "ecsuite xferbench --source 'No such source'",
        "ecsuite xtreme evaluate --analyses", "ecsuite reproduce no_such_claim", "python benchmarks/no_such_file.py",
        "python benchmarks/xferbench.py --no-such-option",
    ],
)  # fmt: skip
def test_other_commands_are_found_out(command):
    [[program, *words]] = seeds.commands_of({"command": command})
    with pytest.raises((AssertionError, UsageError)):
        require_command(program, words, command)
