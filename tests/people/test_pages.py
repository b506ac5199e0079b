import pytest

import ecsuite as ec
from browser_participant import CHROMIUM, Player, accessible, rows
from ecsuite.people.codes import CodesGame

pytest.importorskip("starlette", reason="the extra `people` is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium in /usr/bin"),
]  # fmt: skip
STUDY = """
grammars: [concat]
datasets: [synth]
participants: 50
platform: prolific
completion_code: CODE17
return_url: https://app.prolific.com/submissions/complete?cc=CODE17
"""


@pytest.fixture
def study(serve):
    return serve(study=STUDY)


@pytest.fixture
def player(study, visit):
    player = visit()
    player.begin(f"{study.url}?PROLIFIC_PID=abc123")
    return player


LANGUAGES = [(name, "synth") for name in ("concat", "perm", "proj", "rot", "shufdet", "hol", "rot+perm")]


@pytest.mark.parametrize(("grammar", "dataset"), [*LANGUAGES, ("concat", "eng"), ("shufdet", "eng")])
def test_a_whole_game(serve, visit, grammar, dataset):
    server = serve("try", grammar, "--dataset", dataset)
    player = visit(server.url)
    player.page.get_by_label("Name colours and shapes in words").check()
    player.page.get_by_role("button", name="Go on").click()
    player.quiz("its size", "nowhere", "one")
    player.page.get_by_text("Not everything was right").wait_for()
    player.quiz("its colour and its shape", "under Training", "four")
    player.page.locator("#typed").wait_for()
    player.play()
    player.page.get_by_label("How did you work out codes").fill("<script>alert(1)</script>")
    player.page.get_by_label("no", exact=True).check()
    player.page.get_by_role("button", name="Finish").click()
    player.page.get_by_text("Your score").wait_for()
    assert int(player.page.locator("p.big").inner_text().split()[2]) >= 100
    assert player.faults == [] and server.stop() == 0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents") / "run"
    quick = {"training.num_examples": 2048, "training.num_epochs": 2, "evaluation.corpus_size": 16}
    quiet = {"progress": lambda *_: None, "note": lambda _: None}
    return ec.train("disc_tiny", out=folder, overrides=quick, device="cpu", **quiet)


@pytest.mark.parametrize(("role", "width"), [("receiver", 1000), ("sender", 320), ("receiver", 320)])
def test_a_whole_game_with_agents(serve, visit, run, role, width):
    server = serve("play", str(run.folder), "--role", role)
    player = visit(server.url, width, 700)
    player.page.get_by_label("Name colours and shapes in words").check()
    player.page.get_by_role("button", name="Go on").click()
    player.page.locator("#typed, ol.choices").first.wait_for()
    accessible(player.page)
    player.page.get_by_role("tab", name="Training (4)").click()
    assert len(player.codes()) == 4
    accessible(player.page)
    player.page.get_by_role("tab", name="Test").click()
    for number in range(50):
        assert player.example == number + 1
        if role == "sender":
            player.page.locator("#typed").focus()
            player.answer("ab")
        elif number < 49:
            player.choose(1 + number % 4)
        else:
            player.page.locator("ol.choices button").first.click()
        if number == 20:
            player.page.reload()
            player.page.locator("#typed, ol.choices").first.wait_for()
    player.page.get_by_text("Right answers").wait_for()
    assert player.page.locator("tbody tr").count() == 5
    accessible(player.page)
    assert player.faults == [] and server.stop() == 0


def test_a_reload_and_the_back_button_lose_nothing(study, player):
    player.answer("abcd")
    assert player.example == 2
    picture = player.page.locator("section img").first.get_attribute("src")
    player.page.reload()
    player.page.locator("#typed").wait_for()
    assert player.example == 2 and player.page.locator("section img").first.get_attribute("src") == picture
    player.answer("abcd")
    player.page.goto("about:blank")
    player.page.go_back()
    player.page.locator("#typed").wait_for()
    assert player.example == 3
    assert rows(study, "SELECT step FROM answers") == [(0,), (1,)]
    assert player.faults == []


def test_two_tabs_count_an_example_once(study, player):
    other = Player(player.page.context.new_page())
    other.page.goto(study.url)
    other.page.locator("#typed").wait_for()
    player.answer("aaaa")
    other.answer("bbbb")
    assert "answered in another window" in other.page.locator(".result").inner_text()
    assert player.example == other.example == 2
    assert rows(study, "SELECT step, typed FROM answers") == [(0, "aaaa")]


def test_a_lost_connection_and_a_killed_server_lose_nothing(study, player):
    def stored():
        return [typed for (typed,) in rows(study, "SELECT typed FROM answers")]

    player.answer("aaaa")
    player.answer("bbbb", "offline", mend=lambda: stored() == ["aaaa"] or pytest.fail(str(stored())))
    assert player.example == 3 and not player.page.locator("#connection").inner_text()
    study.kill()
    player.answer("cccc", mend=study.start)
    assert player.example == 4 and stored() == ["aaaa", "bbbb", "cccc"]
    assert rows(study, "PRAGMA integrity_check") == [("ok",)]


def test_the_panel_the_points_and_withdrawing(study, player):
    player.page.get_by_role("tab", name="Training (2)").click()
    player.page.get_by_role("button", name="Add an object").click()
    player.page.get_by_role("tab", name="Training (3)").wait_for()
    assert len(player.codes()) == 3
    player.page.get_by_role("button", name="Remove an object").click()
    player.page.get_by_role("tab", name="Training (2)").wait_for()
    assert player.page.get_by_role("button", name="Remove an object").is_disabled()
    ((*known, meaning),) = rows(study, "SELECT dataset, grammar, protocol, seed, thing FROM participants")
    game = CodesGame(**dict(zip(("dataset", "grammar", "protocol", "seed"), known, strict=True)))
    player.page.get_by_role("tab", name="Test").click()
    player.page.locator("#typed").focus()
    player.answer(game.codes.texts[meaning].upper())
    assert player.score == 1 and "Right! 1 point more." in player.page.locator(".result").inner_text()
    player.page.once("dialog", lambda dialog: dialog.accept())
    player.page.get_by_role("button", name="Withdraw").click()
    player.page.get_by_text("You have withdrawn").wait_for()
    for table in ("participants", "answers"):
        assert rows(study, f"SELECT COUNT(*) FROM {table}") == [(0,)]
    assert player.faults == []


def test_the_last_page_has_the_code_and_the_way_back(study, player, visit):
    player.play()
    player.page.get_by_label("no", exact=True).check()
    player.page.get_by_role("button", name="Finish").click()
    assert player.page.locator("#completion").inner_text() == "CODE17"
    assert "prolific.com" in player.page.get_by_text("Return to the platform").get_attribute("href")
    visit(f"{study.url}?PROLIFIC_PID=abc123").page.get_by_text("You have already begun this study").wait_for()
    (worker,) = rows(study, "SELECT worker FROM participants")[0]
    assert len(worker) == 64


@pytest.mark.parametrize("size", [(1000, 800), (320, 640)], ids=["wide", "phone"])
def test_every_screen_is_accessible(study, visit, size):
    player, seen = visit(f"{study.url}?PROLIFIC_PID=abc123", *size, begins=False), []

    def check(name):
        accessible(player.page)
        seen.append(name)

    player.page.get_by_role("button", name="I agree: begin").wait_for()
    check("consent")
    player.page.get_by_role("button", name="I agree: begin").click()
    player.page.get_by_role("button", name="Go on").wait_for()
    check("instructions")
    player.page.get_by_label("Name colours and shapes in words").check()
    player.page.get_by_role("button", name="Go on").click()
    player.page.get_by_text("Three questions first").wait_for()
    check("quiz")
    player.quiz("its size", "nowhere", "one")
    player.page.get_by_text("Not everything was right").wait_for()
    check("quiz, wrong")
    player.quiz("its colour and its shape", "under Training", "four")
    player.page.locator("#typed").wait_for()
    check("game")
    player.page.get_by_role("tab", name="Training (2)").click()
    check("training")
    player.page.get_by_role("tab", name="Test").click()
    player.page.locator("#typed").focus()
    player.answer("zz")
    check("wrong answer")
    while not player.is_attention:
        player.play(until=player.example + 1)
    check("attention check")
    player.play()
    player.page.get_by_text("Three last questions").wait_for()
    check("questions")
    player.page.get_by_label("no", exact=True).check()
    player.page.get_by_role("button", name="Finish").click()
    player.page.get_by_text("Your score").wait_for()
    check("last page")
    assert len(seen) == 10 and player.faults == []
