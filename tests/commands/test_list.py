"""`ecsuite list`: the kinds, the names of a kind, and everything about one name."""

import json
from pathlib import Path

import pytest

from ecsuite.commands.named import KINDS, singular


def test_kinds_have_a_line_each(ecsuite):
    code, out, err = ecsuite("list")
    assert (code, err) == (0, "") and len(out.splitlines()) == len(KINDS) + 2
    for kind, entry in KINDS.items():
        names = entry.names()
        (line,) = (line for line in out.splitlines() if line.split()[:1] == [kind.replace(" ", "-")])
        assert line.split()[1] == str(len(names)) and set(entry.usual) <= set(names)


def test_the_names_of_a_kind_have_a_line_each(ecsuite):
    code, out, err = ecsuite("list", "channel")
    assert (code, err) == (0, "") and ecsuite("list", "Channels") == (0, out, "")
    names = KINDS["channels"].names()
    assert [line.split(None, 1) for line in out.splitlines()[:-2]] == [list(each) for each in names.items()]
    assert out.splitlines()[-1] == "Details of a name: ecsuite list channel soft"
    assert json.loads(ecsuite("list", "channels", "--json")[1]) == names
    assert ecsuite("list", "xferbench-protocols")[0] == 0


@pytest.mark.sample(20)
@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_details(as_json, kind):
    """Of many names a few: the pages of games, settings and scores have those of all."""
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


def test_details_of_a_play_a_distance_and_an_entry_of_a_table(ecsuite, as_json):
    assert as_json("list", "play", "talk")["use"] == "ecsuite train-game talk_chain"
    assert as_json("list", "play", "signalling")["use"] == "ecsuite train-game disc_small"
    assert ecsuite("list", "frequencies", "power_law")[1].startswith("power_law (frequencies): by a power")
    assert ecsuite("new", "distance", "apart.py")[0] == 0
    assert as_json("list", "distance", "./apart.py:apart")["source"] == "apart.py"
    for kind, name in (("distance", "hamming"), ("prompt", "plain"), ("xtreme-task", "pawsx")):
        details = as_json("list", kind, name)  # nothing of the types in which Python has them
        assert details.keys() == {"kind", "name", "about"} and name in ecsuite("list", kind, name)[1]


def test_details_of_a_metric_say_which_way_is_better(ecsuite):
    code, out, _ = ecsuite("list", "metric", "topsim,correlation=pearson")
    told = " ".join(out.split())
    assert code == 0 and "topographic similarity: Is it compositional? (higher is better)" in told
    assert "1 if both distances rank all pairs of messages alike" in told and "spearman, pearson" in told
    told = " ".join(ecsuite("list", "metric", "has")[1].split())
    assert "has, Harris's articulation scheme: Is it natural-like (lengths, segments)? Far above" in told
    assert "Its signature has the number of messages: branching entropies" in told


def test_traits_of_a_metric_of_one_s_own_are_told(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ecsuite("new", "metric", "unique.py")[0] == 0
    told = " ".join(ecsuite("list", "metric", "./unique.py:unique")[1].split())
    assert "unique: Does a whole message tell its meaning? (higher is better)." in told


def test_traits_of_every_score_of_a_metric_are_in_json(as_json):
    segments, messages = as_json("list", "metric", "zla")["scores"]
    assert (segments["name"], messages["name"]) == ("zla_segments", "zla_messages")
    assert messages["direction"] == "lower" and messages["depends_on_size"]


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


def test_a_game_of_ones_own_and_one_without_its_data_are_told(ecsuite, as_json):
    Path("mine.yaml").write_text("world: {num_attributes: 3}\nsociety: {senders: 2}\ntask: reconstruction\n")
    facts = as_json("list", "game", "mine.yaml")["sections"]
    assert facts["seen"].startswith("objects of 3 attributes") and "2 senders and 1 receiver" in facts["by"]
    assert as_json("list", "game", "yao")["sections"]["seen"].startswith(
        "Objects of your own file: --set world"
    )
    assert as_json("list", "game", "images")["sections"]["seen"].startswith("Not known without its data: ")
    code, out, err = ecsuite("list", "game", "disk_tiny")
    assert (code, out) == (2, "") and "did you mean 'disc_tiny'" in err


def test_details_of_a_users_part(ecsuite, as_json):
    assert ecsuite("new", "channel", "noisy.py")[0] == 0
    details = as_json("list", "channel", "./noisy.py:Noisy")
    assert details["about"].startswith("Gumbel-softmax whose symbols") and details["source"] == "noisy.py"
    option = details["options"][-1]
    assert (option["name"], option["default"]) == ("confusion", "0.1")
    assert option["values"] == "number, at least 0, below 1" and option["about"].startswith("Share of")
    code, out, err = ecsuite("list", "sender", "./noisy.py:Noisi")
    assert (code, out) == (2, "") and err.startswith("./noisy.py: has no Noisi; it has Noisy")


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
