"""Plays of rounds: scripted agents with known ends, models behind a server that fails, stops, limits and replay."""

import hashlib
import io
import json
import resource
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
import torch
from model_server import KEY, ModelServer, first_choices
from stopped_runs import trained

from ecsuite.eval.verification.files import file_rows
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import load_experiment
from ecsuite.games.registry import PLAYS
from ecsuite.games.training import train
from ecsuite.language_models.allowed import Allowed
from ecsuite.language_models.backend import Reply, Request
from ecsuite.language_models.kept import KeptAnswers
from ecsuite.language_models.prompts import read_prompt
from ecsuite.language_models.server import Server
from ecsuite.runtime.errors import ConfigError

MODEL = (
    "play.agents=6", "play.pool=3", "play.at_once=true", "play.participant=language_model", "training.num_examples=40",
    "training.batch_size=10", "training.evaluate_every=2", "training.checkpoint_every=2",
)  # fmt: skip
FINISHED = Path(__file__).parents[2] / "fixtures" / "small" / "finished"
FILES = ("corpus.jsonl", "rounds.jsonl", "answers.jsonl", "metadata.json", "checkpoint-000000004.safetensors")


def played(settings, folder, **how):
    return trained(load_experiment("naming", settings), folder, **how)


def of_server(server, *more):
    return [
        *MODEL, "play.participant.backend=server", f"play.participant.backend.url={server.url}",
        "play.participant.backend.model=m", "play.participant.backend.wait=0.01", *more,
    ]  # fmt: skip


def rounds_of(folder):
    return [json.loads(line) for line in (Path(folder) / "rounds.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", ["collapsing", "bayesian,chooses=most", "win_stay"])
def test_scripted_agents_agree_and_their_corpus_says_on_what(kind, tmp_path):
    more = ["play.pool=3", "play.agents=4"] if kind == "win_stay" else ["play.symbols=letters"]
    result = played([f"play.participant={kind}", *more], tmp_path)
    assert result.measures["consensus"] == 1 and result.measures["accuracy"] == 1
    corpus = read_corpus(tmp_path)
    assert len({tuple(corpus.messages[row]) for row in range(len(corpus.messages))}) <= 2
    assert result.measures["consensus_round"] < 2000 == len(rounds_of(tmp_path))


def test_there_are_as_many_rounds_as_asked_and_agreement_may_end_again(tmp_path):
    played(("play.agents=4", "training.num_examples=10", "training.batch_size=4"), tmp_path)
    assert len(rounds_of(tmp_path)) == 10
    game = load_experiment("naming", ["play.agents=2", "play.objects=2"])
    play = PLAYS.make(game.play, experiment=game, device=torch.device("cpu"))
    play.start()
    changes = [[(0, 0, "a"), (1, 0, "a")], [(0, 0, "b")], [(0, 1, "c"), (1, 1, "c")], [(1, 0, "b")]]
    play.rounds = [object() for _ in changes]
    play._changes = {id(round_): change for round_, change in zip(play.rounds, changes, strict=True)}
    play.noted(0)
    assert play.consensus_at == 4  # and not 3, when both things had been agreed on


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "training.accumulate=2",
            "training.accumulate: a step of play naming has one batch: expected 1, got 2",
        ),
        ("evaluation.mode=sample", "evaluation.mode: nothing is said in evaluations of play naming"),
        ("evaluation.num_valid=8", "^evaluation.num_valid: not read by play naming: expected 1024"),
        ("evaluation.batch_size=8", "^evaluation.batch_size: not read by play naming: expected none"),
        ("play.max_symbols=3", "max_symbols: not read with symbols=pool: expected 12"),
        ("play.names=[a,b] play.pool=3", "pool: not read with names: expected 10"),
        ("play.symbols=text play.names=[a,b]", "names: not read with symbols=text: expected none"),
    ],
)
def test_settings_that_rounds_do_not_read_are_refused(setting, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        played(("play.agents=4", *setting.split()), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_rounds_that_were_damaged_are_found(tmp_path):
    played(("play.agents=4", "training.num_examples=40"), tmp_path)
    assert {row.verdict for row in file_rows(tmp_path)} == {"identical"}
    (tmp_path / "rounds.jsonl").write_bytes((tmp_path / "rounds.jsonl").read_bytes()[:-9])
    assert [row.name for row in file_rows(tmp_path) if row.verdict == "damaged"] == ["rounds.jsonl"]


@pytest.mark.parametrize("at_once", [False, True])
def test_the_corpus_has_what_each_said_last_also_as_the_second_of_two_who_speak_at_once(at_once, tmp_path):
    """On a chain of agents the last one is never the first of two."""
    meets = "play.meets=list,pairs=[[0,1],[1,2],[2,3]]"
    played(["play.agents=4", meets, f"play.at_once={at_once}", "training.num_examples=30"], tmp_path)
    last = {}
    for row in rounds_of(tmp_path):
        last[row["speaker"]] = row["said"]
        if at_once:
            last[row["listener"]] = row["answer"]
    corpus = read_corpus(tmp_path)
    said = [corpus.symbol_names[symbol] for (symbol,) in map(tuple, corpus.messages)]
    assert dict(zip(corpus.columns["speaker"].tolist(), said, strict=True)) == last
    assert sorted(last) == ([0, 1, 2, 3] if at_once else [0, 1, 2])


def test_a_committed_minority_turns_the_others_only_if_it_is_large_enough(tmp_path):
    """Two names, all begin with `b`; the critical share is about a tenth (Xie et al. 2011)."""
    shares = {}
    for number in (2, 20):
        settings = [
            "play.agents=100", "play.pool=2", "play.participant=collapsing,begins_with=b", f"play.num_others={number}",
            "play.other=committed,name=a", "training.num_examples=6000", "training.batch_size=500",
        ]  # fmt: skip
        shares[number] = played(settings, tmp_path / str(number)).measures["others_share"]
    assert shares[2] < 0.1 and shares[20] == 1


def test_meetings_say_who_plays_with_whom(tmp_path):
    played(["play.agents=8", "play.meets=ring", "training.num_examples=200"], tmp_path)
    apart = {(row["speaker"] - row["listener"]) % 8 for row in rounds_of(tmp_path)}
    assert apart == {1, 7}


@pytest.mark.parametrize("settings", [(), MODEL], ids=["scripted", "model"])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(settings, tmp_path):
    settings = [
        *settings,
        "training.num_examples=40",
        "training.batch_size=10",
        "training.checkpoint_every=2",
    ]
    whole = played(settings, tmp_path / "whole")
    assert played(settings, tmp_path / "parts", stop_after=3).stopped == "preempted"
    assert played(settings, tmp_path / "parts", resume=True) == whole
    for file in FILES:
        if (tmp_path / "whole" / file).exists():
            assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_server_that_fails_is_asked_again_and_no_call_is_lost_or_made_twice(tmp_path):
    with ModelServer(every=4) as faulty, ModelServer() as sound:
        played(of_server(faulty), tmp_path / "faulty")
        played(of_server(sound), tmp_path / "sound")
    assert rounds_of(tmp_path / "faulty") == rounds_of(tmp_path / "sound")
    assert len(faulty.answered) == len(set(faulty.answered)) == len(sound.answered) == 80
    answers = [json.loads(line) for line in (tmp_path / "faulty" / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == 80 and {row["model"] for row in answers} == {"scripted-1"}
    row = rounds_of(tmp_path / "sound")[0]
    assert (row["participant_kind"], row["backend"]) == ("language_model scripted-1", "server")
    assert row["prompt_sha256"] == read_prompt("plain").digest


def test_a_limit_ends_the_run_with_its_corpus_and_a_higher_one_goes_on(tmp_path):
    with ModelServer() as server:
        settings, notes = of_server(server), []
        result = played([*settings, "play.participant.max_calls=45"], tmp_path / "parts", notes=notes)
        assert (result.stopped, result.step, len(server.answered)) == ("limit", 2, 45)
        assert any("play.participant.max_calls: the limit of 45 calls is reached" in note for note in notes)
        assert read_corpus(tmp_path / "parts").messages
        played([*settings, "play.participant.max_calls=80"], tmp_path / "parts", resume=True)
        assert len(server.answered) == len(set(server.answered)) == 80
        played(settings, tmp_path / "whole")
    for file in ("rounds.jsonl", "answers.jsonl", "corpus.jsonl"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize(
    ("answer", "tries", "message"),
    [
        (lambda body: "I won't", 2, r"participant: \"I won't\" is not one of: a, b, c; asked 2 times"),
        (lambda body: "\x1b]0;x\x07", 1, r"participant: '\\x1b\]0;x\\x07' is not one of"),
    ],
    ids=["nonsense", "escapes"],
)  # fmt: skip
def test_a_server_that_talks_nonsense_stops_the_run_in_a_line(answer, tries, message, tmp_path):
    with ModelServer(answer=answer) as server, pytest.raises(ConfigError, match=message):
        played(of_server(server, f"play.participant.tries={tries}"), tmp_path / "run")


def test_after_answers_that_are_none_a_run_goes_on_with_more_tries(tmp_path):
    """Those answers are kept: without more tries they are read again, and nobody is asked."""
    with ModelServer(answer=lambda body: "I won't") as server:
        settings = [*of_server(server, "play.participant.backend.concurrency=1"), "play.participant.tries=2"]
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"go on with --resume and more play\.participant\.tries$"):
                played(settings, tmp_path / "run", resume=True)
            assert server.asked == 2
        server.answer = first_choices
        played([*settings[:-1], "play.participant.tries=3"], tmp_path / "run", resume=True)
        with pytest.raises(
            ConfigError, match=r"asked 1 times; it says the same if .*: expected another prompt"
        ):
            server.answer = lambda body: "no"
            played([*settings, "play.participant.backend.temperature=0"], tmp_path / "other")


@pytest.mark.parametrize(
    "body",
    [b"[]", b'{"choices": []}', b'{"choices": [{"message": {"content": 5}}]}', b"[" * 5000, b"\xff"],
    ids=["list", "empty", "number", "deep", "bytes"],
)
def test_a_body_of_another_kind_is_told_in_a_line(body, tmp_path):
    with ModelServer(body=body) as server:
        settings = of_server(server, "play.participant.backend.retries=0")
        with pytest.raises(ConfigError, match=r"can't be asked \([^\n]*\), 1 times") as raised:
            played(settings, tmp_path / "run")
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("answer", ["null", "true", '["la"]', '{"a": 1}'])
def test_an_answer_of_another_type_is_no_word(answer, tmp_path):
    """Free text allows any words, also those of Python's `None`."""
    content = json.dumps({"choices": [{"message": {"content": f'{{"answer": {answer}}}'}}]})
    with ModelServer(body=content.encode()) as server:
        settings = of_server(server, "play.symbols=text", "play.participant.tries=2")
        with pytest.raises(ConfigError, match=r"'' is not at most 12 words; asked 2 times"):
            played(settings, tmp_path / "run")


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('```json\n{"answer": "a"}\n```', "a"),
        ('Here you are:\n\n```JSON\r\n{"answer": "a"}\r\n```\n', "a"),
        ('``` {"answer": 2} ```', "2"),
        ('{"answer": "``` {} ```"}', "``` {} ```"),
        ("```python\na\n```", "```python\na\n```"),
    ],
)
def test_an_answer_in_a_code_fence_is_read(said, answer):
    content = json.dumps({"choices": [{"message": {"content": said}}]})
    with ModelServer(body=content.encode()) as model:
        server = Server(Server.Options(url=model.url, model="m"))
        reply = server.reply(Request(system="", user="", allowed=Allowed(choices=("a", "b")), draw=0))
    assert reply.text == answer


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_longer():
    """As hosted servers send spaces so that a connection stays open."""
    listening, is_over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def drip():
        client, _ = listening.accept()
        with client, suppress(OSError):
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while not is_over.wait(0.05):
                client.sendall(b" ")

    threading.Thread(target=drip, daemon=True).start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = Server(Server.Options(url=url, model="m", timeout=0.4, retries=0))
    began = time.monotonic()
    with listening, pytest.raises(ConfigError, match=r"can't be asked .*timed out.*, 1 times"):
        server.reply(Request(system="", user="", allowed=Allowed(choices=("a", "b")), draw=0))
    is_over.set()
    assert time.monotonic() - began < 5


def test_answers_that_were_edited_are_asked_for_again(tmp_path):
    notes = []
    with ModelServer(model="m\x1b[31m\ud800") as server:
        settings = [*of_server(server), "play.participant.max_calls=45"]
        played(settings, tmp_path / "run")
        file = tmp_path / "run" / "answers.jsonl"
        lines = file.read_text().splitlines(keepends=True)
        edited = lines[0].replace('"text": "', '"text": "zz')
        file.write_text("".join([edited, "[]\n", '{"checksum": 1}\n', *lines[1:], lines[-1][:40]]))
        played(settings[:-1], tmp_path / "run", resume=True, notes=notes)
        assert server.asked == 80 and any("3 answers are damaged" in note for note in notes)
    assert b"\\x1b[31m\\ud800" in json.dumps(rounds_of(tmp_path / "run")[0]).encode().replace(b"\\\\", b"\\")


def test_a_server_that_changes_its_model_stops_the_run(tmp_path):
    with ModelServer() as server:
        settings = of_server(server, "play.participant.backend.concurrency=1")
        played([*settings, "play.participant.max_calls=45"], tmp_path / "run")
        server.model = "scripted-2"
        with pytest.raises(ConfigError, match="the server's model was 'scripted-1' and is now 'scripted-2'"):
            played(settings, tmp_path / "run", resume=True)


def test_the_key_comes_from_the_environment_and_is_nowhere_in_the_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    with ModelServer(key=KEY) as server:
        played(of_server(server, "play.participant.backend.key_variable=TEST_KEY"), tmp_path / "run")
        assert not any(KEY.encode() in file.read_bytes() for file in (tmp_path / "run").iterdir())
        monkeypatch.setenv("TEST_KEY", "sk-another")
        with pytest.raises(ConfigError, match="the server does not accept the key") as raised:
            played(of_server(server, "play.participant.backend.key_variable=TEST_KEY"), tmp_path / "other")
        assert "sk-" not in str(raised.value)
        monkeypatch.setenv("TEST_KEY", f"{KEY}\nx")
        with pytest.raises(ConfigError, match="TEST_KEY: expected a key of plain characters"):
            played(of_server(server, "play.participant.backend.key_variable=TEST_KEY"), tmp_path / "other")
        with pytest.raises(ConfigError, match=r"backend\.url: expected an address without a key") as raised:
            played(
                [*of_server(server), "play.participant.backend.url=http://u:sk-x@host/v1"], tmp_path / "other"
            )
        assert "sk-" not in str(raised.value)
        monkeypatch.delenv("TEST_KEY")
        with pytest.raises(ConfigError, match=r"backend\.key_variable: TEST_KEY is not set"):
            played(of_server(server, "play.participant.backend.key_variable=TEST_KEY"), tmp_path / "other")


def test_a_server_that_is_away_is_told_in_a_line_and_nothing_is_lost(tmp_path):
    with ModelServer() as server:
        settings = of_server(server, "play.participant.backend.retries=1")
        played([*settings, "play.participant.max_calls=45"], tmp_path / "run")
    with pytest.raises(ConfigError, match=r"can't be asked .* 2 times; nothing is lost: go on with --resume"):
        played(settings, tmp_path / "run", resume=True)
    assert len((tmp_path / "run" / "answers.jsonl").read_text().splitlines()) == 45


def test_an_answer_that_can_not_be_written_leaves_the_others_whole(tmp_path):
    answers = KeptAnswers(tmp_path)
    request = Request(system="", user="x", allowed=Allowed(), draw=0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (800, before[1]))
    try:
        with pytest.raises(
            ConfigError, match=r"answers\.jsonl: can't be written: .*; the answers before are kept"
        ):
            for number in range(9):
                answers.add(
                    str(number), "b", request, Reply(text="a", model="m", prompt_tokens=1, answer_tokens=1)
                )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    notes = []
    assert len(KeptAnswers(tmp_path, notes.append).replies()) == len(answers.replies()) > 0 and not notes


def test_a_limit_of_cost_ends_the_run(tmp_path):
    prices = ("play.participant.prompt_price=1000", "play.participant.max_cost=5")
    notes = []
    assert played([*MODEL, *prices], tmp_path, notes=notes).stopped == "limit"
    assert any("play.participant.max_cost: the limit of 5.0 is reached" in note for note in notes)
    paid = json.loads((tmp_path / "metadata.json").read_text())["participants"]["play.participant"]
    tokens = [
        json.loads(line)["prompt_tokens"] for line in (tmp_path / "answers.jsonl").read_text().splitlines()
    ]
    assert paid["cost"] == pytest.approx(sum(tokens) / 1000) and 5 <= paid["cost"] < 5 + max(tokens) / 1000
    with pytest.raises(ConfigError, match="max_cost: expected prompt_price and answer_price"):
        load_experiment("naming", [*MODEL, prices[1]])


TALK = ("play.blocks=2", "training.batch_size=9", "world.num_attributes=2", "world.num_values=3")


def talked(settings, folder, **how):
    steps = load_experiment("talk_chain", [*TALK, *settings])
    quiet = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}
    return train(steps, folder, **quiet, **how)


def test_agents_who_share_a_language_understand_all_of_it_and_pass_it_on(tmp_path):
    """A compositional language, all of it taught: every generation says the same, and nobody errs."""
    result = talked(["play.num_taught=9", "play.language=compositional", "training.num_epochs=3"], tmp_path)
    assert (
        result.measures["accuracy"] == result.measures["recall"] == 1 and result.measures["shortening"] == 0
    )
    tests = [row for row in rounds_of(tmp_path) if row["phase"] == "test"]
    assert len(tests) == 3 * 2 * 9 and all(row["listener"] == -1 for row in tests)
    assert len({(tuple(row["meaning"]), row["said"]) for row in tests}) == 9
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 18 and set(corpus.columns["split"].tolist()) == {"train"}


def test_a_new_generation_knows_what_its_teacher_said_in_the_test_and_nothing_else(tmp_path):
    teachers = set()
    for seed in range(1, 5):
        settings = ["play.blocks=0", "play.num_taught=4", "play.language=none", "training.num_epochs=2"]
        result = talked([*settings, f"training.seed={seed}"], tmp_path / f"{seed}")
        said = {}
        for row in rounds_of(tmp_path / f"{seed}"):
            said.setdefault((row["generation"], row["speaker"]), {})[tuple(row["meaning"])] = row["said"]
        kept = [sum(said[1, 0][each] == said[0, teacher][each] for each in said[1, 0]) for teacher in (0, 1)]
        assert max(kept) >= 4 and min(kept) < 9 and result.measures.keys() == {"recall"}  # nobody listened
        teachers.add(kept.index(max(kept)))
    assert teachers == {0, 1}  # which of them, is drawn


def test_figures_are_of_rounds_that_were_played_and_those_of_training_of_rounds_with_a_listener(tmp_path):
    """Tests have no listener; before a generation is tested nothing is recalled, and of one block none is shorter."""
    settings = ["play.language=none", "training.num_epochs=2", "training.evaluate_every=1", "play.blocks=2"]
    talked(settings, tmp_path)
    rows, log = (
        rounds_of(tmp_path),
        [json.loads(e) for e in (tmp_path / "log.jsonl").read_text().splitlines()],
    )
    assert [sorted({"shortening", "recall"} & entry["valid"].keys()) for entry in log] == [
        [], ["shortening"], ["shortening"], ["shortening"], [], ["shortening"], *[["recall", "shortening"]] * 2
    ]  # fmt: skip
    for step, entry in enumerate(log):
        part = rows[9 * step : 9 * step + 9]
        won = sum(row["success"] for row in part) / 9
        assert entry["train"] == ({"accuracy": won} if part[0]["listener"] >= 0 else {})
    talked([*settings, "training.evaluate_every=8"], tmp_path / "whole")
    train = json.loads((tmp_path / "whole" / "log.jsonl").read_text())["train"]
    heard = [row["success"] for row in rows if row["listener"] >= 0]
    assert train == {"accuracy": sum(heard) / len(heard)} and 0 < sum(heard)


def test_messages_of_rounds_have_no_end_that_would_count(tmp_path):
    summary = talked(["training.num_epochs=1"], tmp_path).summary()
    assert "mean message length" in summary and "EOS" not in summary


def test_a_limit_that_is_reached_in_the_first_step_is_told_in_a_line_and_a_higher_one_goes_on(tmp_path):
    with ModelServer() as server:
        settings = of_server(server)
        with pytest.raises(ConfigError, match="max_calls: the limit of 3 calls is reached; nothing is lost"):
            played([*settings, "play.participant.max_calls=3"], tmp_path / "parts")
        played(settings, tmp_path / "parts", resume=True)
        assert len(server.answered) == 80
        played(settings, tmp_path / "whole")
    for file in FILES:
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_each_of_two_participants_with_one_model_has_its_own_calls_and_limits(tmp_path):
    """The sum of what is told of them is what was asked, also after the run was stopped."""
    two = [
        "play.num_others=2",
        "play.other=language_model,prompt=kouwenhoven2025",
        "play.participant=language_model",
    ]
    settings = [*TALK, *two, "play.agents=4", "training.num_epochs=1", "training.checkpoint_every=1"]
    for folder, how in (("whole", ({},)), ("parts", ({"stop_after": 2}, {"resume": True}))):
        for each in how:
            trained(load_experiment("talk_chain", settings), tmp_path / folder, **each)
        told = json.loads((tmp_path / folder / "metadata.json").read_text())["participants"]
        asked = [json.loads(e) for e in (tmp_path / folder / "answers.jsonl").read_text().splitlines()]
        assert sum(each["calls"] for each in told.values()) == len(asked) == 2 * 18 + 4 * 9
        assert all(each["calls"] >= 18 for each in told.values())
    limit = f"play.participant.max_calls={told['play.participant']['calls']}"
    assert trained(load_experiment("talk_chain", [*settings, limit]), tmp_path / "limit").stopped == "epochs"


def test_networks_are_not_shown_objects_with_other_names_of_values(tmp_path):
    for file, colours in (("a", "red green blue"), ("b", "white black pink")):
        rows = "".join(f"{colour},{shape}\n" for colour in colours.split() for shape in ("cup", "hat", "sun"))
        (tmp_path / f"{file}.csv").write_text(f"colour,shape\n{rows}")
    trained(
        load_experiment(
            "objects",
            [f"world.objects={tmp_path}/a.csv", "training.num_epochs=1", "training.num_examples=32"],
        ),
        tmp_path / "run",
    )
    settings = [
        "play=talk", "play.blocks=1", "play.symbols=letters", "play.names=[a,b,c,d,e,f,g,h,i,j]", "play.max_symbols=5",
        f"play.participant=trained,run={tmp_path}/run", "training.num_epochs=1",
    ]  # fmt: skip
    for file in "ab":
        game = load_experiment(
            "talk_chain", ["world=objects", f"world.objects={tmp_path}/{file}.csv", *settings]
        )
        if file == "a":
            assert trained(game, tmp_path / "talk").stopped == "epochs"
            continue
        with pytest.raises(
            ConfigError, match="was trained on other objects: expected a world of the values colour="
        ):
            trained(game, tmp_path / "other")


def test_the_candidates_of_a_round_are_different_things_with_the_one_that_is_meant():
    game = load_experiment("talk_chain", [*TALK, "play.task=discrimination", "play.candidates=3"])
    play = PLAYS.make(game.play, experiment=game, device=torch.device("cpu"))
    plans = [play._talk(number, number, 0) for number in range(60)]
    assert all(len({*plan.candidates}) == 3 and plan.thing in plan.candidates for plan in plans)
    places = {plan.candidates.index(plan.thing) for plan in plans}
    assert places == {0, 1, 2} and len({each for plan in plans for each in plan.candidates}) == 9


def test_trained_networks_talk_with_a_model(tmp_path):
    """A speaker of the run says what the run says, in the letters of the play; models hear it."""
    from ecsuite.games.runs import load_run

    run = load_run(FINISHED)
    channel = run.pair.channel
    letters = list("abcdefghij")[: channel.vocab_size]
    settings = [
        "play.language=none", "training.num_epochs=1", "play.blocks=1", "play.symbols=letters", f"play.names={letters}",
        f"play.max_symbols={channel.max_len}", "play.participant=language_model", "play.num_others=1",
        f"play.other=trained,run={FINISHED}", "play.num_taught=null",
        f"world.num_attributes={len(run.pair.world.num_values)}", f"world.num_values={run.pair.world.num_values[0]}",
    ]  # fmt: skip
    talked(settings, tmp_path)
    rows = [row for row in rounds_of(tmp_path) if row["speaker"] == 1]
    expected = run.speak([row["meaning"] for row in rows])
    assert [row["message"] for row in rows] == [
        [letters[each - 1] for each in said] or ["a"] for said in expected
    ]
    listened = [row for row in rounds_of(tmp_path) if row["listener"] == 1]
    assert listened and all(row["answer"] in row["candidates"] for row in listened)
    with pytest.raises(ConfigError, match="the world of the play has others"):
        talked([*settings, "world.num_attributes=9"], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_plan_tells_the_calls_and_a_replay_asks_nobody(tmp_path):
    from ecsuite.games.training import cost

    with ModelServer() as server:
        settings = of_server(server)
        planned = cost(load_experiment("naming", settings))["participants"]["play.participant"]
        assert server.asked == 0
        played(settings, tmp_path / "run")
        assert planned["calls"] == server.asked == 80 and planned["hours"] == pytest.approx(80 / 4 / 3600)
    played(settings, tmp_path / "again", replay=tmp_path / "run")
    for file in (*FILES, "config.yaml"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "run" / file).read_bytes()
    with pytest.raises(ConfigError, match="an answer is not among those that were kept"):
        played([*settings, "training.seed=5"], tmp_path / "other", replay=tmp_path / "run")
    with pytest.raises(ConfigError, match="nobody who is asked plays naming"):
        played([], tmp_path / "third", replay=tmp_path / "run")


@pytest.mark.parametrize("symbols", ["pool", "syllables"])
def test_the_plan_counts_equal_questions_once_as_a_model_that_draws_nothing_is_asked(symbols, tmp_path):
    """Its answers follow from the prompt, so those of a plan do; equal ones to all would make few different prompts."""
    from ecsuite.games.training import cost

    def syllables(body):
        number = int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16)
        return json.dumps({"answer": "".join(("pa", "ki", "mu")[number // 3**n % 3] for n in range(4))})

    more = ["play.participant.backend.temperature=0", "training.num_examples=100"]
    if symbols == "syllables":
        more += ["play.symbols=syllables", "play.pool=10", "play.names=[pa,ki,mu]", "play.max_symbols=4"]
    with ModelServer(answer=syllables if symbols == "syllables" else None) as server:
        settings = [each for each in of_server(server) if not (more[2:] and each == "play.pool=3")] + more
        planned = cost(load_experiment("naming", settings))["participants"]["play.participant"]
        played(settings, tmp_path / "run")
    assert planned["calls"] == pytest.approx(len(server.answered), rel=0.05)


def test_a_report_has_the_transcript_and_escapes_what_was_said(tmp_path):
    from ecsuite.eval.html_report.page import write_report
    from ecsuite.eval.methods.methods import methods

    with ModelServer(answer=lambda body: '{"answer": "<b>hi</b>"}') as server:
        more = ("play.symbols=text", "play.at_once=false", "training.num_examples=20")
        played(of_server(server, *more), tmp_path / "run")
    write_report([tmp_path / "run"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    said = str(methods([tmp_path / "run"]))
    assert "Nobody is trained" in said and "are of scripted-1 (backend server, prompt of SHA-256" in said
    assert "Transcripts" in page and "&lt;b&gt;hi&lt;/b&gt;" in page and "<b>hi" not in page
    assert "language_model scripted-1" in page


def asked_of_one(server, number, **options):
    """Ask a server so many questions; returns the seconds that were waited, whose clock stands but for them."""
    made, waited = Server(Server.Options(url=server.url, model="m", wait=0.01, **options)), []
    made.is_over.wait = waited.append
    for draw in range(number):
        made.reply(Request(system="", user="", allowed=Allowed(choices=("a", "b")), draw=draw))
    return waited


def test_no_more_requests_a_minute_are_sent_than_asked(monkeypatch):
    monkeypatch.setattr("ecsuite.language_models.server.time", SimpleNamespace(monotonic=lambda: 100.0))
    with ModelServer() as server:
        assert asked_of_one(server, 3, per_minute=6.0) == [0.0, 10.0, 20.0]
        assert asked_of_one(server, 3) == []


@pytest.mark.parametrize(
    ("told", "waited"), [("7", 7.0), ("100000", 120.0), ("-3", 0.01), ("soon", 0.01), ("nan", 0.01)]
)
def test_a_server_is_asked_again_when_it_says(told, waited, monkeypatch):
    answers = iter([HTTPError("", 429, "", {"Retry-After": told}, io.BytesIO())])

    def sent(self, body):
        if (error := next(answers, None)) is not None:
            raise error
        return {"choices": [{"message": {"content": '{"answer": "a"}'}}]}

    monkeypatch.setattr(Server, "_sent", sent)
    assert asked_of_one(SimpleNamespace(url="http://127.0.0.1:1"), 1) == [waited]
