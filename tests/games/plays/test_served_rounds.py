"""Models behind a server that fails, stops, and has limits; kept answers; replay."""

import hashlib
import io
import json
import resource
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
from model_server import KEY, ModelServer, first_choices
from played_rounds import FILES, of_server, played, rounds_of

from ecsuite.eval.results.verification.recompute import VerifyOptions
from ecsuite.eval.results.verification.verify import verify_all
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import cost
from ecsuite.language_models.asking import KeptAnswers
from ecsuite.language_models.backend import Allowed, Reply, Request
from ecsuite.language_models.prompts import read_prompt
from ecsuite.language_models.server import Server
from ecsuite.runtime.errors import ConfigError


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
            with pytest.raises(
                ConfigError, match=r"nothing is lost: run this again .*, with more play\.participant\.tries$"
            ):
                played(settings, tmp_path / "run", resume=True)
            assert server.asked == 2
        server.answer = first_choices
        played([*settings[:-1], "play.participant.tries=3"], tmp_path / "run", resume=True)
        with pytest.raises(
            ConfigError, match=r"asked 1 times; its answer is deterministic: change the prompt"
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
        ("<think>\nb? <think>\n</think>\n\na", "a"),
        ('<think></think>{"answer": "a"}', "a"),
        ("<think>b", ""),
        ("a <think>b</think>", "a <think>b</think>"),
    ],
)
def test_an_answer_in_a_code_fence_or_after_thoughts_is_read(said, answer):
    content = json.dumps({"choices": [{"message": {"content": said}}]})
    with ModelServer(body=content.encode()) as model:
        server = Server(Server.Options(url=model.url, model="m"))
        reply = server.reply(Request(system="", user="", allowed=Allowed(choices=("a", "b")), draw=0))
    assert reply.text == answer


def replied(server, said, allowed, more="", **options):
    """What a backend makes of what a server says, whose reply has more keys."""
    server.body = f'{{"choices": [{{"message": {{"content": {json.dumps(said)}}}{more}}}]}}'.encode()
    backend = Server(Server.Options(url=server.url, model="m", **options))
    return backend.reply(Request(system="", user="", allowed=allowed, draw=0)).text


@pytest.mark.parametrize(
    ("said", "structured", "text"),
    [
        ('{"answer": "a small d', True, ""),
        ("a small d", True, ""),
        ("a small d", False, ""),
        ("\na small dog\nsince", False, "a small dog"),
        ('{"answer": "a small dog"}', True, "a small dog"),
    ],
)
def test_a_message_that_was_cut_is_none(said, structured, text):
    """Nobody knows its end; a choice has none but its own."""
    with ModelServer() as server:
        cut = ', "finish_reason": "length"'
        assert replied(server, said, Allowed(max_len=4), cut, structured=structured) == text
        assert replied(server, "a", Allowed(choices=("a", "b")), cut, structured=structured) == "a"
        if not said.startswith("{"):
            assert replied(server, said, Allowed(max_len=4), structured=structured) == said


def test_tokens_that_a_server_does_not_tell_are_about_one_for_four_letters():
    """So that limits of tokens and costs hold for it, too."""
    with ModelServer(body=b'{"choices": [{"message": {"content": "a small dog"}}]}') as server:
        backend = Server(Server.Options(url=server.url, model="m"))
        reply = backend.reply(Request(system="a" * 9, user="b" * 8, allowed=Allowed(max_len=4), draw=0))
    assert (reply.prompt_tokens, reply.answer_tokens) == (3 + 2, 3)


def test_an_answer_that_was_cut_is_told_with_the_setting(tmp_path):
    content = {"choices": [{"message": {"content": ""}}], "usage": {"completion_tokens": 32}}
    with ModelServer(body=json.dumps(content).encode()) as server:
        with pytest.raises(
            ConfigError, match=r"it was cut after play\.participant\.backend\.answer_tokens=32"
        ):
            played(of_server(server, "play.participant.tries=2"), tmp_path / "run")


@pytest.mark.parametrize(
    "content", ['{"error": {"message": "too\\nlong"}}', '{"message": "too long"}', "too\nlong"]
)
@pytest.mark.parametrize(("status", "advice"), [(400, "structured=false"), (422, "run this again")])
def test_what_a_server_says_of_an_error_is_told_without_the_key(content, status, advice, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)

    def sent(self, body):
        raise HTTPError("", status, "", {}, io.BytesIO(content.replace("long", f"long {KEY}").encode()))

    monkeypatch.setattr(Server, "_send", sent)
    server = Server(Server.Options(url="http://127.0.0.1:1", model="m", key_variable="TEST_KEY"))
    with pytest.raises(ConfigError, match=rf"answered {status} \(too long …\); .*{advice}"):
        server.reply(Request(system="", user="", allowed=Allowed(), draw=0))


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
        server.model = "scripted-1"  # as nothing of the other was kept, it goes on
        played(settings, tmp_path / "run", resume=True)
        assert len(server.answered) == 81


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
        settings = of_server(server, "play.participant.backend.key_variable=TEST_KEY")
        with pytest.raises(ConfigError, match=r"backend\.key_variable: TEST_KEY is not set"):
            played(settings, tmp_path / "third")
        assert not (tmp_path / "third").exists()
        # Who has no key can plan, repeat and verify all the same.
        assert cost(load_experiment("naming", settings))["participants"]["play.participant"]["calls"] == 80
        played(settings, tmp_path / "again", replay=tmp_path / "run")
        assert verify_all([tmp_path / "again"], VerifyOptions()).agrees


def test_a_server_that_is_away_is_told_in_a_line_and_nothing_is_lost(tmp_path):
    with ModelServer() as server:
        settings = of_server(server, "play.participant.backend.retries=1")
        played([*settings, "play.participant.max_calls=45"], tmp_path / "run")
    with pytest.raises(ConfigError, match=r"can't be asked .* 2 times; nothing is lost: run this again"):
        played(settings, tmp_path / "run", resume=True)
    assert len((tmp_path / "run" / "answers.jsonl").read_text().splitlines()) == 45


def test_an_answer_that_can_not_be_written_leaves_the_others_whole(tmp_path):
    answers = KeptAnswers(tmp_path)
    request = Request(system="", user="x", allowed=Allowed(), draw=0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (800, before[1]))
    try:
        with pytest.raises(
            ConfigError, match=r"answers\.jsonl: can't be written: .*; earlier answers are stored"
        ):
            for number in range(9):
                answers.add(
                    str(number), "b", request, Reply(text="a", model="m", prompt_tokens=1, answer_tokens=1)
                )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    notes = []
    assert len(KeptAnswers(tmp_path, notes.append).replies) == len(answers.replies) > 0 and not notes


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


def test_the_plan_tells_the_calls_and_a_replay_asks_nobody(tmp_path):
    with ModelServer() as server:
        settings = of_server(server)
        planned = cost(load_experiment("naming", settings))["participants"]["play.participant"]
        assert server.asked == 0
        played(settings, tmp_path / "run")
        assert planned["calls"] == server.asked == 80 and planned["hours"] == pytest.approx(80 / 4 / 3600)
    played(settings, tmp_path / "again", replay=tmp_path / "run")
    for file in (*FILES, "config.yaml"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "run" / file).read_bytes()
    with pytest.raises(ConfigError, match="an answer is not among the stored answers"):
        played([*settings, "training.seed=5"], tmp_path / "other", replay=tmp_path / "run")
    file, notes = tmp_path / "run" / "answers.jsonl", []
    file.write_bytes(file.read_bytes().replace(b'"draw": ', b'"draw": 1', 1))
    with pytest.raises(ConfigError, match="an answer is not among the stored answers"):
        played(settings, tmp_path / "fourth", replay=tmp_path / "run", notes=notes)
    assert any(note.endswith("1 answers are damaged") for note in notes)
    with pytest.raises(ConfigError, match="no language model or person takes part in naming"):
        played([], tmp_path / "third", replay=tmp_path / "run")


@pytest.mark.parametrize("symbols", ["pool", "syllables"])
def test_the_plan_counts_equal_questions_once_as_a_model_that_draws_nothing_is_asked(symbols, tmp_path):
    """Its answers follow from the prompt, so those of a plan do; equal ones to all would make few different prompts."""

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
    from ecsuite.eval.views.html.page import write_report
    from ecsuite.eval.views.methods.methods import methods

    with ModelServer(answer=lambda body: '{"answer": "<b>hi</b>"}') as server:
        more = ("play.symbols=text", "play.at_once=false", "training.num_examples=20")
        played(of_server(server, *more), tmp_path / "run")
    write_report([tmp_path / "run"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    said = str(methods([tmp_path / "run"]))
    assert "No agent is trained" in said and "come from scripted-1 (backend server, prompt of SHA-256" in said
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

    monkeypatch.setattr(Server, "_send", sent)
    assert asked_of_one(SimpleNamespace(url="http://127.0.0.1:1"), 1) == [waited]
