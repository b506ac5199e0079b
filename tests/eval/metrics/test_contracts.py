"""What holds for every metric of a corpus: languages with known answers, invariances, and reasons for no value."""

import numpy as np
import pytest

from ecsuite.eval.metrics import DEFAULT_METRICS, METRICS, find_metric
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options, Signature
from languages import corpus_of, grid

MEANINGS = np.tile(grid(4, 4), (6, 1))
PERFECT = np.add(MEANINGS, [10, 20])
UNDEFINED = None
OF_CORPORA = [*DEFAULT_METRICS, "mig", "dci", "variation", "npmi"]

ANSWERS = {
    # name: (metric, perfect code, constant message)
    "topsim": ("topsim", 1, UNDEFINED), "posdis": ("posdis", 1, UNDEFINED), "bosdis": ("bosdis", 1, UNDEFINED),
    "mig": ("mig", 1, UNDEFINED), "dci_disentanglement": ("dci", 1, UNDEFINED),
    "dci_completeness": ("dci", 1, UNDEFINED), "dci_informativeness": ("dci", 1, 1 / 4),
    "variation_synonymy": ("variation", 0, 0), "variation_homonymy": ("variation", 0, 1),
    "variation_freedom": ("variation", 0, 0), "variation_entanglement": ("variation", 0, 1),
    "npmi": ("npmi", 1, 0), "ami": ("ami", 1, UNDEFINED), "ami_arithmetic": ("ami", 1, UNDEFINED),
    "ncnpmi": ("ncnpmi", 1, 0), "context_independence": ("context_independence", 1, 1 / 4),
    "word_entropy": ("word_entropy", 0, 0), "concept_entropy": ("word_entropy", 0, 3),
    "conflict_count": ("conflict_count", 0, 3 / 4 * MEANINGS.size), "hce": ("hce", 1, 0), "has": ("has", 0, 0),
    "zla_segments": ("zla", UNDEFINED, UNDEFINED), "zla_messages": ("zla", UNDEFINED, UNDEFINED),
}  # fmt: skip


def test_the_usual_metrics_are_all_that_are_not_asked_for_by_name():
    usual = [name for name in METRICS.parts if not find_metric(name).shared.is_asked_for]
    assert list(DEFAULT_METRICS) == usual


def found_in(metrics, corpus, seed=0):
    """The scores of several metrics by name."""
    return {score.name: score for name in metrics for score in find_metric(name)(corpus, Options(seed=seed))}


def answers_to(messages, **known):
    metrics = dict.fromkeys(metric for metric, *_ in ANSWERS.values())
    return found_in(metrics, corpus_of(messages, MEANINGS, **known))


SIGNATURES = """
ami|normaliser:max|label:attributes|eos:strip|n:96|v:3
ami_arithmetic|normaliser:arithmetic|label:attributes|eos:strip|n:96|v:3
bosdis|eos:strip|n:96|v:3
dci_completeness|importance:mi|past_end:blank|eos:strip|n:96|v:1
dci_disentanglement|importance:mi|past_end:blank|eos:strip|n:96|v:1
dci_informativeness|classifier:naive bayes|left_out:meanings|past_end:blank|eos:strip|n:96|v:1
conflict_count|unit:rows|eos:strip|n:96|v:3
context_independence|count:messages|label:attributes|eos:strip|n:96|v:3
has|threshold:0.8|starts:all|eos:strip|n:96|v:2
hce|normalised:yes|past_end:blank|eos:strip|n:96|v:3
ncnpmi|unit:message|mean:weighted|label:attributes|eos:strip|n:96|v:3
concept_entropy|align:pmi|label:attributes|eos:strip|n:96|v:3
mig|past_end:blank|eos:strip|n:96|v:1
npmi|count:messages|mean:weighted|label:attributes|eos:strip|n:96|v:1
posdis|past_end:blank|eos:strip|n:96|v:3
residual_entropy|search:exact|normalised:yes|past_end:blank|eos:strip|n:96|v:3
word_entropy|align:pmi|label:attributes|eos:strip|n:96|v:3
topsim|message_distance:edit/mean|meaning_distance:hamming|eos:strip|pairs:all|v:4
tre7|compose:sum|error:l1|fit:optimum|past_end:blank|eos:strip|n:96|v:3
variation_entanglement|program:conklin|characters:used|past_end:blank|eos:strip|n:96|v:1
variation_freedom|program:conklin|characters:used|past_end:blank|eos:strip|n:96|v:1
variation_homonymy|program:conklin|characters:used|past_end:blank|eos:strip|n:96|v:1
variation_synonymy|program:conklin|characters:used|past_end:blank|eos:strip|n:96|v:1
zla_messages|units:messages|eos:strip|n:96|v:2
zla_segments|units:segments|threshold:0.8|eos:strip|n:96|v:2
"""


def check(found, place):
    expected = {name: answers[place] for name, answers in ANSWERS.items()}
    assert {name: score.value for name, score in found.items()} == pytest.approx(expected)


def test_perfect_code():
    found = answers_to(PERFECT)
    check(found, 1)
    for name in ("topsim", "posdis", "bosdis", "ami", "ncnpmi", "context_independence", "hce"):
        assert found[name].chance.high < 0.9 and p_value(found[name]) < 0.05
        assert found[name].ci95[1] == pytest.approx(1)
    for name in ("word_entropy", "concept_entropy", "conflict_count"):
        assert found[name].chance.low > 0.5 and p_value(found[name]) < 0.05 and found[name].ci95[0] == 0


def test_signatures():
    """Equal signatures are comparable: one changes only if the version of the metric does."""
    others = {"elcc", "cbm", "cbm_types"}
    found = found_in([name for name in OF_CORPORA if name not in others], corpus_of(PERFECT, MEANINGS))
    assert {score.signature for score in found.values()} == set(SIGNATURES.strip().split("\n"))


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("topsim", "message_distance=edit/max,meaning_distance=jaccard,correlation=pearson,units=segments"),
        ("topsim", "message_distance=jaccard,given=length,attribute=0"),
        ("zla", "threshold=1.5,correlation=pearson"), ("has", "threshold=1.5"),
        ("variation", "program=celebi,characters=30"),
    ],
)  # fmt: skip
def test_options_have_the_same_names_and_values_in_signatures(metric, options):
    found = find_metric(f"{metric},{options}")(corpus_of(PERFECT, MEANINGS), Options(seed=0))
    assert dict(each.split("=") for each in options.split(",")).items() <= Signature(found[0].signature).options.items()


def test_permuted_code():
    """Positions exchanged, values renamed, rows shuffled."""
    names = np.random.default_rng(0).permutation(8).reshape(2, 4)
    check(answers_to(np.stack([names[1][MEANINGS[:, 1]], names[0][MEANINGS[:, 0]]], axis=1)), 1)


def test_constant_message():
    found = answers_to([[7, 7]] * len(MEANINGS))
    check(found, 2)
    for score in found.values():
        assert score.value is UNDEFINED or p_value(score) == 1


def test_random_code(all_draws):
    """A random code scores within its null distribution."""
    rng = np.random.default_rng(1)
    for name, score in answers_to(rng.integers(0, 4, PERFECT.shape)).items():
        if score.value is not UNDEFINED:
            assert p_value(score) > 0.01, name
            spread = max(0.01, score.chance.high - score.chance.low)
            assert abs(score.value - score.chance.level) < 1.5 * spread, name
            assert score.ci95[0] <= score.value <= score.ci95[1], name


def test_one_row():
    found = found_in([name for name in OF_CORPORA if name != "elcc"], corpus_of([[1, 2]], [[0, 3]]))
    known = dict.fromkeys(("context_independence", "word_entropy", "concept_entropy", "cbm", "cbm_types"), 1)
    known |= {"conflict_count": 0, "has": 0}
    assert {name: score.value for name, score in found.items() if score.value is not UNDEFINED} == known
    assert all(score.ci95 is None for score in found.values())


def language(seed, *, has_attributes, varies):
    """A noisy language of 24 messages of three symbols, or up to three, about attributes or their concepts."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 3, (24, 3))
    symbols = np.where(rng.random((24, 3)) < 0.5, meanings, rng.integers(0, 6, (24, 3)))
    messages = [row[: rng.integers(0, 4) if varies else 3] for row in symbols.tolist()]
    return (messages, (meanings if has_attributes else None), (None if has_attributes else np.add(meanings, [0, 3, 6])))


@pytest.fixture(params=[(True, False), (True, True), (False, True)], ids=["attributes", "varying", "concepts"])
def some(request):
    return language(1, has_attributes=request.param[0], varies=request.param[1])


def same(found, expected):
    """Whether scores have equal values and reasons."""
    assert [score.reason for score in found] == [score.reason for score in expected]
    values = [[score.value for score in scores] for scores in (found, expected)]
    assert values[0] == pytest.approx(values[1], nan_ok=False)
    return True


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", [name for name in OF_CORPORA if name != "elcc"])
def test_nothing_after_eos_counts(some, name):
    messages, *about = some
    marked = [[*row, 99, *range(i % 3)] for i, row in enumerate(messages)]
    metric, options = find_metric(name), Options()
    expected = metric(corpus_of(messages, *about), options)
    assert same(metric(corpus_of(marked, *about, eos=99), options), expected)


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", OF_CORPORA)
def test_renaming_and_reordering_change_nothing(some, name):
    """Symbols, values and concepts renamed, rows shuffled, attributes exchanged."""
    messages, meanings, concepts = some
    rng = np.random.default_rng(2)
    names = rng.permutation([0, 1, 55_296, 2**20, 2**31 - 2, 2**31 - 1])
    order, concept_ids = rng.permutation(24), rng.permutation(50)
    renamed = [names[messages[i]].tolist() for i in order]
    if meanings is not None:
        meanings = np.array(["red", "green", "blue"])[meanings[order]]
        meanings = meanings if name == "hce" else meanings[:, ::-1]  # it breaks ties by the order of attributes
    else:
        concepts = concept_ids[concepts[order]]
    metric, options = find_metric(name), Options()
    assert same(metric(corpus_of(renamed, meanings, concepts), options), metric(corpus_of(*some), options))


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", OF_CORPORA)
def test_the_seed_decides_about_draws_alone(some, name):
    corpus, metric = corpus_of(*some), find_metric(name)
    first, again, other = (metric(corpus, Options(seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert same(other, first) and [s.signature for s in other] == [s.signature for s in first]


NEITHER = "the corpus has neither attribute values nor concepts"
CONSTANT = "every attribute is constant over all messages"
SAME_SCORE = "every permutation has the same score"
BY_POSITION = "posdis bosdis mig dci variation conflict_count hce residual_entropy tre7 attribute_information"
WORDS = "npmi context_independence word_entropy"
NOT_FINITE = [[0.5, 1], [1, np.nan], [1, 3]]
EQUAL_MESSAGES = "all distances between messages are equal"
REASONS = [
    # rows, and the metrics that have no value for a reason
    (([[1], [2], [2]],), {
        NEITHER: f"{WORDS} ami ncnpmi morphemes csar", "the corpus has no meanings": BY_POSITION,
        "no attribute values": "ease_of_learning",
        "the corpus has neither meanings nor concepts": "topsim", "the corpus has no concepts": "cbm cbm_types"}),
    (([[1], [2], [3]], [[0.5, 1], [1, 2], [1, 3]]), {
        NEITHER: f"{WORDS} ami ncnpmi morphemes csar", "no attribute values": "ease_of_learning",
        "features are not attribute values": BY_POSITION, EQUAL_MESSAGES: "topsim"}),
    (([[1], [1, 2], [3]], NOT_FINITE), {"a feature is not finite": "topsim"}),
    (([], np.zeros((0, 2), int)), {
        "every message is empty": f"{BY_POSITION} has zla", NEITHER: WORDS,
        f"there is only one distinct message: {SAME_SCORE}": "ami", "fewer than three messages": "topsim",
        "there is only one distinct message and one distinct meaning": "ncnpmi"}),
    (([[]] * 3, [[0, 0], [0, 1], [1, 1]]), {
        "every message is empty": f"{BY_POSITION} {WORDS} has zla", "no symbols": "ease_of_learning morphemes csar",
        f"there is only one distinct message: {SAME_SCORE}": "ami", EQUAL_MESSAGES: "topsim"}),
    (([[1] * 101, [2]], [[0], [1]]), {"expected at most 100": "ease_of_learning"}),
    (([[1], []], None, [[], [3]]), {"no message has both a symbol and a concept": "word_entropy"}),
    (([[1], [2]], None, [[], []]), {"the corpus has no concepts": "cbm cbm_types"}),
    (([[1], [2], [2]], [[0], [1], [1]]), {"fewer than two attributes": "posdis bosdis tre7"}),
    (([[1], [2]] * 9, [[3, 4]] * 18), {
        CONSTANT: "posdis bosdis mig dci variation hce residual_entropy tre7 attribute_information",
        "no meaning differs": "morphemes csar", "no attribute varies": "ease_of_learning",
        f"there is only one distinct meaning: {SAME_SCORE}": "ami",
        "all distances between meanings are equal": "topsim"}),
    (([[1, 2]] * 3, [[0, 0], [0, 1], [1, 1]]), {
        "every position is constant over all messages": "posdis tre7", EQUAL_MESSAGES: "topsim",
        "every symbol is constant over all messages": "bosdis"}),
    (([[1], [1]], [[0], [0]]), {"there is only one distinct message and one distinct meaning": "ncnpmi"}),
    (([[1], [2], [3]], [[0], [0], [1]]), {f"no message occurs twice: {SAME_SCORE}": "ami"}),
    (([[1], [1], [2]], [[0], [1], [2]]), {f"no meaning occurs twice: {SAME_SCORE}": "ami"}),
    (([[1], [2]], [[0, 0], [1, 0]]), {"at least as many free parameters as messages": "tre7"}),
    (([[1, 2, 3]], [[0, 0]]), {
        "expected 2 symbols per message (one per attribute), got 3": "conflict_count"}),
    (([[1, 2], [1]], [[0, 0], [0, 1]]), {
        "expected 2 symbols per message (one per attribute), got 1 to 2": "conflict_count"}),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "reasons"), REASONS)
def test_undefined(rows, reasons):
    corpus = corpus_of(*rows)
    for reason, names in reasons.items():
        for name in names.split():
            for score in find_metric(name)(corpus, Options()):
                assert score.value is None and reason in score.reason


@pytest.mark.parametrize("name", OF_CORPORA)
def test_the_version_of_a_metric_is_that_of_its_signatures(name):
    """Also of one that shares its file, as `csar`: its kept results had the version of `morphemes`."""
    metric = find_metric(name)
    scores = metric(corpus_of([[1], [2], [2]], [[0], [1], [1]]), Options())
    versions = {score.signature.partition("|v:")[2].partition("|")[0] for score in scores}
    assert versions == {str(metric.shared.version)}
