"""Studies: the shipped ones equal the paper's tables, and mistakes give clear errors."""

import pytest

from ecsuite.eval.experiments.cbm import load_table
from ecsuite.eval.experiments.grids import CBM
from ecsuite.runtime.errors import ConfigError


@pytest.mark.slow
def test_the_shipped_studies_are_named_with_or_without_their_folder():
    tables = ("table1", "table1_full", "table2", "table3", "figure4", "rules")
    assert set(CBM.shipped()) == {f"cbm_{table}" for table in tables}
    for name in CBM.shipped():
        study = load_table(name)
        assert study.about.startswith("CBM ")
        assert study == load_table(f"paper/{name}")


MISTAKES = {
    "rows: []": "mine.yaml: rows: expected a list of games, each with a name and a base",
    "about: no rows": "mine.yaml: rows: expected a list of games, each with a name and a base",
    "rows: [x]": "mine.yaml: rows[0]: expected keys and values, got 'x'",
    "rows: [{name: a}]": "mine.yaml: rows[0]: expected a name of letters, digits, _ and -, and a base",
    "rows: [{name: a/b, base: thing_qt}]": "mine.yaml: rows[0]: expected a name of letters, digits, _ and -, and",
    "rows: [{name: a, base: thing_qq}]": "mine.yaml: rows[0]: unknown game 'thing_qq'; did you mean 'thing_qt'?",
    "rows: [{name: a, base: thing_qt, sett: {}}]": "mine.yaml: rows[0]: unknown key 'sett'; did you mean 'set'?",
    "rows: [{name: a, base: thing_qt, set: [x]}]": "mine.yaml: rows[0]: set: expected keys such as channel.max_len",
    "rows: [{name: a, base: thing_qt, set: {channel.maxlen: 2}}]": (
        "mine.yaml: rows[0]: set: unknown key 'channel.maxlen'; did you mean 'channel.max_len'?"
    ),
    "rows: [{name: a, base: thing_qt}, {name: a, base: thing_qt}]": "mine.yaml: rows: expected unique names, found a",
    "{seeds: [], rows: [{name: a, base: thing_qt}]}": "mine.yaml: seeds: expected different numbers, at least one",
    "{seeds: [1, 1], rows: [{name: a, base: thing_qt}]}": "mine.yaml: seeds: expected different numbers, at least one",
    "{published: table9, rows: [{name: a, base: thing_qt}]}": "unknown table 'table9'",
    "{colour: red, rows: [{name: a, base: thing_qt}]}": "mine.yaml: unknown key 'colour'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_file(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_table("mine.yaml")
    assert str(error.value).startswith(MISTAKES[text])
