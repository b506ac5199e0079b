"""Cache of tokenised texts: the tokens of a text do not depend on source and seed."""

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
"""Increased whenever the same text would become other tokens."""
SIZES = ("context", "vocab_size", "bpe_bytes", "tune_tokens", "test_tokens")
"""Settings of a preset that determine the tokens."""


def tokenised(text: Text, preset: Preset, protocol: str, folder: Path | None) -> Target:
    """Fine-tuning and test data of a text by a protocol.

    Args:
        text: The text.
        preset: Sizes.
        protocol: A name in `PROTOCOLS`.
        folder: Cache folder; files are named by a hash of everything that determines the tokens. None caches nothing.

    Raises:
        ConfigError: If the text is too short, or cannot be read.
    """
    if folder is None:
        return PROTOCOLS[protocol].target(text, preset)
    sizes = {name: value for name, value in asdict(preset).items() if name in SIZES}
    key = json.dumps([VERSION, text.name, text.digest, protocol, sizes], sort_keys=True)
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.safetensors"
    cached = _read(file, key)
    if cached is not None:
        return cached
    target = PROTOCOLS[protocol].target(text, preset)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, _as_bytes(target, key))
    return target


def _as_bytes(target: Target, key: str) -> bytes:
    windows = {"tune": target.tune, "test": target.test}
    rules = {name: [each.num_context, each.ignored] for name, each in windows.items()}
    metadata = {"vocab_size": target.vocab_size, "repeats": target.repeats, "rules": rules, "key": key}
    return save(
        {name: each.symbols.contiguous() for name, each in windows.items()},
        {name: json.dumps(value) for name, value in metadata.items()},
    )


def _read(file: Path, key: str) -> Target | None:
    """The cached data; None if the file is missing, damaged or of another key."""
    try:
        with safe_open(file, framework="pt") as opened:
            metadata = {name: json.loads(value) for name, value in (opened.metadata() or {}).items()}
            if metadata.get("key") != key:
                return None
            windows = {
                name: Windows(symbols=opened.get_tensor(name), num_context=context, ignored=ignored)
                for name, (context, ignored) in metadata["rules"].items()
            }
    except (OSError, SafetensorError, ValueError):
        return None
    return Target(vocab_size=metadata["vocab_size"], repeats=metadata["repeats"], **windows)
