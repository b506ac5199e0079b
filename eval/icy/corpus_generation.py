"""What a trained sender says of all meanings, as a corpus."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ecsuite.agents.spec import parse_agent
from ecsuite.eval.icy.acquisition import Outcome
from ecsuite.eval.icy.learners import LogitsBuilder, make_agent
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.formats import write_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

BATCH = 4096
"""Meanings that are spoken of at once."""


def write_speech(outcome: Outcome, model: str, geometry: Geometry, protocol: Protocol, folder: Path) -> Path:
    """Write the likeliest symbols of a trained sender, for all meanings of the language that it learnt.

    Args:
        outcome: With the sender's parameters.
        model: Name and options of the sender.
        geometry: Of the language.
        protocol: That it was trained by.
        folder: Where each corpus gets a folder of its own.

    Returns:
        The corpus's folder.
    """
    taught = language(outcome.grammar, geometry, outcome.seed)
    sender = make_agent(parse_agent("sender", model), "sender", geometry, protocol.hidden_size)
    sender.load_state_dict(outcome.weights)
    features = np.zeros(
        (len(taught.meanings), geometry.num_attributes, geometry.num_values), dtype=np.float32
    )
    np.put_along_axis(features, taught.meanings[..., None], 1.0, axis=2)
    said = []
    with torch.no_grad():
        for batch in torch.from_numpy(features).flatten(1).split(BATCH):
            builder = LogitsBuilder(geometry.message_length)
            sender(batch, builder)
            # EOS is never a target, and a message has a fixed length: only content symbols are said.
            said.append(torch.stack(builder.scores)[..., 1:].argmax(-1).t() + 1)
    messages = torch.cat(said).numpy().astype(taught.messages.dtype)
    corpus = replace(taught, messages=messages).corpus()
    about = {
        "speaker": model,
        "taught": taught.signature,
        "protocol": protocol.signature(),
        "updates": outcome.steps,
        "symbol_accuracy": float((messages == taught.messages).mean()),
    }
    metadata = {key: value for key, value in corpus.metadata.items() if key != "signature"} | about
    name = f"{model}_{outcome.grammar}_{outcome.seed}".replace(":", "-").replace(",", "-")
    how = f"{geometry}|{protocol.signature()}"
    if how != f"{Geometry()}|{Protocol().signature()}":
        name += "_" + hashlib.sha256(how.encode()).hexdigest()[:8]  # another setting, another folder
    write_corpus(replace(corpus, metadata=metadata), folder / name)
    return folder / name
