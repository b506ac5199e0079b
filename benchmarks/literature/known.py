"""Languages and tables whose published figure can be computed again: the figure, and what ecsuite gives."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import pearsonr

from ecsuite.benchmarks.literature.readings import mean_length, word_boundaries
from ecsuite.benchmarks.literature.samples import Sample
from ecsuite.benchmarks.literature.segments import mean_boundaries
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.cbm import PUBLISHED
from ecsuite.eval.metrics.disentanglement import bosdis, posdis
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.eval.statistics.resampling import few_draws

NUM_SEEDS = 8
"""Languages of each kind, as in the paper of Ueda et al."""
SEGMENTED = {
    (1, 4096): (None, 1.52),
    (2, 64): (0.303, 2.68),
    (3, 16): (0.665, 3.64),
    (4, 8): (0.868, 4.91),
    (6, 4): (0.935, 7.02),
    (12, 2): (0.966, 11.31),
}
"""Ueda et al. (2023), Table 1: C-TopSim and boundaries by the number of attributes and of values."""
LENGTH, NUM_SYMBOLS, THRESHOLD = 36, 8, 0.5
"""Sizes of these languages; the threshold is the default of their program."""
BOSDIS_MEANINGS = list(product(range(4), range(4)))
BOSDIS_MESSAGES = [
    [0, 0, 4], [0, 0, 5], [0, 0, 6], [0, 0, 7], [1, 4, 1], [1, 5, 1], [1, 6, 1], [1, 7, 1],
    [2, 4, 2], [2, 5, 2], [2, 6, 2], [2, 7, 2], [3, 4, 3], [3, 3, 5], [3, 3, 6], [3, 3, 7],
]  # fmt: skip
"""Chaabouni et al. (2020), appendix 8.2: a language with bosdis 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A published figure and ours."""

    claim: str
    """Work and place."""
    measured: str
    """The measured quantity."""
    published: float
    """The figure as printed."""
    ours: float
    """Ours on the same language, or from the same table."""


def segmented(num_attributes: int, num_values: int, seed: int) -> Sample:
    """A language of Ueda et al. (2023), appendix A.1: each value of an attribute has a random segment.

    Symbols are drawn from NumPy's `RandomState`, attribute by attribute, as their program does.
    """
    rng = np.random.RandomState(seed)
    width = LENGTH // num_attributes
    drawn = [rng.choice(NUM_SYMBOLS, width) + 1 for _ in range(num_attributes * num_values)]
    words = np.array(drawn).reshape(num_attributes, num_values, width)
    meanings = np.array(list(product(range(num_values), repeat=num_attributes)))
    messages = np.concatenate([words[place, meanings[:, place]] for place in range(num_attributes)], axis=1)
    return Sample(messages=[tuple(row) for row in messages.tolist()], attributes=meanings)


def optimal_code(num_meanings: int, vocab_size: int) -> Sample:
    """The shortest distinct messages, in the order of the frequency of meanings; EOS is one of the symbols."""
    messages = [()] if vocab_size else []
    last = messages
    while len(messages) < num_meanings:
        last = [(*message, symbol) for message in last for symbol in range(1, vocab_size)]
        messages = [*messages, *last]
    return Sample(messages=messages[:num_meanings], attributes=np.arange(num_meanings)[:, None])


def segmented_topsim(
    languages: Iterable[tuple[int, int]] = SEGMENTED, num_seeds: int = NUM_SEEDS
) -> Iterator[Known]:
    """C-TopSim of Ueda et al. (2023), Table 1, with the metric as it is: 500,000 pairs of the 4,096 messages."""
    for num_attributes, num_values in languages:
        published, _ = SEGMENTED[num_attributes, num_values]
        if published is not None:
            samples = (segmented(num_attributes, num_values, seed) for seed in range(num_seeds))
            with few_draws():
                values = [topsim(sample.corpus(), Options())[0].value for sample in samples]
            yield Known(
                claim="Ueda et al. 2023, Table 1",
                measured=f"topsim, {num_attributes} x {num_values}",
                published=published,
                ours=float(np.mean([value for value in values if value is not None])),
            )


def segmented_boundaries(num_seeds: int = NUM_SEEDS) -> Iterator[Known]:
    """Boundaries of Ueda et al. (2023), Table 1, by the rule of `has` and by that of their program."""
    for (num_attributes, num_values), (_, published) in SEGMENTED.items():
        samples = [segmented(num_attributes, num_values, seed) for seed in range(num_seeds)]
        ours = [word_boundaries(sample, threshold=THRESHOLD) for sample in samples]
        theirs = [mean_boundaries(sample.messages, THRESHOLD) for sample in samples]
        for rule, values in (("rule of has", ours), ("rule of its program", theirs)):
            yield Known(
                claim="Ueda et al. 2023, Table 1",
                measured=f"boundaries, {num_attributes} x {num_values}, {rule}",
                published=published,
                ours=float(np.mean(values)),
            )


def small_examples() -> Iterator[Known]:
    """Languages that are printed as a whole."""
    corpus = Corpus(BOSDIS_MESSAGES, meanings=np.array(BOSDIS_MEANINGS))
    yield _example("Chaabouni et al. 2020, appendix 8.2", "bosdis", 1.0, bosdis(corpus, Options())[0].value)
    import torch  # whose random numbers the example has

    torch.manual_seed(0)
    values = torch.cat([torch.randint(low=0, high=10, size=(1000, 1)) for _ in range(2)], dim=1).numpy()
    corpus = Corpus(values.tolist(), meanings=values)
    yield _example("EGG, example of posdis", "posdis", 0.978656, posdis(corpus, Options())[0].value)
    code = optimal_code(1000, 40)
    lengths = np.array([len(message) + 1 for message in code.messages])
    yield _example(
        "Rita et al. 2020, optimal coding", "last rank of length 2", 40, float((lengths <= 2).sum())
    )
    yield _example("Rita et al. 2020, optimal coding", "greatest length", 3, float(lengths.max()))
    assert mean_length(code, ends=1) == lengths.mean()


def _example(claim: str, measured: str, published: float, ours: float | None) -> Known:
    assert ours is not None
    return Known(claim=claim, measured=measured, published=published, ours=ours)


def correlations() -> Iterator[Known]:
    """Carmeli et al. (2024), section 5: Pearson's correlation of AMI and CBM, from the rows of their tables."""
    for game, published, experiments in (("shape", 0.7, range(1, 9)), ("thing", 0.79, range(9, 17))):
        first = [row for name, row in PUBLISHED["table1"].items() if name.startswith(game)]
        third = [PUBLISHED["table3"][f"exp{number}"] for number in experiments]
        for tables, rows in (("Table 1", first), ("Table 3", third), ("Tables 1 and 3", first + third)):
            yield Known(
                claim="Carmeli et al. 2024, section 5",
                measured=f"AMI and CBM, {game}, {tables}, {len(rows)} rows",
                published=published,
                ours=float(pearsonr([row["ami"] for row in rows], [row["cbm"] for row in rows]).statistic),
            )


KNOWN = {
    "examples": small_examples,
    "correlations": correlations,
    "topsim": segmented_topsim,
    "boundaries": segmented_boundaries,
}
"""Known figures by name; the last two take minutes."""
