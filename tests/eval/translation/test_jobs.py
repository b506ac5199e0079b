"""The whole experiment at a tiny size: deterministic, kept, resumable, with a complete signature."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.models import encoder_decoder as bart
from ecsuite.eval.translation.benchmark import TranslationBenchmark
from ecsuite.eval.translation.jobs import make_study, plan, score_translations, translate_sentences
from ecsuite.eval.translation.pairs import SentencePair, encode, learn, split_pairs
from ecsuite.eval.translation.presets import NANO, PRESETS, Decoding
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import everything
from ecsuite.runtime.errors import ConfigError, DivergedError

WORDS = {"red": "rouge", "blue": "bleu", "cat": "chat", "dog": "chien", "sees": "voit", "hears": "entend"}
NUM_TEST = 8
"""Of the preset nano."""


@pytest.fixture(scope="module")
def corpus():
    return zipf_parentheses(1000, np.random.default_rng(0), num_types=20)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    lines = np.random.default_rng(0).choice(list(WORDS), (80, 5))
    pairs = [(" ".join(line), " ".join(WORDS[word] for word in line)) for line in lines]
    return write(tmp_path_factory.mktemp("pairs") / "pairs.tsv", pairs)


@pytest.fixture(scope="module")
def kept(corpus, pairs, tmp_path_factory):
    """A folder with the results of the plain experiment, and what came of it."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, run(corpus, pairs, Runner(folder=folder))


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


def test_no_sentence_of_the_test_is_trained_on_and_order_and_copies_do_not_matter(tmp_path):
    """Every source has two translations, and every translation two sources."""
    pairs = [SentencePair(f"s{at}", f"t{(at + shift) % 100}") for at in range(100) for shift in (0, 1)]
    found = split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)
    held_out = found.test + found.valid
    assert (len(found.test), len(found.valid)) == (8, 4)
    for side in ("source", "target"):
        assert not {getattr(pair, side) for pair in found.train} & {getattr(pair, side) for pair in held_out}
    assert found.num_left_out == 200 - len(held_out) - len(found.train) > 0
    write(tmp_path / "pairs.tsv", [*reversed(pairs), *pairs])
    assert split_pairs(tmp_path / "pairs.tsv", num_valid=4, num_test=8) == found
    write(tmp_path / "pairs.tsv", pairs[1:])
    assert split_pairs(tmp_path / "pairs.tsv", num_valid=4, num_test=8).digest != found.digest


def test_scores_of_translations():
    references = ["the cat sat on the mat today .", "all of it was there ."]
    best, none = (score_translations(said, references, 1.0) for said in (references, ["", ""]))
    assert (best.chrf, best.bleu, best.length_ratio) == (pytest.approx(100), pytest.approx(100), 1.0)
    assert (none.chrf, none.bleu, none.length_ratio) == (0.0, 0.0, 0.0)
    endless = score_translations([f"{line}{' and so on' * 20}" for line in references], references, 0.0)
    assert endless.length_ratio > 5 and endless.bleu < 20 and endless.chrf < 80


def study_of(corpus, pairs, **choices):
    return make_study(corpus, pairs, preset="nano", device="cpu", **choices)


def run(corpus, pairs, runner=None, **choices):
    return TranslationBenchmark().measure(study_of(corpus, pairs, **choices), runner or Runner()).as_dict()


@pytest.mark.slow
def test_the_whole_line(corpus, pairs, kept):
    torch.manual_seed(1)
    state, precision = torch.get_rng_state(), torch.get_float32_matmul_precision()
    calls = []
    runner = Runner(progress=lambda *call: calls.append(call))
    result = TranslationBenchmark().measure(study_of(corpus, pairs), runner)
    first = result.as_dict()
    assert kept[1] == first == json.loads(json.dumps(first, allow_nan=False))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_float32_matmul_precision() == precision
    assert list(first["beams"]) == ["1", "3", "5"]
    assert first["chrf"] == pytest.approx(np.mean([score["chrf"] for score in first["beams"].values()]))
    assert first["repeats"] == pytest.approx(2000 / len(corpus.messages.values))
    assert (first["num_test"], first["num_trainable"]) == (NUM_TEST, first["num_parameters"])
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
    assert calls[-1][1] == calls[-1][2]
    signature = first["signature"]
    assert signature.startswith("translate|preset:nano|setting:full|pairs:pairs.tsv#")
    assert "|seed:0|beams:1+3+5|precision:fp32|chrf:nrefs=1,case=mixed,eff=yes,nc=6" in signature
    scores, examples = TranslationBenchmark().report(result.study, result).tables
    table, tested = str(scores), result.study.pairs.split().test[:5]
    assert [each[:2] for each in result.examples] == [[each.source, each.target] for each in tested]
    assert f"beam {max(result.beams)}" in str(examples) and result.examples[0][2] in str(examples)
    assert signature.endswith("|v:1") and signature in table
    assert "not comparable with published" in table
    assert first["sacrebleu"]["bleu"].startswith("nrefs:1|")


@pytest.mark.slow
def test_the_seed_and_the_setting_matter(pairs):
    choices = ({}, {"seed": 1}, {"setting": "frozen"}, {"setting": "reduced"})
    plain, *others = (run(None, pairs, **choice) for choice in choices)
    assert len({each["cross_entropy"] for each in (plain, *others)}) == 4
    assert (plain["is_pretrained"], plain["repeats"]) == (False, None)
    assert others[1]["num_trainable"] == 300 * 32
    corpus = Corpus([list(range(0, 5000, 5))])
    assert run(corpus, pairs)["is_pretrained"]


@pytest.mark.slow
def test_a_run_that_goes_on_after_pretraining_gives_the_same_result(corpus, pairs, tmp_path, monkeypatch):
    """Pretraining with dropout draws random numbers, and loading its weights does not."""
    monkeypatch.setitem(PRESETS, "nano", replace(NANO, model=replace(NANO.model, dropout=0.2)))
    plain = run(corpus, pairs)
    study = study_of(corpus, pairs)
    runner = Runner(folder=tmp_path)
    for job in everything(plan(study).values()):  # one call each
        runner.run([job])
    results = runner.run(everything(plan(study).values()))
    assert TranslationBenchmark().collect(study, results).as_dict() == plain


def test_a_training_that_diverges_is_told(corpus, pairs, tmp_path, monkeypatch):
    tuning = {name: replace(each, lr=1e38) for name, each in NANO.settings.items()}
    monkeypatch.setitem(PRESETS, "nano", replace(NANO, settings=tuning))
    for _ in range(2):  # the second time as kept
        with pytest.raises(DivergedError, match=r"not finite|the loss is"):
            run(None, pairs, Runner(folder=tmp_path))


def test_pairs_that_are_all_too_long(tmp_path):
    pairs = write(tmp_path / "long.tsv", [(f"{'word ' * 40}{index}", f"mot {index}") for index in range(30)])
    message = r"long\.tsv: expected pairs of at most 32 tokens, found only longer"
    with pytest.raises(ConfigError, match=message):
        study_of(None, pairs)


@pytest.mark.slow
def test_a_tiny_model_learns_to_copy_and_to_stop():
    """Words of one to six letters, each letter repeated: only a model that stops where the word does is right."""
    tokenizer = learn([SentencePair("où est le chat ?", "where is the cat ?")] * 3, 300)
    decoding = Decoding(num_new_tokens=12)
    special = bart.Specials.of(300)
    words = [letter * length for letter, length in zip("abcdefghijkl", [*range(1, 7)] * 2, strict=True)]
    rows = list(encode(tokenizer, words, special.end))
    pairs = bart.Encoded(sources=rows, targets=rows)
    torch.manual_seed(0)
    model = bart.build(NANO.model, 300)
    assert bart.cross_entropy(model, pairs, 16, special, "fp32") == pytest.approx(np.log(300), abs=0.5)
    data = bart.PairBatches(pairs, 12, special, np.random.default_rng(0))
    bart.train_encoder_decoder(model, data, 6_000, lr=1e-2, warmup=0.0, weight_decay=0.01, precision="fp32")
    options = {"vocab_size": 300, "precision": "fp32", "report_progress": [].append}
    for beam in (1, 3):
        said, ended = translate_sentences(model, tokenizer, rows, decoding, beam=beam, **options)
        assert ended == 1
        lengths = [len(word) for word in said]
        assert np.abs(np.subtract(lengths, [len(word) for word in words])).mean() < 0.5
        assert sum(map(str.__eq__, said, words)) >= 10
