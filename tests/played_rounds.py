"""Rounds of naming that tests play, of scripted agents and of models behind a server."""

import json
from pathlib import Path

from ecsuite.games.config.experiment import load_experiment
from stopped_runs import trained

MODEL = (
    "play.agents=6", "play.pool=3", "play.at_once=true", "play.participant=language_model", "training.num_examples=40",
    "training.batch_size=10", "training.evaluate_every=2", "training.checkpoint_every=2",
)  # fmt: skip


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
