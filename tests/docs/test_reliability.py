"""Each promise of docs/reliability.md names a test that exists."""

import ast
import functools

import pytest
from doc_pages import ROOT

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/reliability.md").read_text().partition("## What a kill")[0].splitlines()
    if line.startswith("|")
][2:]


@functools.cache
def names_in(file):
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)
            }
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_every_promise_has_a_test(number):
    promise, tests, _ = ROWS[number]
    assert promise and tests
    for test in tests.split(", "):
        file, _, name = test.strip("`").partition("::")
        assert name.rpartition("::")[2].startswith("test_") and name in names_in(file), test


def test_there_are_promises():
    assert len(ROWS) >= 11
