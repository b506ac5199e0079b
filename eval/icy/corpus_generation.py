"""The messages of trained senders for all meanings, as corpora."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor

from ecsuite.eval.icy.agents import LogitsBuilder, make_agent, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published import CAP
from ecsuite.eval.icy.resolved import Study
from ecsuite.formats import write_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.grammars.words import all_meanings, symbol_type
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.devices import computing

BATCH = 4096
"""Number of meanings in a batch."""


def messages_of(
    model: str, weights: Mapping[str, Tensor], geometry: Geometry, hidden_size: int
) -> NDArray[np.int32]:
    """The messages of a trained sender for all meanings, with argmax symbols, (num_meanings, message_length)."""
    sender = make_agent(parse_model("sender", model), "sender", geometry, hidden_size)
    sender.load_state_dict(dict(weights))
    meanings = all_meanings(geometry)
    features = np.zeros((len(meanings), geometry.num_attributes, geometry.num_values), dtype=np.float32)
    np.put_along_axis(features, meanings[..., None], 1.0, axis=2)
    batches = []
    with torch.no_grad(), computing(torch.device("cpu"), seed=0):
        for batch in torch.from_numpy(features).flatten(1).split(BATCH):
            builder = LogitsBuilder(geometry.message_length)
            sender(batch, builder)
            # EOS is never a target, and messages have a fixed length: choose among content symbols only.
            batches.append(torch.stack(builder.logits)[..., 1:].argmax(-1).t() + 1)
    return torch.cat(batches).numpy().astype(symbol_type(geometry.vocab_size))


def write_corpora(study: Study, results: Mapping[Job, Result]) -> list[Path]:
    """Write the messages of the trained senders of a study into folders in its folder of corpora, and return these.

    Args:
        study: The study.
        results: Of the jobs of `plan_corpora`, with arrays.
    """
    folders = []
    for job, result in results.items():
        if result.failure is None and result.value["is_trained"]:
            assert result.arrays is not None and study.corpora is not None
            messages = load_file(result.arrays)["messages"]
            folders.append(
                write_sender_corpus(study, job.inputs["model"], result.value, messages, study.corpora)
            )
    return folders


def write_sender_corpus(
    study: Study, model: str, run: Mapping[str, Any], messages: NDArray[np.integer], folder: Path
) -> Path:
    """Write the messages of one trained sender, (num_meanings, message_length), and return the folder of the corpus.

    `run` is its result, with grammar, seed and steps; `folder` the parent folder.
    """
    target = language(run["grammar"], study.geometry, run["seed"])
    corpus = replace(target, messages=messages).corpus()
    signature = study.training.signature(study.cap)
    about = {
        "speaker": model,
        "taught": target.signature,
        "protocol": signature,
        "updates": run["steps"],
        "symbol_accuracy": float((messages == target.messages).mean()),
    }
    metadata = {key: value for key, value in corpus.metadata.items() if key != "signature"} | about
    name = f"{model}_{run['grammar']}_{run['seed']}".replace(":", "-").replace(",", "-")
    settings = f"{study.geometry}|{signature}"
    if settings != f"{Geometry()}|{Protocol().signature(CAP)}":
        name += "_" + hashlib.sha256(settings.encode()).hexdigest()[:8]  # other settings, other folder
    write_corpus(replace(corpus, metadata=metadata), folder / name)
    return folder / name
