"""A person in a play of rounds: meets a model, goes on after a restart, and leaves a run as all others."""

import json
import time
from collections import Counter

import pytest
from stopped_runs import trained

from ecsuite.eval.results.verification.files import check_files
from ecsuite.formats import read_corpus
from ecsuite.people.database import RefusedError, make_database
from ecsuite.people.export import export, response_rows
from ecsuite.people.kinds import BadRequestError, load_agents, make_kind, read_records
from ecsuite.people.rounds import STOPPED, with_person
from ecsuite.people.server import view
from ecsuite.people.session import Sessions
from ecsuite.people.study import FINISHED, Study, with_texts
from ecsuite.runtime.errors import ConfigError

pytest.importorskip("markdown_it", reason="the extra `people` is not installed")
NAMES = """
play:
  {kind: naming, agents: 3, pool: 3, at_once: true, participant: {kind: language_model, memory: 2, prompt: ashery2025}}
training: {num_examples: 12, num_epochs: 1, batch_size: 4, evaluate_every: 1, checkpoint_every: 1}
"""
TALK = """
play: {kind: talk, agents: 2, candidates: 3, symbols: letters, max_symbols: 3, blocks: 1}
world: {kind: attributes, num_attributes: 2, num_values: 2}
training: {num_epochs: 1, batch_size: 4, evaluate_every: 1, checkpoint_every: 2}
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


def rounds_of(folder):
    return [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]


def test_a_person_meets_models_and_leaves_a_run_that_is_replayed(tmp_path):
    sessions = sessions_of(tmp_path, NAMES)
    token = begin(sessions)
    judge, judged = sessions.database.judge, Counter()
    sessions.database.judge = lambda *given: judged.update([given[1]]) or judge(*given)
    for typed in ("0", "4", "a"):
        with pytest.raises(RefusedError):
            sessions.answer(token, state(sessions, token)["game"]["step"], typed, 900.0)
    shown = play(sessions, token, lambda game: str(1 + game["step"] % 3))
    assert max(judged.values()) <= 2  # when the round was over, and when all were
    game = sessions.kind.game(sessions.required(token))
    assert game.example_of(game.num_steps - 1) == game.num_examples - 1  # where the end is waited for
    folder = tmp_path / "study" / "P001"
    rows = [row for row in rounds_of(folder) if 2 in (row["speaker"], row["listener"])]
    own = [row["said"] if row["speaker"] == 2 else row["answer"] for row in rows]
    assert len(rounds_of(folder)) == 12 and own == [
        game["view"]["choices"][game["step"] % 3] for game in shown
    ]
    row = sessions.required(token)
    assert row["score"] == sum(each["success"] for each in rows)
    assert [answer["is_right"] for answer in sessions.database.answers(1)] == [r["success"] for r in rows]
    assert {each["participant_kind"] for each in rows if each["speaker"] == 2} <= {"language_model person"}
    assert "Round 2: Player 1 chose" in shown[-1]["view"]["name"] and shown[1]["told"]
    experiment, _ = with_person(sessions.study.play, row["seed"])
    trained(experiment, tmp_path / "again", replay=folder)
    for file in ("rounds.jsonl", "corpus.jsonl", "answers.jsonl"):
        assert (tmp_path / "again" / file).read_bytes() == (folder / file).read_bytes()
    report = sessions.kind.report(read_records(sessions.database))
    assert report.data["participants"][0]["rounds"] == len(rows)
    assert report.tables[0].notes == ["0 of 1 participants did not finish"]
    with pytest.raises(ConfigError, match=r"are met in their game: expected .*P001/config\.yaml"):
        load_agents(Study(name="again", run=str(folder)))
    export(sessions.kind, tmp_path / "data", has_workers=False)
    assert len(read_corpus(tmp_path / "data" / "corpora" / "P001").messages) == 3
    assert {row.verdict for row in check_files(tmp_path / "data" / "corpora" / "P001")} == {"identical"}
    [row] = json.loads((tmp_path / "data" / "participants.json").read_text())
    header = (tmp_path / "data" / "participants.csv").read_text().splitlines()[0]
    assert list(row) == header.split(",")  # and no rules of a study of codes, by which all would be left out


def test_a_server_that_is_started_again_goes_on_where_the_person_was(tmp_path):
    first = sessions_of(tmp_path, TALK)
    token = begin(first)
    shown = play(first, token, lambda game: "1" if game["view"]["choices"] else "Ab", steps=3)
    rows = response_rows(first.kind, read_records(first.database), set())
    assert [row["correct"] is None for row in rows] == [False, False, True]  # the last is not over
    first.close()
    again = sessions_of(tmp_path, TALK)
    shown += play(again, token, lambda game: "1" if game["view"]["choices"] else "ab")
    assert [game["step"] for game in shown] == list(range(len(shown)))
    rows = rounds_of(tmp_path / "study" / "P001")
    assert len(rows) == 4 + 8 and {row["said"] for row in rows if row["speaker"] == 1} == {"ab"}
    answers = again.database.answers(1)
    assert {answer["kind"] for answer in answers} <= {"round_speaking", "round_listening", "round_test"}
    # In the test, which half of the rounds and more are, nobody listens: nothing of it is right or wrong.
    [played] = again.kind.report(read_records(again.database)).data["participants"]
    heard = [row["success"] for row in rows if row["listener"] >= 0]
    assert (played["rounds"], played["success"]) == (len(heard), sum(heard) / len(heard)) and len(heard) == 4
    export(again.kind, tmp_path / "data", has_workers=False)
    responses = json.loads((tmp_path / "data" / "responses.json").read_text())
    assert all((row["correct"] is None) == (row["phase"] == "round_test") for row in responses)
    by_number = {each["round"]: each for each in rows}
    game = again.kind.game(again.required(token))
    for row in responses:
        played = by_number[game.rounds[row["trial"] - 1][0]]
        is_listener = row["phase"] == "round_listening"
        answered = (played["answer"], row["item"]) if is_listener else (played["said"], None)
        assert (row["message"], row["response"], row["target"]) == (played["said"], *answered)
    assert sum(row["correct"] or 0 for row in responses) == sum(heard) == again.required(token)["score"]


def test_what_can_not_be_answered_is_told_and_who_withdraws_leaves_nothing(tmp_path):
    sessions = sessions_of(tmp_path, NAMES.replace("pool: 3", "symbols: letters, max_symbols: 2"))
    token = begin(sessions)
    row = state(sessions, token) and sessions.required(token)
    with pytest.raises(BadRequestError, match="Expected 1 to 2 of these symbols"):
        sessions.kind.read(row, "abc")
    assert sessions.kind.read(row, "AB.") == "ab"
    assert sessions.withdraw(token)
    assert not (tmp_path / "study" / "P001").exists()


def test_a_person_is_told_when_a_model_can_not_be_asked_and_the_terminal_why(tmp_path, capsys):
    server = "memory: 2, backend: {kind: server, url: 'http://127.0.0.1:9/v1', model: m, retries: 0}"
    sessions = sessions_of(tmp_path, NAMES.replace("memory: 2", server))
    token = begin(sessions)
    for _ in range(500):
        sessions.wait(token)
        if (
            told := view(sessions, token, sessions.required(token), is_trial=True)["game"]["told"]
        ) == STOPPED:
            break
        time.sleep(0.01)
    assert told == STOPPED
    assert capsys.readouterr().err.count("can't be asked") == 1
    sessions.close()


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


def test_a_page_needs_a_person(tmp_path):
    experiment, _ = with_person("naming", 1)
    with pytest.raises(ConfigError, match=r"play\.other\.backend page: needs a person"):
        trained(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()
