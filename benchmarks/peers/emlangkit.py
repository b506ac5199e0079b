"""emlangkit: Zipf's law of abbreviation and positional disentanglement."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import spearmanr

from ecsuite.benchmarks.peers.languages import noisy, said, shortened
from ecsuite.benchmarks.peers.rows import Programs, Row
from ecsuite.eval.metrics.disentanglement import posdis
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import zla

NAME = "emlangkit"
ZLA = """
from emlangkit.metrics import zla
result = [[float(length) for length in lengths] for lengths in zla([[tuple(word)] for word in data])]
"""
POSDIS = """
import numpy as np
from emlangkit.metrics.posdis import compute_posdis
result = [compute_posdis(np.array(messages), np.array(meanings)) for messages, meanings in data]
"""


def rows(programs: Programs) -> Iterator[Row]:
    """Its law of abbreviation, and its posdis of one attribute."""
    _, cut, meanings = shortened(noisy(noise=0.1))
    corpus = said(cut, meanings)
    (right,) = (score.value for score in zla(corpus, Options()) if score.name == "zla_messages")
    words = [[int(symbol) for symbol in row if symbol] for row in cut]
    if programs.has(NAME):
        lengths, counts = programs.run(NAME, ZLA, words)
    else:
        counts = sorted(np.unique(cut, axis=0, return_counts=True)[1].tolist(), reverse=True)
        lengths = [float(len(words)) for _ in counts]
    about = "500 messages of 1 to 3 symbols"
    is_constant = len(set(lengths)) == 1
    yield Row(
        program="emlangkit",
        defect="the length of a word is the number of words",
        measured=f"{about}: mean length that `zla` gives",
        theirs=float(np.mean(lengths)),
        right=float(np.mean([len(word) for word in words])),
        is_run=programs.has(NAME),
    )
    yield Row(
        program="emlangkit",
        defect="the same",
        measured=f"{about}: correlation of frequency and length",
        theirs="undefined" if is_constant else float(spearmanr(lengths, counts).statistic),
        right=right,
        is_run=programs.has(NAME),
    )
    full, one = noisy(), noisy(num_attributes=1)
    for what, each in (("three attributes", full), ("one attribute", one)):
        assert each.meanings is not None
        (score,) = posdis(each, Options())
        data = [[each.messages.values.reshape(len(each.messages), -1).tolist(), each.meanings.tolist()]]
        value = score.value
        if programs.has(NAME):
            try:
                (value,) = programs.run(NAME, POSDIS, data)
            except RuntimeError as error:
                assert "IndexError" in str(error), error
                value = None
        yield Row(
            program="emlangkit",
            defect="a second attribute is taken for granted" if value is None else "none: posdis is equal",
            measured=f"500 messages, {what}: posdis",
            theirs=value,
            right="null: fewer than two attributes" if score.value is None else score.value,
            is_run=programs.has(NAME),
        )
