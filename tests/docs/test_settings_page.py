"""The page of settings is that of the present registries."""

from settings_page import FILE, page


def test_the_page_is_current():
    assert FILE.read_text() == page(), "run `python tests/settings_page.py`"


def test_bounds_and_choices_are_written():
    lines = page().splitlines()
    assert any(line.startswith("| `temperature` | `1.0` | number, above 0 | Softmax") for line in lines)
    assert any(line.startswith("| `distractors` | `random` | `random`, `hard` |") for line in lines)
