"""The three stages: what each changes, what it writes, and what the next finds."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.learning.encoders import BACKBONES
from ecsuite.eval.xtreme import stages
from ecsuite.eval.xtreme.protocols import PROTOCOLS
from ecsuite.eval.xtreme.stages import finetune_task, learn_text, pretrain_backbone
from ecsuite.eval.xtreme.task import Trial

CORPUS = Corpus(messages=Ragged.from_rows([[place % 5, place % 3, 7] for place in range(40)]))
KINDS = pytest.mark.parametrize("kind", BACKBONES)


def silent(label, share):
    pass


@pytest.fixture
def rules(tiny):
    """What all stages are told."""
    return {"preset": tiny, "seed": 0, "device": "cpu", "precision": "fp32", "report_progress": silent}


@pytest.fixture
def give_birth(tmp_path, rules):
    def give_birth(name="random init", kind="decoder", **others):
        file = tmp_path / f"{name} {kind}.safetensors"
        corpus = CORPUS if "corpus" in name else None
        told = pretrain_backbone(name=name, corpus=corpus, text=None, kind=kind, file=file, **rules | others)
        return file, told

    return give_birth


@pytest.fixture
def listen(tmp_path, rules, write_data):
    data = write_data("udpos")

    def listen(born, languages, protocol, kind="decoder", **others):
        file = tmp_path / f"{protocol} {'+'.join(languages)}.safetensors"
        told = learn_text(
            born=born,
            kind=kind,
            languages=languages,
            protocol=protocol,
            data=data,
            texts=None,
            file=file,
            **rules | others,
        )
        return file, told

    return listen


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(weight, other[name]) for name, weight in one.items()
    )


@KINDS
def test_a_body_is_written_without_its_embedding(give_birth, tiny, kind):
    file, told = give_birth("corpus", kind)
    weights = load_file(file)
    assert weights.keys() == BACKBONES[kind](tiny, torch.Generator()).without_embedding().keys()
    assert told["parameters"] == sum(weight.numel() for weight in weights.values())
    assert told["repeats"] == pytest.approx((480 + 1) / 120)
    assert told["sha256"] == stages.hashlib.sha256(file.read_bytes()).hexdigest()


@KINDS
def test_all_are_born_alike_and_differ_by_what_they_learn(give_birth, tiny, kind):
    names = ("random init", "corpus", "shuffled corpus", "parentheses")
    raised = {name: load_file(give_birth(name, kind)[0]) for name in names}
    born = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
    assert same(raised["random init"], dict(born.without_embedding()))
    for place, name in enumerate(names):
        assert not any(same(raised[name], raised[other]) for other in names[:place])


@KINDS
def test_a_stage_is_a_pure_function(give_birth, tiny, kind):
    """Dropout comes of the seed as well, and nobody's random numbers are touched."""
    preset = replace(tiny, dropout=0.2)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first = give_birth("corpus", kind, preset=preset)[1]
    assert torch.equal(torch.random.get_rng_state(), before) and torch.get_num_threads() == threads
    torch.manual_seed(77)
    assert give_birth("corpus", kind, preset=preset)[1] == first
    assert give_birth("corpus", kind, preset=preset, seed=1)[1] != first
    assert give_birth("corpus", kind)[1] != first


def test_settings_end_with_an_error(give_birth):
    before = torch.random.get_rng_state()

    def stop(label, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_birth("corpus", report_progress=stop)
    assert torch.equal(torch.random.get_rng_state(), before)


@KINDS
def test_text_tunes_the_body_where_the_protocol_says_so(give_birth, listen, kind):
    born, _ = give_birth(kind=kind)
    kept = born.read_bytes()
    bodies = {}
    for protocol in PROTOCOLS:
        file, told = listen(born, ("en", "ru"), protocol, kind)
        bodies[protocol] = load_file(file)
        assert set(told["repeats"]) == ({"en", "ru"} if PROTOCOLS[protocol].learns_text else set())
    assert born.read_bytes() == kept
    assert [set(bodies[name]) for name in ("monotrans", "direct")] == [{"embedding"}] * 2
    assert bodies["in-language"].keys() == bodies["adapt"].keys()
    adapted, first = bodies["adapt"], load_file(born)
    assert adapted.keys() == {"embedding", *first}
    assert not any(torch.equal(adapted[name], weight) for name, weight in first.items() if weight.any())
    # From the same beginning: untouched, learnt alone, and learnt with the body.
    direct, alone, together = (bodies[name]["embedding"] for name in ("direct", "monotrans", "adapt"))
    assert direct.shape == alone.shape == together.shape
    assert not torch.equal(direct, alone) and not torch.equal(alone, together)
    assert direct.std().item() == pytest.approx(0.02, rel=0.1)


def test_a_vocabulary_reads_its_languages(give_birth, listen, tiny):
    file, _ = listen(give_birth()[0], ("en", "ru"), "direct")
    weights, metadata = stages._read(file)
    tokenizer = Tokenizer.from_str(metadata["tokenizer"])
    assert len(weights["embedding"]) == tokenizer.get_vocab_size() + 4 <= tiny.vocab_size + 4
    # A word of each language is one sub-word.
    assert all(len(tokenizer.encode(word).ids) == 1 for word in ("enla", "rula"))


def test_each_language_has_as_much_text(give_birth, listen, tiny):
    _, told = listen(give_birth()[0], ("en", "de"), "adapt")
    # English has two parts, of 12 lines each, to learn from; German one.
    assert told["repeats"]["de"] == pytest.approx(2 * told["repeats"]["en"], rel=0.2)
    assert told["repeats"]["de"] > 1


@pytest.fixture
def overhear(monkeypatch, rules, write_data):
    """What a task would be given: the body, and how to speak."""

    def overhear(born, learnt, kind="decoder", model=None):
        given = {}

        def do_task(body, speak, trial, preset, generator, report_progress):
            given.update(body=body, speak=speak, seed=generator.initial_seed(), trial=trial)
            return {"learnt_from": None, "by_language": {}}

        monkeypatch.setattr(stages, "do_task", do_task)
        trial = Trial(
            data=write_data("udpos"),
            task="udpos",
            learnt_in="en",
            tested_in=("de",),
            is_zero_shot=True,
            swaps_embedding=True,
        )
        finetune_task(born=born, model=model, learnt=learnt, kind=kind, trial=trial, **rules)
        assert given["trial"] is trial and given["seed"] == 0
        return given["body"], given["speak"]

    return overhear


@KINDS
def test_adapt_goes_on_with_the_body_that_text_tuned(give_birth, listen, overhear, kind):
    born, _ = give_birth(kind=kind)
    file, _ = listen(born, ("en", "de"), "adapt", kind)
    body, speak = overhear(born, {"en": file, "de": file}, kind)
    assert same(dict(body.without_embedding()), load_file(born))
    sub_words = speak("en")
    written = load_file(file)
    assert torch.equal(body.embedding.weight, written.pop("embedding"))
    assert same(dict(body.without_embedding()), written)
    assert sub_words.size == len(body.embedding.weight)
    assert body.embedding.weight.requires_grad


@KINDS
def test_monotrans_swaps_embeddings_and_never_the_body(give_birth, listen, overhear, kind):
    born, _ = give_birth("corpus", kind)
    learnt = {language: listen(born, (language,), "monotrans", kind)[0] for language in ("en", "de")}
    body, speak = overhear(born, learnt, kind)
    for language in ("en", "de", "en"):
        sub_words = speak(language)
        assert torch.equal(body.embedding.weight, load_file(learnt[language])["embedding"])
        assert sub_words.size == len(body.embedding.weight)
        assert [len(ids) for ids in sub_words.words([[f"{language}ru"]])[0]] == [1]
        assert same(dict(body.without_embedding()), load_file(born))
    # What a task has changed of the body stays, too.
    name, weight = next(iter(body.without_embedding().items()))
    with torch.no_grad():
        weight.add_(1)
    speak("de")
    assert torch.equal(body.without_embedding()[name], load_file(born)[name] + 1)


def test_a_published_model_speaks_all_languages(overhear, tiny_bert):
    body, speak = overhear(None, {}, model=str(tiny_bert))
    assert speak("en") is speak("ru") is body.sub_words
