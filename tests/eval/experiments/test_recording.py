"""The record table of benchmarks: the same columns whatever was studied, a row for each value of each run."""

import csv
import json

import pytest

NANO = "--preset nano --device cpu --workers 1"
SMALL = "--num-attributes 2 --num-values 3 --word-length 2 --workers 1"
ICY = "icy icy_study.yaml --workers 1 --protocol"
COMMANDS = {
    "exact": f"{ICY} exact",
    "end-to-end": f"{ICY} end-to-end --seeds 1 --receiver fc1l --max-steps 5 --grammar concat",
    "metrics": f"icy --protocol metrics --grammar perm --seeds 2 {SMALL}",
    "translate": f"translate perm --pairs inputs/pairs.tsv {NANO}",
}
COLUMNS = "source system game seed status why unit score value signature version".split()


def recorded(ecsuite, command, file="rows.csv"):
    code, _, err = ecsuite(*command.split(), "--out", file)
    assert code == 0, err
    with open(file) as text:
        return list(csv.DictReader(text))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_csv_has_the_record_table(ecsuite, small_files, name):
    rows = recorded(ecsuite, COMMANDS[name])
    assert rows and all(row.keys() >= set(COLUMNS) for row in rows)
    assert all(row["signature"] for row in rows)


@pytest.mark.slow
def test_values_are_those_of_the_json(ecsuite, small_files):
    rows = recorded(ecsuite, COMMANDS["exact"])
    _, out, _ = ecsuite(*COMMANDS["exact"].split(), "--json")
    (row,) = json.loads(out)["rows"]
    (cell,) = row["cells"]
    assert [float(each["value"]) for each in rows] == [run["ratio"] for run in cell["runs"]]
    assert [int(each["seed"]) for each in rows] == row["seeds"]
    found = {tuple(each[key] for key in ("source", "grammar", "score", "status")) for each in rows}
    assert found == {("fc1l", "perm", "ratio", "done")}
