"""Models behind a server that fails, stops, and has limits; kept answers; replay."""

import hashlib
import io
import json
import resource
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest

from ecsuite.eval.results.verification.recompute import VerifyOptions
from ecsuite.eval.results.verification.verify import verify_all
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import cost
from ecsuite.language_models.asking import KeptAnswers
from ecsuite.language_models.backend import Allowed, Reply, Request
from ecsuite.language_models.server import Server
from ecsuite.runtime.errors import ConfigError
from model_server import KEY, ModelServer
from played_rounds import FILES, of_server, played


def test_an_answer_that_was_cut_is_told_with_the_setting(tmp_path):
    content = {"choices": [{"message": {"content": ""}}], "usage": {"completion_tokens": 32}}
    message = r"it was cut after play\.participant\.backend\.answer_tokens=32"
    with ModelServer(body=json.dumps(content).encode()) as server, pytest.raises(ConfigError, match=message):
        played(of_server(server, "play.participant.tries=2"), tmp_path / "run")


@pytest.mark.parametrize("content", ['{"error": {"message": "too\\nlong"}}', '{"message": "too long"}'])
@pytest.mark.parametrize(("status", "advice"), [(400, "structured=false"), (422, "run this again")])
def test_what_a_server_says_of_an_error_is_told_without_the_key(content, status, advice, monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)

    def sent(self, body):
        raise HTTPError("", status, "", {}, io.BytesIO(content.replace("long", f"long {KEY}").encode()))

    monkeypatch.setattr(Server, "_send", sent)
    server = Server(Server.Options(url="http://127.0.0.1:1", model="m", key_variable="TEST_KEY"))
    with pytest.raises(ConfigError, match=rf"answered {status} \(too long …\); .*{advice}"):
        server.reply(Request(system="", user="", allowed=Allowed(), draw=0))


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
        settings = of_server(server, "play.participant.backend.key_variable=TEST_KEY")
        played(settings, tmp_path / "run")
        assert not any(KEY.encode() in file.read_bytes() for file in (tmp_path / "run").iterdir())
        with_key = [*of_server(server), "play.participant.backend.url=http://u:sk-x@host/v1"]
        for key, given, message in (
            ("sk-another", settings, "the server does not accept the key"),
            (f"{KEY}\nx", settings, "TEST_KEY: expected a key of plain characters"),
            (KEY, with_key, r"backend\.url: expected an address without a key"),
        ):
            monkeypatch.setenv("TEST_KEY", key)
            with pytest.raises(ConfigError, match=message) as raised:
                played(given, tmp_path / "other")
            assert "sk-" not in str(raised.value)
        monkeypatch.delenv("TEST_KEY")
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
    answers, before = KeptAnswers(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    request = Request(system="", user="x", allowed=Allowed(), draw=0)
    reply = Reply(text="a", model="m", prompt_tokens=1, answer_tokens=1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (800, before[1]))
    try:
        with pytest.raises(ConfigError, match=r"answers\.jsonl: can't be written: .*; earlier answers are"):
            for number in range(9):
                answers.add(str(number), "b", request, reply)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    notes = []
    assert len(KeptAnswers(tmp_path, notes.append).replies) == len(answers.replies) > 0 and not notes


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
