"""`ecsuite list`: the kinds, the names of a kind, and everything about one name."""

import pytest

from ecsuite.commands.named import KINDS, singular


@pytest.mark.sample(20)
@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_details(as_json, kind):
    names = list(KINDS[kind].names())
    for name in names[:: 1 + len(names) // 8]:
        details = as_json("list", singular(kind).replace(" ", "-"), name.replace("CELL", "lstm"))
        assert details["about"] and details["kind"] == singular(kind)


def test_details_of_a_part_are_its_options(ecsuite, as_json):
    code, out, err = ecsuite("list", "channel", "gumbel")
    assert (code, err) == (0, "") and out.startswith("gumbel (channel): Gumbel-softmax (Jang et al. 2017, ")
    assert "temperature            1.0       number, above 0 " in out
    assert "Use it: ecsuite train-game disc_small --channel gumbel,vocab_size=5" in out
    options = {option["name"]: option for option in as_json("list", "sender", "husendz:lstm")["options"]}
    assert options["cell"]["default"] == "lstm" and options["hidden_size"]["values"] == "integer, at least 1"
    (option,) = as_json("list", "grammar", "shufdet")["options"]
    assert option == {"name": "decides", "default": "last", "values": "last, first", "about": ""}
    (option,) = as_json("list", "grammar", "dyck")["options"]
    assert (option["name"], option["default"]) == ("open_probability", "0.5")


def test_traits_of_a_metric_of_one_s_own_are_told(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ecsuite("new", "metric", "unique.py")[0] == 0
    told = " ".join(ecsuite("list", "metric", "./unique.py:unique")[1].split())
    assert "unique: Does a whole message tell its meaning? (higher is better)." in told


def test_a_game_is_told_in_twenty_lines_with_one_round(ecsuite, as_json):
    code, out, err = ecsuite("list", "games", "disc_tiny")
    assert (code, err) == (0, "")
    assert "every setting: ecsuite config disc_tiny" in out and len(out.splitlines()) < 40
    details = as_json("list", "game", "disc_tiny")
    facts = details["sections"]
    assert facts["seen"].startswith(
        "objects of 2 attributes of 4 values. The sender sees the target; the receiver"
    )
    assert facts["said"].startswith("5 symbols, up to 3 per message")
    assert facts["asked"].startswith("Identify the target among the candidates.")
    assert facts["chance"].startswith("accuracy 0.25: ") and facts["trained"].startswith("512 steps")
    assert [line.split()[0] for line in details["round"][1:]] == ["target", *["distractor"] * 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("list chanel", "unknown kind 'chanel'; did you mean 'channels'? choices: channels, "),
        ("list channel gumbl", "unknown channel 'gumbl'; did you mean 'gumbel'? choices: soft, "),
        ("list game disc", "unknown game 'disc'; did you mean 'disc_"),
    ],
)
def test_unknown_names_are_refused(ecsuite, arguments, message):
    code, out, err = ecsuite(*arguments.split())
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(message)
