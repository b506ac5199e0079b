"""What is checked before the work of a command that draws."""

import sys

import pytest

from ecsuite.eval.views.figures.canvas import prepare_picture
from ecsuite.runtime.errors import ConfigError


def test_the_folder_of_a_picture_is_created_before_the_work(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "a.png"):
        prepare_picture(tmp_path / "deep" / name)
    assert (tmp_path / "deep").is_dir()


@pytest.mark.parametrize("name", ["a.txt", "a.jpeg", "a", "png"])
def test_other_suffixes_are_refused_and_nothing_is_created(tmp_path, name):
    with pytest.raises(
        ConfigError, match=rf"{name}: expected the name of a picture, ending in \.svg, \.pdf, \.png$"
    ):
        prepare_picture(tmp_path / "deep" / name)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    wanted = r"^a picture needs matplotlib: pip install -e '\.\[plots\]' in the clone of ecsuite$"
    with pytest.raises(ConfigError, match=wanted):
        prepare_picture(tmp_path / "a.svg")
