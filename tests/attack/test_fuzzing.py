import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attack.fuzzing import SEEDS, fuzz
from attack.readers import READERS
from ecsuite.parts.strict_yaml import StrictYamlError, as_yaml, load_yaml

SLOW = {"game_yaml", "study_yaml", "sweep_yaml", "saved_corpus", "saved_objects", "images", "parquet"}
"""Readers whose inputs take some milliseconds each: few of them are in the ordinary run."""


def test_every_seed_is_of_a_reader_and_small():
    assert {folder.name for folder in SEEDS.iterdir()} == set(READERS)
    assert sum(file.stat().st_size for file in SEEDS.rglob("*") if file.is_file()) < 100_000


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_accepted(name, tmp_path):
    for seed in SEEDS.joinpath(name).iterdir():
        folder = tmp_path / seed.name
        folder.mkdir()
        target = folder / seed.name
        shutil.copytree(seed, target) if seed.is_dir() else shutil.copy(seed, target)
        found = READERS[name].read(target)
        assert READERS[name].kept is None or found == READERS[name].kept


@pytest.mark.parametrize("name", READERS)
def test_some_changed_input(name, monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "")
    outcome = fuzz(name, 0, 3 if name in SLOW else 10)
    assert not outcome.faults and sum(outcome.counts.values()) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_more_changed_input(name, monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "")
    outcome = fuzz(name, 1000, 200)
    assert not outcome.faults and outcome.counts["refused"] > 10


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
values = st.recursive(
    scalars | st.text("ab: #*&!-'\"\\n\\t{}[],", max_size=6),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text("abc", max_size=2), each, max_size=3),
    max_leaves=8,
)


@given(values)
@settings(max_examples=20, deadline=None)
def test_strict_yaml_reads_what_yaml_writes(value):
    assert load_yaml(as_yaml(value)) == value


@given(st.text("ab:-*&<[]{}!'\"#|>?%@ \\n\\t,0123.", max_size=40))
@settings(max_examples=50, deadline=None)
def test_any_text_as_yaml(text):
    try:
        load_yaml(text)
    except StrictYamlError as error:
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
