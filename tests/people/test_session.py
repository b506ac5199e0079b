"""A whole game: what is judged, stored once, and what a participant can do twice without harm."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.people.codes import QUIZ
from ecsuite.people.database import RefusedError, make_database
from ecsuite.people.export import export
from ecsuite.people.kinds import read_records
from ecsuite.people.server import view
from ecsuite.people.simulated import Composer, Memorizer, RandomTypist, play
from ecsuite.people.study import Study, with_texts
from ecsuite.runtime.errors import ConfigError


def held_out(sessions, row):
    answers = sessions.database.answers(row["id"])
    return [answer["is_right"] for answer in answers if answer["kind"] == "held_out"]


@pytest.mark.parametrize("dataset", ["synth", "eng"])
def test_who_sees_the_composition_knows_all_held_out_codes_of_balanced(sessions, dataset):
    study = sessions(grammars=("concat",), datasets=(dataset,))
    for number in range(2):
        row = play(study, f"token{number}", Composer())
        assert held_out(study, row) == [1, 1, 1]
        assert row["score"] == sum(answer["points"] for answer in study.database.answers(row["id"]))
        assert len(study.database.answers(row["id"])) == 51


def test_published_synth_can_be_answered_once_at_most(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",), protocol="published")
    found = [held_out(study, play(study, f"token{number}", Composer(number))) for number in range(2)]
    assert all(sum(each) <= 1 and len(each) == 3 for each in found) and all(each[0] for each in found)


def test_a_random_typist_scores_little(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    assert max(play(study, f"token{n}", RandomTypist(n))["score"] for n in range(2)) < 50


def test_who_memorises_knows_no_held_out_code(sessions):
    study = sessions(grammars=("concat", "rot"), datasets=("synth",))
    found = [held_out(study, play(study, f"token{number}", Memorizer(number))) for number in range(12)]
    assert np.mean(found) <= 1 / 36  # codes are drawn for each participant, of 256 possible ones


def test_an_answer_counts_once(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=3)
    first = study.database.answer(row["id"], 2)
    _, again = study.answer("token", 2, "something else")
    assert again["typed"] == first["typed"] and study.required("token")["score"] == row["score"]
    with pytest.raises(RefusedError, match="can't be answered"):
        study.answer("token", 4, "abcd")


def test_the_panel_changes_once_and_within_bounds(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    play(study, "token", Memorizer(), steps=1)
    for before, after, expected in ((2, 3, 3), (2, 3, 3), (3, 2, 2), (2, 1, 2), (2, 4, 2)):
        study.change_panel("token", before, after)
        assert study.required("token")["num_available"] == expected
    for number in range(2, 9):
        study.change_panel("token", number, number + 1)
    assert study.required("token")["num_available"] == 6
    assert study.required("token")["thing"] is not None


def test_the_attention_check_gives_no_points(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Composer())
    (check,) = [each for each in study.database.answers(row["id"]) if each["kind"] == "attention"]
    assert (check["is_right"], check["points"]) == (1, 0)


def test_an_answer_has_the_objects_and_looks_of_when_its_example_was_shown(sessions):
    """However the panel changes meanwhile, and however often it is opened in the example before."""
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=1)
    for before in (2, 3):
        study.change_panel("token", before, before + 1)
    for _ in range(3):
        study.look("token", 1)
    study.look("token", 0)
    answers = [study.answer("token", step, "zz")[1] for step in (1, 2)]
    assert [(each["num_available"], each["num_looks"]) for each in answers] == [(2, 3), (4, 0)]
    changes = [
        (each["num_before"], each["num_after"], each["step"]) for each in study.database.table("changes")
    ]
    assert changes == [(2, 3, 1), (3, 4, 1)] and row["score"] == study.required("token")["score"]


def test_points_are_by_the_objects_when_the_example_was_shown(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=1)
    game = study.kind.game(row)
    study.change_panel("token", 2, 3)
    assert study.answer("token", 1, game.codes.texts[row["thing"]])[1]["points"] == 1
    row = study.required("token")
    assert study.answer("token", 2, game.codes.texts[row["thing"]])[1]["points"] == 2


def test_assignment_stays_balanced_when_people_drop_out(sessions):
    now = [0.0]
    study = sessions(
        grammars=("concat", "perm"),
        datasets=("synth",),
        participants=1,
        idle_minutes=60,
        clock=lambda: now[0],
    )
    for number in range(2):
        study.begin(f"gone{number}")
    now[0] = 3601.0
    rows = [play(study, f"token{number}", Memorizer(number)) for number in range(2)]
    assert sorted(row["grammar"] for row in rows) == ["concat", "perm"]
    with pytest.raises(RefusedError, match="all the participants"):
        study.begin("late")


def test_who_has_finished_keeps_the_place(sessions):
    now = [0.0]
    study = sessions(grammars=("concat",), datasets=("synth",), participants=1, clock=lambda: now[0])
    play(study, "token", Memorizer())
    now[0] = 1e9
    with pytest.raises(RefusedError, match="all the participants"):
        study.begin("late")
    _, (row,) = study.kind.status(read_records(study.database), now[0])
    assert (row["finished"], row["at_work"], row["missing"]) == (1, 0, 0)


def test_who_never_begins_the_game_has_no_place_for_long(sessions):
    now = [0.0]
    study = sessions(
        grammars=("concat",), datasets=("synth",), participants=2, begin_minutes=15, clock=lambda: now[0]
    )
    study.begin("visits")
    play(study, "plays", Memorizer(), steps=1)
    now[0] = 901.0
    assert study.kind.status(read_records(study.database), now[0])[1][0]["at_work"] == 1
    play(study, "comes", Memorizer(), steps=1)
    with pytest.raises(RefusedError, match="all the participants"):
        study.begin("late")
    assert play(study, "visits", Memorizer())["stage"] == "finished"  # may still play


@pytest.mark.parametrize(
    ("platform", "same", "another"),
    [("prolific", "5F9A ", "5f9b"), ("mturk", "\ta1b2c3", "A1B2C4"), ("none", " w1 ", "W1")],
)
def test_a_worker_takes_part_once(sessions, platform, same, another):
    worker = {"prolific": "5f9a", "mturk": "A1B2C3", "none": "w1"}[platform]
    study = sessions(platform=platform)
    play(study, "token", Memorizer(), worker=worker, steps=1)
    with pytest.raises(RefusedError, match="already begun"):
        study.begin("another", same)
    stored = study.required("token")["worker"]
    assert stored is not None and worker not in stored
    study.begin("another", another)


@pytest.mark.parametrize("worker", ["", "  ", "\u200b", "a b", "5f9\u200ba", "{{%PROLIFIC_PID%}}", "é"])
def test_a_platform_needs_an_id(sessions, worker):
    study = sessions(platform="prolific")
    with pytest.raises(RefusedError, match="Open the study from the platform"):
        study.begin("token", worker)
    assert study.database.participants() == []


def test_who_never_began_the_game_may_begin_in_another_browser(sessions):
    study = sessions(platform="prolific")
    first = study.begin("phone", "5f9a")
    assert study.begin("computer", "5f9a")["id"] == first["id"]
    with pytest.raises(RefusedError, match="has no participant any more"):
        study.go_on("phone", "instructions", {})
    assert play(study, "computer", Memorizer(), steps=1)["step"] == 1


def test_only_who_has_all_of_the_quiz_right_begins(sessions):
    study = sessions()
    study.begin("token")
    study.go_on("token", "instructions", {})
    right = {name: question.right for name, question in QUIZ.items()}
    for attempt, name in enumerate(QUIZ):
        assert not study.take_quiz("token", attempt, right | {name: "no such choice"})[1]
        assert not study.take_quiz("token", attempt, right)[1]  # the same attempt again
    row = study.required("token")
    assert (row["stage"], row["num_quiz_attempts"]) == ("quiz", 3)
    assert study.take_quiz("token", 3, right)[1] and study.required("token")["stage"] == "game"


def test_the_file_names_nobody_and_keeps_nothing_of_who_has_withdrawn(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",), platform="prolific")
    token = "A" * 32
    play(study, token, Memorizer(), worker="5f9a5f9a", steps=3)
    study.answer(token, 3, "onlytyped")

    def is_there(text):
        folder = study.database.file.parent
        return any(text.encode() in file.read_bytes() for file in folder.iterdir())

    assert is_there("onlytyped") and not is_there(token) and not is_there("5f9a5f9a")
    study.withdraw(token)
    assert not is_there("onlytyped")


def test_long_replies_are_cut(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=51)
    study.database.update(row["id"], {"stage": "questions"})
    study.reply("token", {"strategy": "a" * 2001, "unasked": "b"})
    stored = {each["question"]: each["reply"] for each in study.database.table("replies")}
    assert stored["strategy"] == "a" * 2000 and "unasked" not in stored


def test_settings_that_answers_depend_on_stay(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    folder = study.database.file.parent
    for change in ({"datasets": ("eng",)}, {"seed": 1}, {"protocol": "published"}, {"worker_ids": "plain"}):
        with pytest.raises(ConfigError, match=f"answers of another study: {next(iter(change))} is"):
            make_database(replace(study.study, **change), folder)
    make_database(replace(study.study, participants=5, begin_minutes=1), folder).close()


def test_a_worker_is_not_known_across_studies(sessions):
    stored = [sessions(folder).begin("token", "5f9a")["worker"] for folder in ("one", "other")]
    assert len({*stored}) == 2


@pytest.mark.parametrize(("protocol", "early"), [("balanced", 0), ("published", 1)])
def test_an_object_is_unlocked_every_eight_examples(sessions, protocol, early):
    now = iter(range(10**6))
    study = sessions(
        grammars=("concat",), datasets=("synth",), protocol=protocol, clock=lambda: float(next(now))
    )
    row = play(study, "token", Memorizer())
    answers = [each for each in study.database.answers(row["id"]) if each["kind"] != "attention"]
    expected = [min(2 + (example + early) // 8, 6) for example in range(50)]
    assert [each["num_available"] for each in answers] == expected
    assert all(each["response_ms"] == 1000.0 and each["answered_at"] > each["shown_at"] for each in answers)


def test_withdrawing_deletes_everything(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    play(study, "stays", Memorizer())
    play(study, "goes", Memorizer())
    assert study.withdraw("goes") and not study.withdraw("goes")
    assert len(study.database.participants()) == 1 and len(study.database.answers()) == 51
    assert {row["participant"] for row in study.database.table("changes")} == {1}


def test_a_further_export_has_nothing_of_who_has_withdrawn(sessions, tmp_path):
    study = sessions(grammars=("concat",), datasets=("synth",))
    for token in ("stays", "goes"):
        play(study, token, Memorizer())
    for withdrawn in (None, "goes"):
        if withdrawn is not None:
            study.withdraw(withdrawn)
        export(study.kind, tmp_path / "export", has_workers=False)
        written = {file.name for file in (tmp_path / "export" / "corpora").iterdir()}
        assert written == {"P001"} | ({"P002"} if withdrawn is None else set())
    assert not any("P002" in file.read_text() for file in (tmp_path / "export").glob("*.*"))


def test_the_number_of_who_has_withdrawn_is_given_to_nobody(sessions):
    """An earlier export has it."""
    study = sessions(grammars=("concat",), datasets=("synth",))
    assert [study.begin(token)["id"] for token in ("one", "other")] == [1, 2]
    study.withdraw("other")
    assert study.begin("next")["id"] == 3
    for token in ("one", "next"):
        study.withdraw(token)
    assert study.begin("last")["id"] == 4


@pytest.mark.parametrize("other", [{"participants": 5}, {"pairs": 2}])
def test_a_study_stays_of_its_kind(sessions, other):
    study, changed = sessions(chains=2, generations=3), with_texts(Study(name="study", **other))
    with pytest.raises(ConfigError, match=r"a study with chains, not a study (of codes|with pairs)"):
        make_database(changed, study.database.file.parent)


@pytest.mark.parametrize(
    ("url", "code", "expected"),
    [
        ("https://x.example/?cc={code}", "DONE", "https://x.example/?cc=DONE"),
        ("https://x.example/?cc={code}", "", ""),
        ("https://x.example/", "", "https://x.example/"),
    ],
)
def test_the_last_page_leads_back_with_a_code(sessions, url, code, expected):
    study = sessions(grammars=("concat",), datasets=("synth",), return_url=url, completion_code=code)
    play(study, "token", Memorizer())
    state = view(study, "token", study.required("token"), False)
    assert (state["completion_code"], state["return_url"]) == (code, expected)
