import pytest

from ecsuite.language_models.backend import Allowed
from ecsuite.language_models.prompts import VARIABLES, read_prompt
from ecsuite.runtime.errors import ConfigError

KNOWN = {name: "" for name in VARIABLES} | {
    "memory": [], "taught": [], "candidates": [], "choices": [], "num_agents": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{% block user %}\n{{ objekt }}{% endblock %}", r"2: unknown variable 'objekt'; did you mean 'object'\?"),
        ("{% block user %}\n\n{{ memory[0].said }}{% endblock %}", "3: list object has no element 0"),
        ("{% block user %}{{ object", "1: unexpected end of template"),
        ("no block", r"1: expected a block: {% block user %}"),
        ("{% block user %}{{ object.__class__.__mro__ }}{% endblock %}", "1: access to attribute '__class__'"),
        ("{% block user %}{% include 'x' %}{% endblock %}", "1: "),
        ("{% block user %}{{ range(999999999) }}{% endblock %}", "1: "),
    ],
    ids=["variable", "element", "syntax", "no block", "attribute", "include", "range"],
)  # fmt: skip
def test_a_template_that_fails_names_its_line(text, message, tmp_path):
    file = tmp_path / "mine.jinja"
    file.write_text(text)
    with pytest.raises(ConfigError, match=f"mine.jinja:{message}") as raised:
        read_prompt(str(file)).render(KNOWN)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("allowed", "said", "answer"),
    [
        (Allowed(choices=("a", "b")), ' "B". \nbecause', "b"),
        (Allowed(choices=("a", "b")), "neither", None),
        (Allowed(symbols=("ka", "k", "a"), max_len=2), "kaka", "kaka"),
        (Allowed(symbols=("ka", "ki"), max_len=2), "kakaki", None),
        (Allowed(symbols=("red", "box"), separator=" "), "Red box", "red box"),
        (Allowed(symbols=("Red", "BOX"), separator=" "), "red Box", "Red BOX"),
        (Allowed(symbols=("Ka", "İ")), "kaKAi̇", "KaKaİ"),
        (Allowed(symbols=("Ka",)), "ka-ka", None),
        (Allowed(max_len=3), "a small dog", "a small dog"),
        (Allowed(max_len=3), '"A small dog."', "A small dog"),
        (Allowed(max_len=3), "...", None),
        (Allowed(max_len=3), "\x1b[31mred", None),
        (Allowed(choices=("a",)), "", None),
    ],
)
def test_answers_are_read_as_meant(allowed, said, answer):
    assert allowed.read(said) == answer
