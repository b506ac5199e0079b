import time

import pytest

from ecsuite.people.database import make_database
from ecsuite.people.kinds import BadRequestError, load_agents, make_kind
from ecsuite.people.rounds import with_person
from ecsuite.people.server import view
from ecsuite.people.session import Sessions
from ecsuite.people.study import FINISHED, Study, with_texts
from ecsuite.runtime.errors import ConfigError
from played_rounds import rounds_of
from stopped_runs import trained

pytest.importorskip("markdown_it", reason="the extra `people` is not installed")
NAMES = """
play:
  {kind: naming, agents: 3, pool: 3, at_once: true, participant: {kind: language_model, memory: 2, prompt: ashery2025}}
training: {num_examples: 12, num_epochs: 1, batch_size: 4, evaluate_every: 1, checkpoint_every: 1}
"""


def sessions_of(tmp_path, text, name="game"):
    file = tmp_path / f"{name}.yaml"
    file.write_text(text)
    study = with_texts(Study(name="with_rounds", play=str(file)))
    assert load_agents(study) is None
    database = make_database(study, tmp_path / "study")
    return Sessions(make_kind(study, database))


def state(sessions, token):
    """What the page shows, as soon as it is the person's turn, or the game is over."""
    for _ in range(500):
        sessions.wait(token)
        found = view(sessions, token, sessions.required(token), is_trial=True)
        if found["stage"] == FINISHED or found.get("game", {}).get("view", {}).get("kind") == "round":
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def begin(sessions):
    token = sessions.new_token()
    sessions.begin(token)
    sessions.go_on(token, "instructions", {"has_sound": False, "names_objects": False})
    return token


def play(sessions, token, answer, steps=None):
    """Answer until it is over, or so many steps; returns what was shown."""
    found = []
    while (now := state(sessions, token))["stage"] != FINISHED and len(found) != steps:
        found.append(now["game"])
        sessions.answer(token, now["game"]["step"], answer(now["game"]), 900.0)
    return found


def test_what_can_not_be_answered_is_told_and_who_withdraws_leaves_nothing(tmp_path):
    sessions = sessions_of(tmp_path, NAMES.replace("pool: 3", "symbols: letters, max_symbols: 2"))
    token = begin(sessions)
    row = state(sessions, token) and sessions.required(token)
    with pytest.raises(BadRequestError, match="Expected 1 to 2 of these symbols"):
        sessions.kind.read(row, "abc")
    assert sessions.kind.read(row, "AB.") == "ab"
    assert sessions.withdraw(token)
    assert not (tmp_path / "study" / "P001").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((NAMES, "play: {kind: acting, environment: riddle}"), "or a game of rounds (naming, talk), got play acting"),
        (("pool: 3", "pool: 3, num_others: 1, other: {kind: committed, name: a}"), "play.other: expected {kind"),
        (("memory: 2", "backend: page"), "expected at most 1 agent with backend page, got 3"),
        (("memory: 2", "backend: {kind: server, model: m}"), "play.participant.backend.url: expected an address"),
        (
            ("memory: 2", "backend: {kind: server, model: m, url: 'http://127.0.0.1:9/v1', key_variable: NO_KEY}"),
            "play.participant.backend.key_variable: NO_KEY is not set",
        ),
    ],
    ids=["kind", "others", "three", "server", "key"],
)  # fmt: skip
def test_games_that_nobody_can_play_are_refused(change, message, tmp_path):
    with pytest.raises(ConfigError) as raised:
        sessions_of(tmp_path, NAMES.replace(*change))
    assert message in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "study").exists()


def test_a_person_meets_models_and_leaves_a_run_that_is_replayed(tmp_path):
    sessions = sessions_of(tmp_path, NAMES)
    token = begin(sessions)
    shown = play(sessions, token, lambda game: str(1 + game["step"] % 3))
    game, row = sessions.kind.game(sessions.required(token)), sessions.required(token)
    assert game.example_of(game.num_steps - 1) == game.num_examples - 1  # the last step waits for the end
    folder = tmp_path / "study" / "P001"
    rows = [each for each in rounds_of(folder) if 2 in (each["speaker"], each["listener"])]
    own = [each["said"] if each["speaker"] == 2 else each["answer"] for each in rows]
    assert own == [each["view"]["choices"][each["step"] % 3] for each in shown]
    assert row["score"] == sum(each["success"] for each in rows)
    trained(with_person(sessions.study.play, row["seed"])[0], tmp_path / "again", replay=folder)
    for file in ("rounds.jsonl", "corpus.jsonl", "answers.jsonl"):
        assert (tmp_path / "again" / file).read_bytes() == (folder / file).read_bytes()
