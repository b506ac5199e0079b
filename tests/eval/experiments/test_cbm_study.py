"""Studies: the shipped ones equal the paper's tables, and mistakes give clear errors."""

from dataclasses import replace

import pytest

from ecsuite.eval.experiments.cbm import PUBLISHED, load_table, rows_of
from ecsuite.eval.experiments.grids import CBM
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import CHANNELS
from ecsuite.runtime.errors import ConfigError


@pytest.mark.slow
def test_the_shipped_studies_are_named_with_or_without_their_folder():
    tables = ("table1", "table1_full", "table2", "table3", "figure4", "rules")
    assert set(CBM.shipped()) == {f"cbm_{table}" for table in tables}
    for name in CBM.shipped():
        study = load_table(name)
        assert study.about.startswith("CBM ")
        assert study == load_table(f"paper/{name}")


def test_table_1_has_the_paper_s_rows_and_channels():
    """The word sizes and lengths of Table 1; messages are as long as rules."""
    study = load_table("paper/cbm_table1")
    assert [row.name for row in rows_of(study)] == list(PUBLISHED["table1"])
    assert study.seeds == (1, 2, 3)
    for row in rows_of(study):
        world, task, channel = row.experiment.world, row.experiment.task, row.experiment.channel
        assert task.kind == "concept" and task.options.variant == "set_reference"
        assert (task.options.num_targets, task.options.num_distractors) == (20, 20)
        rule_length = 4 if row.name.endswith("_l4") else 1
        assert world.options.rule_length == channel.options.max_len == rule_length
        assert world.kind == row.name.partition("_")[0]
        assert not CHANNELS.load(channel.kind)(channel.options).has_eos
        if "_gs" in row.name:
            assert (channel.kind, channel.options.straight_through) == ("gumbel", False)
            assert channel.options.vocab_size == {"shape": 17, "thing": 50}[world.kind]
        else:
            assert (channel.kind, channel.options.num_levels) == ("quantized", 2)
            assert channel.options.word_size == {"shape": 5, "thing": 6}[world.kind]


def test_channels_are_compared_with_everything_else_alike():
    rows = {row.name: row.experiment for row in rows_of(load_table("paper/cbm_table1"))}
    for name, experiment in rows.items():
        other = rows[name.replace("_qt", "_gs")]
        assert replace(experiment, name="row", about="", channel=other.channel) == replace(
            other, name="row", about=""
        )
        assert (experiment.world.options.distractors == "hard") == name.endswith("_l4")


TABLE3 = """
gs 1 8 4  gs 1 64 4  gs 4 8 1  gs 4 64 1  qt 1 3 4  qt 1 64 4  qt 4 3 1  qt 4 64 1
""".split("  ")
"""Channel, length of the rule, size of a word, length of the message: experiments 1 to 8, and 9 to 16 on THING."""


def test_table_3_has_the_paper_s_experiments():
    study = load_table("paper/cbm_table3")
    assert (
        [row.name for row in rows_of(study)]
        == [f"exp{number}" for number in range(1, 17)]
        == list(PUBLISHED["table3"])
    )
    for place, row in enumerate(rows_of(study)):
        world, task, channel = row.experiment.world, row.experiment.task, row.experiment.channel
        kind, length, size, max_len = TABLE3[place % 8].split()
        assert world.kind == ("shape" if place < 8 else "thing")
        assert (task.options.num_targets, task.options.num_distractors) == (8, 8)
        assert channel.kind == {"gs": "gumbel", "qt": "quantized"}[kind]
        assert (world.options.rule_length, channel.options.max_len) == (int(length), int(max_len))
        assert (channel.options.vocab_size if kind == "gs" else channel.options.word_size) == int(size)


def test_figure_4_has_18_segments_of_100():
    rows = rows_of(load_table("paper/cbm_figure4"))
    assert [row.experiment.evaluation.corpus_size for row in rows] == [1800, 1800]


def test_table_4_counts_make_the_scores_of_table_3():
    for name, figures in PUBLISHED["table3"].items():
        assert figures["good_edges"] / figures["total_edges"] == pytest.approx(figures["cbm"], abs=0.0011), (
            name
        )
        parts = ("good_edges", "ambiguous_edges", "paraphrase_edges")
        assert sum(figures[part] for part in parts) in (1000, 4000), name
    for name, figures in PUBLISHED["table1"].items():
        shares = figures["cbm"] + figures["ambiguity"] + figures["paraphrase"]
        assert shares == pytest.approx(1, abs=0.021), name


def test_rows_seeds_and_settings_can_be_chosen():
    study = load_table(
        "paper/cbm_table1",
        seeds=(7,),
        rows=["thing_qt"],
        assignments=["training.num_epochs=3", "channel.word_size=9"],
    )
    (row,) = rows_of(study)
    assert study.seeds == (7,) and row.name == row.experiment.name == "thing_qt"
    assert (row.experiment.training.num_epochs, row.experiment.channel.options.word_size) == (3, 9)
    assert row.experiment.world == load_experiment("thing_qt").world
    assert row.published["cbm"] == 0.73
    with pytest.raises(
        ConfigError,
        match=r"rows\[0\]: --set: channel.word_size: channel gumbel does not read it; read by quantized, cont",
    ):
        load_table("paper/cbm_table1", assignments=["channel.word_size=9"])


def test_what_a_base_says_of_itself_is_left_out(tmp_path):
    """It may not hold for the row, and another text would change the key of the run."""
    assert load_experiment("thing_qt").about
    assert all(row.experiment.about == "" for row in rows_of(load_table("paper/cbm_table1")))


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
