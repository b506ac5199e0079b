"""What messages tell about each attribute: the mutual information of whole messages and attribute values."""

from collections.abc import Callable

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import row_labels
from ecsuite.eval.counts.positions import CONSTANT_ATTRIBUTES, attributes_or_reason
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, chao_shen, entropy, tally
from ecsuite.eval.statistics.resampling import resample, single_rows

ATTRIBUTE_INFORMATION = Traits(
    name="attribute_information",
    about="mean share of an attribute that messages tell",
    high="1 if messages tell every attribute; near 1 also as by chance where most messages occur once",
    question="consistent",
    version=2,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="plug-in information is too high in small corpora: a message that occurs once tells everything",
    by_name_only=True,
    details={
        "bits": "bits of this attribute that messages tell",
        "shares": "share of this attribute's entropy",
        "sum_bits": "bits of all attributes, added",
        "chao_shen": CORRECTED,
    },
)


@metric(ATTRIBUTE_INFORMATION)
def attribute_information(corpus: Corpus, options: Options) -> list[Score]:
    """Mutual information I(m; a) of the message m, as a whole and without EOS, and the value a of an attribute.

    The score is the mean over attributes of I(m; a) / H(a): 1 if messages tell all attributes, 0 if they tell none.
    The details have I(m; a) in bits by attribute (`bits`), which shows the attributes that a language is about (as in
    Dessì et al. 2019, arXiv 1911.01892), the same as shares of H(a) (`shares`), and all bits together (`sum_bits`).

    Plug-in estimates over the corpus, which are biased upwards: where most messages occur once, they tell everything.
    `chao_shen` in the details is the score with entropies that have less bias (`contingency.chao_shen`). Their share of
    an attribute may be below 0; only the mean over attributes is not, as each cut off at 0 would make the mean too
    high. The null distribution (single messages exchanged) shows how much bias there is. Interval: see
    `resampling.resample`.
    Constant attributes are left out. Undefined without attributes that vary, and if all messages are empty.
    """
    score = unscored(ATTRIBUTE_INFORMATION, eos="strip")
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    varying = np.flatnonzero(np.ptp(attributes, axis=0))
    if not len(varying):
        return [score(value=None, reason=CONSTANT_ATTRIBUTES)]
    message, attributes = row_labels(corpus.content()), attributes.T[varying]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([information(message[rows], attributes[:, partners])[1].mean()])

    bits, of_entropy = information(message, attributes)
    (found,) = resample(
        statistic,
        [float(of_entropy.mean())],
        num_rows=len(message),
        exchange=single_rows(len(message), message),
        seed=options.seed,
        work=10 * len(message) * len(varying),
    )
    names = list(map(corpus.name_of_attribute, varying.tolist()))
    details = {
        "bits": dict(zip(names, bits.tolist(), strict=True)),
        "shares": dict(zip(names, of_entropy.tolist(), strict=True)),
        "sum_bits": float(bits.sum()),
        "chao_shen": float(np.clip(information(message, attributes, chao_shen)[1].mean(), 0, 1)),
    }
    return [
        score(
            value=float(of_entropy.mean()),
            ci95=found.ci95,
            chance=found.chance,
            details=details | found.details,
        )
    ]


def information(
    message: Ints, attributes: Ints, of: Callable[[Ints], float] = entropy
) -> tuple[Floats, Floats]:
    """I(m; a) of each attribute in bits, and as a share of H(a), 0 where that is 0.

    Plug-in estimates are from 0 to H(a), but for rounding, which is cut off; others may be outside.

    Args:
        message: Codes of the messages from 0, (num_messages,).
        attributes: Codes of the values from 0, (num_attributes, num_messages).
        of: How entropies are estimated from counts: `entropy` or `chao_shen`.

    Returns:
        Two arrays (num_attributes,).
    """
    of_message = of(tally(message))
    of_values = np.array([of(tally(values)) for values in attributes])
    sizes = attributes.max(axis=1, initial=0) + 1
    joint = [of(tally(message * size + values)) for size, values in zip(sizes, attributes, strict=True)]
    bits = of_message + of_values - np.array(joint)
    if of is entropy:
        bits = np.clip(bits, 0.0, of_values)
    return bits, np.divide(bits, of_values, out=np.zeros_like(bits), where=of_values > 0)
