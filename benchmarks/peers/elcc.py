"""ELCC (Boldt and Mortensen 2024): its sizes and entropies count EOS and padding; ecsuite's `elcc` does the same."""

from collections.abc import Iterator

from ecsuite.benchmarks.peers.languages import noisy, said, shortened
from ecsuite.benchmarks.peers.rows import Programs, Row
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import elcc

SIZES = ("Tokens per Line", "1-gram Entropy", "1-gram Normalized Entropy", "2-gram Conditional Entropy")


def rows(programs: Programs) -> Iterator[Row]:
    """Four of its sizes with padding and without, and a conditional entropy that is no entropy."""
    _, cut, meanings = shortened(noisy(noise=0.1))
    padded = _sizes(Corpus(cut.tolist()))
    content = _sizes(Corpus(said(cut, meanings).content()))
    for name in SIZES:
        yield _row(
            "EOS and padding are symbols",
            f"500 messages of 1 to 3 of 15 symbols: {name}",
            padded[name],
            content[name],
        )
    short = Corpus([[symbol] for symbol in range(8)] * 10 + [[8, 9]] * 10)
    joint = _sizes(short)["2-gram Conditional Entropy"]
    yield _row(
        "H(2-gram) - H(1-gram), which counts symbols that begin no pair",
        "80 messages of one of 8 symbols, 10 of two: 2-gram Conditional Entropy",
        joint,
        0.0,
    )


def _sizes(corpus: Corpus) -> dict[str, float]:
    return {score.name: float(score.value) for score in elcc(corpus, Options()) if score.value is not None}


def _row(defect: str, measured: str, theirs: float, right: float) -> Row:
    return Row(program="ELCC", defect=defect, measured=measured, theirs=theirs, right=right, is_run=False)
