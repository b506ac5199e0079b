"""The jobs of a study: what they train, what is in their keys, and what is computed again."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from ecsuite.corpus import Corpus
from ecsuite.eval.models.training import Machine
from ecsuite.eval.xtreme.jobs import Architecture, plan, pretrain, train_on_text
from ecsuite.eval.xtreme.presets import PROTOCOLS
from ecsuite.eval.xtreme.report import Xtreme
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context, Job, Result, Stopped, everything
from xtreme_data import find_text

CORPUS = Corpus([[place % 5, place % 3, 7] for place in range(40)])
KINDS = pytest.mark.parametrize("kind", ["decoder", pytest.param("encoder", marks=pytest.mark.slow)])
STAGES = ("pretrain", "train_on_text", "finetune", "retrieve")


def stage(job):
    """What a job does; retrieval has no training examples."""
    name = job.function.function.__name__
    return name if name != "evaluate" else "retrieve" if job.inputs["training"] is None else "finetune"


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def run(tmp_path, tiny):
    """Calls a job function; returns its value and its weights."""

    def run(function, kind="decoder", sizes=tiny, should_stop=lambda: False, **inputs):
        outcome = function(
            architecture=Architecture(kind=kind, sizes=sizes),
            machine=Machine(device="cpu", precision="fp32", num_threads=1),
            context=Context(scratch=tmp_path / "scratch", should_stop=should_stop),
            **{"seed": 0} | inputs,
        )
        file = tmp_path / f"{len(list(tmp_path.glob('*.arrays')))}.arrays"
        file.write_bytes(outcome.arrays)
        return Result(value=outcome.value, arrays=file), load_file(file)

    return run


@pytest.fixture
def pretrained(run, tiny_preset):
    """Pretrains on a source."""

    def pretrained(name="random init", kind="decoder", **others):
        corpus = CORPUS if "corpus" in name else None
        pretraining = None if name == "random init" else tiny_preset.pretraining
        return run(pretrain, kind, name=name, corpus=corpus, text=None, pretraining=pretraining, **others)

    return pretrained


@pytest.fixture
def with_text(run, tiny_preset, write_data):
    """Trains on texts by a protocol."""
    data = write_data("udpos")

    def with_text(pretrained, languages, protocol, kind="decoder", **others):
        rules = PROTOCOLS[protocol]
        training = tiny_preset.text if rules.text_trains_backbone else tiny_preset.embedding
        texts = tuple(find_text(language, data, None) for language in languages)
        given = {"vocabulary": tiny_preset.vocabulary, "training": training if rules.learns_text else None}
        return run(train_on_text, kind, pretrained=pretrained, texts=texts, **given, **others)

    return with_text


@pytest.mark.slow
@KINDS
def test_a_job_that_was_stopped_goes_on(pretrained, with_text, tiny, tmp_path, kind):
    sizes = replace(tiny, dropout=0.2)
    whole = pretrained("corpus", kind, sizes=sizes)
    text = with_text(whole[0], ("en", "ru"), "adapt", kind, sizes=sizes)
    for again, expected in (
        (lambda **others: pretrained("corpus", kind, sizes=sizes, **others), whole),
        (lambda **others: with_text(whole[0], ("en", "ru"), "adapt", kind, sizes=sizes, **others), text),
    ):
        with pytest.raises(Stopped):
            again(should_stop=lambda: True)
        checkpoint = tmp_path / "scratch" / "training.safetensors"
        assert checkpoint.is_file()
        assert same(again()[1], expected[1])
        checkpoint.unlink()


@pytest.mark.slow
@KINDS
def test_text_trains_the_backbone_if_the_protocol_says_so(pretrained, with_text, kind):
    before, first = pretrained(kind=kind)
    found = {}
    for protocol, rules in PROTOCOLS.items():
        result, found[protocol] = with_text(before, ("en", "ru"), protocol, kind)
        assert set(result.value["repeats"]) == ({"en", "ru"} if rules.learns_text else set())
    assert [set(found[name]) for name in ("monotrans", "direct")] == [{"embedding"}] * 2
    adapted = found["adapt"]
    assert found["in-language"].keys() == adapted.keys() == {"embedding", *first}
    assert not any(torch.equal(adapted[name], weight) for name, weight in first.items() if weight.any())
    # The same initial embedding: unchanged, trained alone, and trained with the backbone.
    direct, alone, together = (found[name]["embedding"] for name in ("direct", "monotrans", "adapt"))
    assert direct.shape == alone.shape == together.shape
    assert not torch.equal(direct, alone) and not torch.equal(alone, together)
    assert direct.std().item() == pytest.approx(0.02, rel=0.1)


def missing(folder, study):
    """How many jobs of each function would run."""
    names = [stage(job) for job in Runner(folder=folder).plan(plan(study).values()).missing]
    return tuple(names.count(name) for name in STAGES)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def kept(ask, shelf):
    """A folder with the results of `ask()`, computed once for all tests; it must not be changed."""
    if not (shelf / "results").is_dir():
        Xtreme().measure(ask(), Runner(folder=shelf))
    return shelf


def rewrite(file, old, new):
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "computed"),
    [
        ("udpos/test-de.tsv", "\tDET", "\tADJ", (0, 0, 4, 0)),
        ("udpos/train-en.tsv", "enla", "enlo", (0, 4, 4, 0)),  # its words are training text, too
        ("panx/test-de.tsv", "B-PER", "O", (0, 0, 0, 0)),
    ],
)
def test_changed_data_run_the_jobs_that_read_them(kept, ask, tmp_path, file, old, new, computed):
    before = ask().signature
    rewrite(tmp_path / "data" / file, old, new)
    assert missing(kept, ask()) == computed and (ask().signature != before) == any(computed)


def test_without_training_on_text_the_vocabulary_depends_on_the_texts(ask, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "en.txt").write_text("enla enak enru\n")
    keys = []
    for word in ("debk", "deck"):
        (texts / "de.txt").write_text(f"dela {word} deru\ndelo {word} deru\n")
        keys.append({job.digest for job in plan(ask(protocol="direct", texts=texts)).values()})
    assert not keys[0] & keys[1]


@pytest.mark.slow
def test_deleted_weights_are_made_again_only_if_something_needs_them(ask, tmp_path):
    folder = tmp_path / "kept"
    first = Xtreme().measure(ask(), Runner(folder=folder))
    weights = {file: file.read_bytes() for file in (folder / "results").glob("*.safetensors")}
    assert len(weights) == 8
    for file in weights:
        file.unlink()
    assert missing(folder, ask()) == (0, 0, 0, 0)
    assert missing(folder, ask(tasks=("udpos", "panx"))) == (4, 4, 4, 0)
    assert Xtreme().measure(ask(), Runner(folder=folder)) == first
    (task,) = (job for name, job in plan(ask()).items() if name[0] == "corpus")
    Runner(folder=folder).run([Job(task.function, **task.inputs | {"seed": 77})])  # of another head, not kept
    made = {file for file in weights if file.is_file()}
    assert len(made) == 2 and all(file.read_bytes() == weights[file] for file in made)


def test_tiny_jobs_have_the_figures_of_their_versions(ask, tmp_path):
    """Other figures need another version."""
    jobs = everything(plan(ask(tasks=("udpos", "bucc2018"))).values())
    jobs = [job for job in jobs if job.inputs.get("name", "corpus") == "corpus"]
    jobs = [job for job in jobs if all(each in jobs for each in job.after)]
    found = Runner(folder=tmp_path / "kept").run(jobs, needs_arrays=True)
    results = {stage(job): result for job, result in found.items()}
    assert {stage(job): job.key["version"] for job in found} == dict.fromkeys(STAGES, 1)
    assert results["pretrain"].value == {"repeats": pytest.approx(4.008333), "parameters": 4080}
    assert results["train_on_text"].value == {"repeats": {"en": 3.75, "de": 8.0}}
    weight = "model.blocks.0.attention_out.weight"
    for name, of, mean in (("pretrain", weight, 0.109813), ("train_on_text", weight, 0.138606),
                           ("train_on_text", "embedding", 0.154380)):  # fmt: skip
        assert float(load_file(results[name].arrays)[of].abs().mean()) == pytest.approx(mean, rel=1e-3)
    english = results["finetune"].value["by_language"]["en"]["metrics"]
    assert (english["f1"], english["accuracy"]) == pytest.approx((40, 200 / 3))
    assert results["retrieve"].value["by_language"]["de"]["metrics"]["f1"] == pytest.approx(600 / 11)
