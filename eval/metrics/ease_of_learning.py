"""Ease of learning: learning speed of fresh agents that are taught the messages and meanings of a corpus.

Li & Bowling 2019 (arXiv 1906.02403), section 4, teach fresh listeners the language of a trained speaker and compare
their learning curves; Chaabouni et al. 2022 also use such curves of fresh listeners. Here the area under the curve is
the score, computed from the corpus alone.
"""

from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import attribute_codes, numbered_by_use
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.grammars.words import concatenate, distinct_rows, stream
from ecsuite.jobs.graph import Runner

NUM_SEEDS = 5
"""Fresh agents that learn each language."""
TARGET = 0.9
"""Accuracy up to which updates are counted."""
MAX_MESSAGES = 10_000
"""Maximum number of messages to learn; from a larger corpus, they are drawn at random."""
MAX_LENGTH = 100
"""Maximum message length with training; longer messages would take minutes."""
MAX_WIDTH = 4096
"""Maximum size of the vocabulary, or of all attributes' values together, with training."""
ANCHORS = ("concat", "hol")
"""Reference languages of the same size: concatenated words of values, and random messages (Perkins 2021)."""


EASE_OF_LEARNING = Traits(
    name="ease_of_learning",
    about="how fast receivers learn it",
    high="1 if receivers know it after the first updates; compare with CONCAT and HOL of the same size in the details",
    question="learnable",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="training",
    needs=("attributes",),
    depends_on_size="more meanings take longer to learn",
    most_messages=MAX_MESSAGES,
    trains=True,
)
EASE_OF_SPEAKING = replace(
    EASE_OF_LEARNING,
    name="ease_of_speaking",
    about="how fast senders learn it",
    high="1 if senders know it after the first updates; compare with CONCAT and HOL of the same size in the details",
)


@metric(EASE_OF_LEARNING, EASE_OF_SPEAKING)
def ease_of_learning(corpus: Corpus, options: Options, *, runner: Runner) -> list[Score]:
    """Area under the learning curve of fresh receivers, and of fresh senders.

    `ease_of_learning`: a receiver (GRU of 64 units, one readout layer per attribute) learns the meanings of messages by
    cross-entropy. Every 20 of 400 updates (Adam, learning rate 0.001, at most 64 messages each) its accuracy on
    attribute values is measured, over all messages or 500 of them; the score is the mean of these accuracies.
    `ease_of_speaking`: a sender learns to produce the messages; its accuracy is the share of symbols that it predicts
    from the right symbols before them. Both range from 0 to 1, and higher is easier.

    The score is the mean over 5 seeds of weights and order. Chance: messages of whole meanings exchanged, anew for each
    seed; a random language is at chance level however often its messages are repeated. Agents of a seed have the same
    initial weights for all languages, so each draw is the score minus the difference of its seed, which removes the
    noise of training. There is no interval: an interval over seeds
    (`by_seed`) would say nothing about other corpora of the language. The details have the reference languages CONCAT
    and HOL for the same meanings, with the same vocabulary and message length (longer if words need more symbols).

    Every message is followed by EOS. Neither names of symbols nor the order of messages changes a score. Undefined
    without attribute values, if no attribute varies, without symbols, or for messages of more than 100 symbols.
    """
    from ecsuite.eval.models.fresh_agents import Training, learning_curves
    from ecsuite.runtime.devices import fixed_threads

    training = Training()
    settings: dict[str, object] = {
        "agent": f"{training.agent}{training.hidden_size}",
        "updates": training.num_updates,
        "lr": training.lr,
        "batch": training.batch_size,
        "seeds": NUM_SEEDS,
        "seed": options.seed,
        "eos": "strip",
    }
    scores = [unscored(traits, **settings) for traits in (EASE_OF_LEARNING, EASE_OF_SPEAKING)]
    messages, meanings, reason = _as_tables(corpus, options.seed)
    if reason is not None:
        return [score(value=None, reason=reason) for score in scores]
    seeds = range(options.seed, options.seed + NUM_SEEDS)
    names = ["corpus", "shuffled", *ANCHORS]
    tables = [_languages(messages, meanings, seed) for seed in seeds]
    num_steps = max(table.shape[1] for table in tables[0])
    languages = np.stack([[_ended(each, num_steps + 1) for each in table] for table in tables], axis=1)
    found = []
    for score, learner in zip(scores, ("receiver", "sender"), strict=True):
        runner.progress(f"ease of learning: {learner}s", 0, 1)
        with fixed_threads(1):  # sums depend on the number of threads
            curves = learning_curves(learner, languages, meanings, training, seeds)  # type: ignore[arg-type]
        value = float(curves.area[0].mean())
        shuffled = value - (curves.area[0] - curves.area[1])
        found.append(
            score(
                value=value,
                chance=Chance.from_permutations(shuffled, seed=options.seed, bounds=(0.0, 1.0)),
                details={
                    "anchors": {name: float(curves.area[i].mean()) for i, name in enumerate(names) if i > 1},
                    "by_seed": curves.area[0].tolist(),
                    "updates_to_90_percent": curves.updates_to(TARGET)[0],
                    "updates": curves.updates.tolist(),
                    "curves": {name: curves.accuracy[i].mean(0).tolist() for i, name in enumerate(names)},
                },
            )
        )
    return found


def _as_tables(corpus: Corpus, seed: int) -> tuple[Ints, Ints, str | None]:
    """Messages (num_messages, max_len), ids from 1 and `PAD`; codes of varying attributes; a reason if undefined.

    Rows are sorted by meaning, then by message.
    """
    from ecsuite.agents.message import PAD

    nothing = np.zeros((0, 0), dtype=np.int64)
    codes = attribute_codes(corpus)
    if codes is None:
        return nothing, nothing, "the corpus has no attribute values"
    codes = codes[:, (codes != codes[:1]).any(0)]
    content = corpus.content()
    if not codes.shape[1]:
        return nothing, nothing, "no attribute varies"
    if not len(content.values):
        return nothing, nothing, "the corpus has no symbols"
    if (longest := int(content.lengths.max())) > MAX_LENGTH:
        return nothing, nothing, f"expected at most {MAX_LENGTH} symbols per message, got {longest}"
    if len(codes) > MAX_MESSAGES:
        rows = np.sort(np.random.default_rng(seed).choice(len(codes), MAX_MESSAGES, replace=False))
        codes, content = codes[rows], content.take(rows)
    symbols = 1 + numbered_by_use(content, np.unique(codes, axis=0, return_inverse=True)[1].ravel())
    if max(int(symbols.max()), int((codes.max(0) + 1).sum())) > MAX_WIDTH:
        return nothing, nothing, f"more than {MAX_WIDTH:,} symbols or attribute values"
    table = np.full((len(codes), longest), PAD, dtype=np.int64)
    table[np.arange(longest) < content.lengths[:, None]] = symbols
    order = np.lexsort([*table.T[::-1], *codes.T[::-1]])
    return table[order], codes[order], None


def _languages(messages: Ints, meanings: Ints, seed: int) -> list[Ints]:
    """The corpus, its messages shuffled over the meanings, and the references: ids from 1, `PAD` after the end."""
    num_attributes, num_values = meanings.shape[1], int(meanings.max()) + 1
    vocab_size = max(int(messages.max()), 2)
    word_length = -(-messages.shape[1] // num_attributes)
    while vocab_size**word_length < num_values:
        word_length += 1
    rng = stream(seed, "ease of learning")
    # One word per value of each attribute, distinct within an attribute.
    words = np.stack([distinct_rows(num_values, word_length, vocab_size, rng) for _ in range(num_attributes)])
    distinct, row = np.unique(meanings, axis=0, return_inverse=True)
    random = rng.integers(0, vocab_size, (len(distinct), num_attributes * word_length))
    concat = concatenate(words, meanings).astype(np.int64)
    rows = [np.flatnonzero(row.ravel() == each) for each in range(len(distinct))]
    exchanged = np.empty_like(messages)
    for own, other in zip(rows, rng.permutation(len(rows)), strict=True):
        exchanged[own] = messages[np.resize(rng.permutation(rows[other]), len(own))]
    return [messages, exchanged, concat + 1, random[row.ravel()] + 1]


def _ended(table: Ints, width: int) -> Ints:
    """Messages with EOS after each, padded to a width; so an empty message has one symbol."""
    from ecsuite.agents.message import EOS, PAD

    wide = np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=PAD)
    wide[np.arange(len(wide)), (wide != PAD).sum(1)] = EOS
    return wide
