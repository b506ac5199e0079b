"""The messages of a trained sender for all meanings, as a corpus."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ecsuite.eval.icy.acquisition import Outcome
from ecsuite.eval.icy.learners import LogitsBuilder
from ecsuite.eval.icy.models import make_agent, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.formats import write_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

BATCH = 4096
"""Number of meanings in a batch."""


def write_sender_corpus(
    outcome: Outcome, model: str, geometry: Geometry, protocol: Protocol, folder: Path
) -> Path:
    """Write the messages of a trained sender, with argmax symbols, for all meanings of the language that it learnt.

    Args:
        outcome: Result of the training run, with the sender's parameters.
        model: Name and options of the sender model.
        geometry: Sizes of the language.
        protocol: Protocol with which the sender was trained.
        folder: Parent folder; each corpus gets its own folder.

    Returns:
        The corpus's folder.
    """
    target = language(outcome.grammar, geometry, outcome.seed)
    sender = make_agent(parse_model("sender", model), "sender", geometry, protocol.hidden_size)
    sender.load_state_dict(outcome.weights)
    features = np.zeros(
        (len(target.meanings), geometry.num_attributes, geometry.num_values), dtype=np.float32
    )
    np.put_along_axis(features, target.meanings[..., None], 1.0, axis=2)
    batches = []
    with torch.no_grad():
        for batch in torch.from_numpy(features).flatten(1).split(BATCH):
            builder = LogitsBuilder(geometry.message_length)
            sender(batch, builder)
            # EOS is never a target, and messages have a fixed length: choose among content symbols only.
            batches.append(torch.stack(builder.logits)[..., 1:].argmax(-1).t() + 1)
    messages = torch.cat(batches).numpy().astype(target.messages.dtype)
    corpus = replace(target, messages=messages).corpus()
    about = {
        "speaker": model,
        "taught": target.signature,
        "protocol": protocol.signature(),
        "updates": outcome.steps,
        "symbol_accuracy": float((messages == target.messages).mean()),
    }
    metadata = {key: value for key, value in corpus.metadata.items() if key != "signature"} | about
    name = f"{model}_{outcome.grammar}_{outcome.seed}".replace(":", "-").replace(",", "-")
    settings = f"{geometry}|{protocol.signature()}"
    if settings != f"{Geometry()}|{Protocol().signature()}":
        name += "_" + hashlib.sha256(settings.encode()).hexdigest()[:8]  # other settings, other folder
    write_corpus(replace(corpus, metadata=metadata), folder / name)
    return folder / name
