from dataclasses import replace

import pytest

from ecsuite.people.database import RefusedError, make_database
from ecsuite.people.server import view
from ecsuite.people.simulated import Composer, Memorizer, RandomTypist, play
from ecsuite.people.study import Study, with_texts
from ecsuite.runtime.errors import ConfigError


def held_out(sessions, row):
    answers = sessions.database.answers(row["id"])
    return [answer["is_right"] for answer in answers if answer["kind"] == "held_out"]


def test_published_synth_can_be_answered_once_at_most(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",), protocol="published")
    found = [held_out(study, play(study, f"token{number}", Composer(number))) for number in range(2)]
    assert all(sum(each) <= 1 and len(each) == 3 for each in found) and all(each[0] for each in found)


@pytest.mark.parametrize("dataset", ["synth", "eng"])
def test_who_sees_the_composition_knows_all_held_out_codes_of_balanced(sessions, dataset):
    study = sessions(grammars=("concat",), datasets=(dataset,))
    row = play(study, "token", Composer())
    assert held_out(study, row) == [1, 1, 1] and len(study.database.answers(row["id"])) == 51
    assert row["score"] == sum(answer["points"] for answer in study.database.answers(row["id"]))


def test_an_answer_counts_once(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=3)
    first = study.database.answer(row["id"], 2)
    _, again = study.answer("token", 2, "something else")
    assert again["typed"] == first["typed"] and study.required("token")["score"] == row["score"]
    with pytest.raises(RefusedError, match="can't be answered"):
        study.answer("token", 4, "abcd")


def test_the_file_names_nobody_and_keeps_nothing_of_who_has_withdrawn(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",), platform="prolific")
    token = "A" * 32
    play(study, token, Memorizer(), worker="5f9a5f9a", steps=3)
    study.answer(token, 3, "onlytyped")

    def is_there(text):
        folder = study.database.file.parent
        return any(text.encode() in file.read_bytes() for file in folder.iterdir())

    assert is_there("onlytyped") and not is_there(token) and not is_there("5f9a5f9a")
    assert study.withdraw(token) and not study.withdraw(token)
    assert not is_there("onlytyped") and study.database.answers() == study.database.participants() == []


def test_a_random_typist_scores_little(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    assert max(play(study, f"token{n}", RandomTypist(n))["score"] for n in range(2)) < 50


def test_an_answer_has_the_objects_and_looks_of_when_its_example_was_shown(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    row = play(study, "token", Memorizer(), steps=1)
    for before in (2, 3):
        study.change_panel("token", before, before + 1)
    for _ in range(3):
        study.look("token", 1)
    study.look("token", 0)
    answers = [study.answer("token", step, "zz")[1] for step in (1, 2)]
    assert [(each["num_available"], each["num_looks"]) for each in answers] == [(2, 3), (4, 0)]
    changes = [(each["num_before"], each["num_after"], each["step"]) for each in study.database.table("changes")]
    assert changes == [(2, 3, 1), (3, 4, 1)] and row["score"] == study.required("token")["score"]


def test_who_never_began_the_game_may_begin_in_another_browser(sessions):
    study = sessions(platform="prolific")
    first = study.begin("phone", "5f9a")
    assert study.begin("computer", "5f9a")["id"] == first["id"]
    with pytest.raises(RefusedError, match="has no participant any more"):
        study.go_on("phone", "instructions", {})
    assert play(study, "computer", Memorizer(), steps=1)["step"] == 1


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
