"""The authors' protocols make data as their program does, including the leak."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import FULL, NANO
from ecsuite.eval.xferbench.protocols import program_source, program_target
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


def test_the_programs_numbers_of_blocks():
    messages = Ragged(np.zeros(16_000_000, dtype=np.int32), np.arange(0, 16_000_001, 256))
    made = program_source(Corpus(messages=messages), FULL, 0)
    assert made.windows.symbols.shape == (58_594, 256)
    assert made.vocab_size == 30_000 and made.repeats == pytest.approx(15_000_064 / 16_000_000)


@pytest.fixture
def text():
    """An artificial text, long enough for NANO."""
    return ArtificialText(1, 60_000)


def test_head_tunes_on_its_test(text):
    made = program_target(text, NANO, shuffled=True)
    tuned = made.tune.symbols.flatten().tolist()
    tested = made.test.symbols[:, 8:].flatten().tolist()
    said = [token for token in tested if token != 299]
    assert tuned[:8] == made.test.symbols[0, :8].tolist()
    together = ",".join(map(str, tuned))
    assert ",".join(map(str, said[:40])) in together and ",".join(map(str, said[200:240])) in together


def test_a_text_too_short_for_tuning():
    message = r"^artificial-1: this protocol expects 4,000 tokens for fine-tuning, found \d"
    with pytest.raises(ConfigError, match=message):
        program_target(ArtificialText(1, 4000), NANO)
