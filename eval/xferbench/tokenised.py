"""Texts in tokens, kept: what a protocol makes of a text is the same for every source and seed."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from ecsuite.corpus import write_atomically
from ecsuite.eval.learning.data import Target, Windows
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.texts import Text

VERSION = 1
"""Raised whenever the same text would become other tokens."""
SIZES = ("context", "vocab_size", "bpe_bytes", "tune_tokens", "test_tokens")
"""Of a preset, what decides the tokens."""


def tokenised(text: Text, preset: Preset, protocol: str, folder: Path | None) -> Target:
    """What is tuned and tested on, by a protocol.

    Args:
        text: A language.
        preset: Sizes.
        protocol: A name in `PROTOCOLS`.
        folder: Where tokens are kept, by the hash of all that decides them; None keeps nothing.

    Raises:
        ConfigError: If the text is too short, or cannot be read.
    """
    if folder is None:
        return PROTOCOLS[protocol].target(text, preset)
    sizes = {name: value for name, value in asdict(preset).items() if name in SIZES}
    key = json.dumps([VERSION, text.name, text.digest, protocol, sizes], sort_keys=True)
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.safetensors"
    kept = _read(file, key)
    if kept is not None:
        return kept
    target = PROTOCOLS[protocol].target(text, preset)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, _as_bytes(target, key))
    return target


def _as_bytes(target: Target, key: str) -> bytes:
    windows = {"tune": target.tune, "test": target.test}
    rules = {name: [each.num_context, each.ignored] for name, each in windows.items()}
    told = {"vocab_size": target.vocab_size, "repeats": target.repeats, "rules": rules, "key": key}
    return save(
        {name: each.symbols.contiguous() for name, each in windows.items()},
        {name: json.dumps(value) for name, value in told.items()},
    )


def _read(file: Path, key: str) -> Target | None:
    """What was kept; None if there is nothing, or it is damaged or not ours."""
    try:
        with safe_open(file, framework="pt") as opened:
            told = {name: json.loads(value) for name, value in (opened.metadata() or {}).items()}
            if told.get("key") != key:
                return None
            windows = {
                name: Windows(symbols=opened.get_tensor(name), num_context=context, ignored=ignored)
                for name, (context, ignored) in told["rules"].items()
            }
    except (OSError, SafetensorError, ValueError):
        return None
    return Target(vocab_size=told["vocab_size"], repeats=told["repeats"], **windows)
