"""Cache of tokenised texts: the tokens of a text do not depend on source and seed."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ecsuite.eval.learning.data import Target
from ecsuite.eval.learning.token_file import kept_target
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.texts import Text

VERSION = 1
"""Increased whenever the same text would become other tokens."""
SIZES = ("context", "vocab_size", "bpe_bytes", "tune_tokens", "test_tokens")
"""Settings of a preset that determine the tokens."""


def tokenised(
    text: Text,
    preset: Preset,
    protocol: str,
    folder: Path | None,
    note: Callable[[str], None] = lambda _: None,
) -> Target:
    """Fine-tuning and test data of a text by a protocol.

    Args:
        text: The text.
        preset: Sizes.
        protocol: A name in `PROTOCOLS`.
        folder: Cache folder; files are named by a hash of everything that determines the tokens. None caches nothing.
        note: Called with a message if a cached file is damaged and made anew.

    Raises:
        ConfigError: If the text is too short, or cannot be read.
    """
    if folder is None:
        return PROTOCOLS[protocol].target(text, preset)
    sizes = {name: value for name, value in asdict(preset).items() if name in SIZES}
    key = json.dumps([VERSION, text.name, text.digest, protocol, sizes], sort_keys=True)
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.safetensors"
    return kept_target(file, key, lambda: PROTOCOLS[protocol].target(text, preset), note)
