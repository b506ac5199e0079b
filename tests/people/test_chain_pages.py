import hashlib

import pytest

import ecsuite as ec
from browser_participant import CHROMIUM, Player, accessible, rows
from ecsuite.people.chains import read_chains
from ecsuite.people.database import Database, stored_study
from ecsuite.people.export import export
from ecsuite.people.kinds import make_kind

pytest.importorskip("starlette", reason="the extra `people` is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(1200),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium in /usr/bin"),
]  # fmt: skip
CHAIN = "grammars: [hol]\ndatasets: [synth]\nchains: 1\ngenerations: 5\nseen: 4\npasses: 1\nsimulated: true\n"
CHAIN_QUIZ = ("its colour and its shape", "under Training", "type a code for every picture, also for new ones")
PAIRS = "datasets: [synth]\nsimulated: true\nchoices: 3\n"
PAIR_QUIZ = ("their colour and their shape", "the one who types", "when the right object is chosen")


def finish(player):
    player.page.get_by_text("Three last questions").wait_for()
    player.page.get_by_label("no", exact=True).check()
    player.page.get_by_role("button", name="Finish").click()
    player.page.get_by_text("Your score").wait_for()


def learn(player, *, reads=True, loses_connection=False):
    """Play a chain's game: type what was seen, and compose the rest of its halves; returns the answers to the test."""
    player.arrive(*CHAIN_QUIZ, names_objects=True)
    player.page.locator("#typed").wait_for()
    seen, typed = player.codes(), {}
    while player.page.locator("#typed").count():
        if player.is_attention:
            player.answer_attention() if reads else player.answer("zzz")
            continue
        name = player.page.locator("section > figure img").first.get_attribute("alt")
        colour, shape = name.split()
        first = [code[: len(code) // 2] for other, code in seen.items() if other.startswith(colour)]
        last = [code[len(code) // 2 :] for other, code in seen.items() if other.endswith(shape)]
        code = seen.get(name) or (first or ["xx"])[0] + (last or ["yy"])[0]
        is_test = player.page.locator("label[for=typed]").inner_text().startswith("Test:")
        if is_test and loses_connection and len(typed) == 3:
            player.answer(code, trouble="offline")
        else:
            player.answer(code)
        if is_test:
            typed[name] = code
    return typed


def test_a_chain_of_five_generations(serve, visit, tmp_path):
    server, typed = serve(study=CHAIN), []
    player = visit(server.url)
    player.page.get_by_role("button", name="Go on").wait_for()
    for number in range(6):
        following = visit(server.url, 320)
        following.page.get_by_text("Please wait").wait_for()
        if number == 0:
            accessible(following.page)
        found = learn(player, reads=number != 2, loses_connection=number == 1)
        if number != 2:
            typed.append(found)
        finish(player)
        assert [fault for fault in player.faults if "ERR_INTERNET_DISCONNECTED" not in fault] == []
        player = following
        if number < 5:
            player.page.get_by_role("button", name="Go on").wait_for()
    player.page.get_by_text("all the participants that it needs").wait_for()
    database = Database(tmp_path / "runs" / "study" / "people.db")
    study = stored_study(database)
    (chain,) = read_chains(study, database, 0.0)
    assert {number: row["id"] for number, row in chain.counted.items()} == {1: 1, 2: 2, 3: 4, 4: 5, 5: 6}
    export(make_kind(study, database), tmp_path / "data", has_workers=False)
    names = [f"{c} {s}" for c in ("red", "green", "blue") for s in ("circle", "triangle", "square")]
    for generation, codes in enumerate(typed, 1):
        corpus = ec.read_corpus(tmp_path / "data" / "corpora" / f"synth_hol_1_g{generation:02}")
        letters = ["".join(chr(ord("a") + symbol - 1) for symbol in message) for message in corpus.messages]
        assert letters == [codes[name] for name in names]
    assert ec.score(corpus, ["topsim"])["topsim"].value is not None
    assert rows(server, "SELECT COUNT(*) FROM answers") == [(6 * (4 + 9 + 2),)]
    database.close()


def kind(player):
    for name, place in {"speak": "#typed", "choose": "ol.choices", "questions": "textarea"}.items():
        if player.page.locator(place).count():
            return name
    return "partner"


def participant(server, player):
    (cookie,) = player.page.context.cookies()
    token = hashlib.sha256(cookie["value"].encode()).hexdigest()
    return rows(server, f"SELECT id FROM participants WHERE token_hash = '{token}'")[0][0]


def test_twenty_pairs_with_lost_connections(serve, visit):
    server = serve(study=PAIRS + "pairs: 20\nrounds: 4\npartner_seconds: 600\nturn_seconds: 900\n")
    players = [visit(server.url) for _ in range(40)]
    for player in players:
        player.arrive(*PAIR_QUIZ)
    said, chosen, turns = {}, {}, 0
    at_work = dict(enumerate(players))
    for player in players:
        player.page.get_by_text("Please wait:").or_(player.page.locator("#typed")).first.wait_for()
    while at_work:
        for number, player in list(at_work.items()):
            now = kind(player)
            if now == "speak":
                step, trouble = player.example - 1, ("offline", "reload", "", "")[number % 4]
                letters = str.maketrans("0123456789", "abcdefghij")
                said[number, step] = f"word{number}x{step}".translate(letters)
                player.page.locator("#typed").focus()
                player.answer(said[number, step], trouble)
            elif now == "choose":
                step = player.example - 1
                chosen[number, step] = 1 + (number + step) % 3
                player.choose(chosen[number, step])
            elif now == "questions":
                finish(player)
                del at_work[number]
            turns += now in ("speak", "choose")
            if turns == 60:
                turns += 1
                server.kill()
                server.start()
    ids = {participant(server, player): number for number, player in enumerate(players)}
    found = rows(server, "SELECT participant, step, kind, typed FROM answers")
    assert len(found) == 160
    assert {(ids[who], step): typed for who, step, kind, typed in found if kind == "speaking"} == said
    assert {(ids[who], step): int(typed) for who, step, kind, typed in found if kind == "listening"} == chosen
    assert rows(server, "SELECT COUNT(*), COUNT(DISTINCT pair) FROM participants") == [(40, 20)]
    joined = "answers JOIN participants ON id = participant"
    of_pairs = f"SELECT pair, answers.step, answers.kind FROM {joined} ORDER BY 1, 2, 3"
    assert rows(server, of_pairs) == [
        (pair, step, kind) for pair in range(1, 21) for step in range(4) for kind in ("listening", "speaking")
    ]
    total = "SELECT SUM(is_right) FROM answers WHERE participant = id"
    scores = {}
    for pair, score, right in rows(server, f"SELECT pair, score, ({total}) FROM participants"):
        assert score == right and scores.setdefault(pair, score) == score
    assert rows(server, "PRAGMA integrity_check") == [("ok",)]


def test_a_partner_who_leaves_is_one_screen(serve, visit):
    server = serve(study=PAIRS + "pairs: 2\nrounds: 4\npartner_seconds: 6\nleft_code: LEFT17\n")
    players = [visit(server.url, 320) for _ in range(2)]
    for player in players:
        player.arrive(*PAIR_QUIZ)
        if player is players[0]:
            player.page.get_by_text("You have waited").wait_for()
            accessible(player.page)
    for player in players:
        player.page.get_by_text("Please wait:").or_(player.page.locator("#typed")).first.wait_for()
    speaker, listener = sorted(players, key=lambda player: kind(player) != "speak")
    for player in (listener, speaker):
        accessible(player.page)
    speaker.page.locator("#typed").focus()
    speaker.answer("kiba")
    listener.page.locator("ol.choices").wait_for()
    assert "kiba" in listener.page.locator("p.said").inner_text()
    accessible(listener.page)
    context = listener.page.context
    listener.page.close()
    speaker.page.get_by_text("Your partner has left").wait_for()
    assert speaker.page.locator("#completion").inner_text() == "LEFT17"
    accessible(speaker.page)
    speaker.page.reload()
    speaker.page.get_by_text("Your partner has left").wait_for()
    again = Player(context.new_page())
    again.page.goto(server.url)
    again.page.get_by_text("The game has ended").wait_for()
    accessible(again.page)
    assert rows(server, "SELECT typed FROM answers") == [("kiba",)]
    assert [*speaker.faults, *listener.faults, *again.faults] == []
