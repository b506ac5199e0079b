import json

import gpu
import pytest
from rows import Row


def measured(capsys, folder, *arguments):
    """What is printed before the table, and the rows of the file by name."""
    gpu.main([*arguments, "--small", "--seconds", "0.01", "--results", str(folder)])
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    (file,) = folder.iterdir()
    return lines, {row["name"]: row["values"] for row in json.loads(file.read_text())["rows"]}


def test_rows_of_the_cpu_are_measured_once(tmp_path, capsys):
    lines, rows = measured(capsys, tmp_path, "icy fc1l", "--device", "cpu")
    assert [line.partition(":")[0] for line in lines] == ["icy fc1l"]
    assert {"icy fc1l", "icy fc1l, updates"} == rows.keys() and min(min(each) for each in rows.values()) > 0
    lines, same = measured(capsys, tmp_path, "icy fc1l", "--device", "cpu")
    assert same == rows and "ms" not in lines[0]
    lines, _ = measured(capsys, tmp_path, "icy fc", "--device", "cpu", "--minutes", "0")
    assert lines == ["icy fc2l: not begun, as 0 minutes are over; run this again to continue"]


@pytest.mark.device("pretended")
@pytest.mark.parametrize("name", ["disc_small", "xferbench", "shape_gs", "translation", "xtreme", "icy fc2l"])
def test_every_kind_of_training_is_measured(tmp_path, capsys, name):
    _, rows = measured(capsys, tmp_path, name)
    trained = name if name != "xferbench" else "xferbench, train"
    assert len(rows[trained]) == gpu.NUM_BLOCKS and rows[f"{trained}, of the limit"][0] > 0
    assert f"{trained}, memory" in rows
    if name == "shape_gs":
        assert "shape_gs, two CPU cores" in rows and "shape_gs, two CPU cores, memory" not in rows


def test_what_is_asked_is_said_where_both_rows_are_there():
    times = {"disc_small": 2.0, "disc_small, EGG": 30.0, "disc_large": 1.0}
    rows = {name: Row(name=name, unit="ms", values=(value, 50.0)) for name, value in times.items()}
    share = Row(name="xtreme, of the limit", unit="share", values=(0.1, 0.25), higher_is_better=True)
    found = list(gpu.conclusions(rows | {share.name: share}))
    assert found == ["disc_small: 15.0 x EGG (asked: 33)", "xtreme: 25% of the limit (asked: 30%)"]
