import json
import threading
import time

import pytest

from ecsuite.language_models.backend import Allowed, Request
from ecsuite.language_models.server import Server
from llama_server import MISSING, LlamaServer
from played_rounds import played, rounds_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"no llama.cpp: {MISSING}"),
    pytest.mark.timeout(600),
]
NAMES = Allowed(choices=("xal", "mup", "dof"))


@pytest.fixture(scope="module")
def server():
    with LlamaServer(slots=2) as running:
        yield running


def asked(server, allowed, draw=0, user="Say a name.", **options):
    backend = Server(Server.Options(url=server.url, model="m", **options))
    return backend.reply(Request(system="You play a game.", user=user, allowed=allowed, draw=draw))


def settings_of(server, *more):
    return [
        "play.agents=4", "play.names=[xal,mup,dof]", "play.at_once=true", "training.num_examples=8",
        "training.batch_size=4", "training.evaluate_every=1", "training.checkpoint_every=1",
        "play.participant=language_model,prompt=plain,memory=1", "play.participant.backend=server",
        f"play.participant.backend.url={server.url}", "play.participant.backend.model=m",
        "play.participant.backend.wait=0.5", "play.participant.backend.concurrency=2", *more,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "allowed",
    [
        NAMES,
        Allowed(symbols=("ka", "ki", "lo"), max_len=3),
        Allowed(symbols=("red", "box"), separator=" ", max_len=3),
        Allowed(symbols=("a-b", "c.d", "#e"), separator=" ", max_len=3),
    ],
    ids=["choices", "syllables", "words", "signs"],
)
def test_a_schema_holds_answers_to_what_is_allowed(allowed, server):
    for draw in range(4):
        reply = asked(server, allowed, draw, temperature=2.0, answer_tokens=64)
        assert allowed.read(reply.text) is not None, reply


def test_a_draw_is_the_seed_and_zero_is_the_likeliest(server):
    said = [asked(server, NAMES, draw, temperature=2.0).text for draw in (*range(8), *range(8))]
    assert said[:8] == said[8:] and len(set(said)) > 1
    assert len({asked(server, NAMES, draw, temperature=0.0).text for draw in range(3)}) == 1


def test_tokens_are_those_that_the_server_counts_and_the_model_has_no_folder(server):
    short, long = (asked(server, NAMES, user=text) for text in ("Say a name.", "Say a name. " * 20))
    assert 10 < short.prompt_tokens < 40 and 60 < long.prompt_tokens - short.prompt_tokens < 100
    assert 5 < short.answer_tokens <= 32
    assert short.model.startswith("SmolLM2-135M-Instruct.Q4_1.gguf ") and "/" not in short.model


def test_an_answer_that_was_cut_is_none(server):
    free = asked(server, Allowed(max_len=6), user="Tell a long story.", structured=False, answer_tokens=4)
    assert (free.text, free.answer_tokens) == ("", 4)
    assert NAMES.read(asked(server, NAMES, answer_tokens=4).text) is None


def test_two_slots_at_once_play_a_game_that_replays_to_the_byte(server, tmp_path):
    played(settings_of(server), tmp_path / "run")
    rounds = rounds_of(tmp_path / "run")
    assert len(rounds) == 8 and {row["said"] for row in rounds} <= {*NAMES.choices}
    played(settings_of(server), tmp_path / "again", replay=tmp_path / "run")
    for file in ("rounds.jsonl", "answers.jsonl", "corpus.jsonl", "metadata.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "run" / file).read_bytes()


def test_a_server_that_is_killed_and_started_again_loses_no_answer(tmp_path):
    with LlamaServer() as server:
        answers, ended = tmp_path / "run" / "answers.jsonl", threading.Event()

        def restart():
            while not ended.is_set() and not (answers.exists() and answers.read_bytes().count(b"\n") >= 4):
                time.sleep(0.05)
            server.stop()
            server.start()

        breaks = threading.Thread(target=restart)
        breaks.start()
        try:
            played(settings_of(server, "play.participant.backend.retries=12"), tmp_path / "run")
        finally:
            ended.set()
            breaks.join()
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert len(rows) == len({row["key"] for row in rows}) == 16 and len(rounds_of(tmp_path / "run")) == 8
