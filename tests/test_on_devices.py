import itertools
import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.eval.icy import acquisition
from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.agents import make_agent, parse_model
from ecsuite.eval.icy.end_to_end import train_end_to_end
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.data import Windows, stretches
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.translation.benchmark import TranslationBenchmark
from ecsuite.eval.translation.jobs import make_study as make_translation
from ecsuite.eval.xferbench.jobs import make_study as make_xferbench
from ecsuite.eval.xferbench.jobs import train as train_xferbench
from ecsuite.eval.xferbench.metric import measure as measure_xferbench
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.eval.xtreme.presets import XtremeTuning
from ecsuite.eval.xtreme.report import Xtreme
from ecsuite.eval.xtreme.rows import IGNORED, TokenRows
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.transfer import LabelHead, finetune
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.population import Population, make_population
from ecsuite.games.runs.run import load_run
from ecsuite.games.training import trainer as train_state
from ecsuite.games.training.train import train
from ecsuite.games.worlds.world import make_world
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.graph import Runner
from ecsuite.runtime import graphs, recording
from ecsuite.runtime.errors import ConfigError, DivergedError

pytestmark = pytest.mark.device("pretended", "cuda")

SMALL = (
    "sender.hidden_size=16", "receiver.hidden_size=16", "training.num_examples=64", "training.batch_size=16",
    "training.num_epochs=2", "training.evaluate_every=4", "training.checkpoint_every=4", "evaluation.num_valid=32",
    "evaluation.corpus_size=20",
)  # fmt: skip
GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, batch_size=16, lr=1e-2, window=5, held_out=0.25)


CORPUS = zipf_parentheses(500, np.random.default_rng(0), num_types=20)


def play(name, *changes, folder, resume=False, **options):
    return train(
        load_experiment(name, [*SMALL, *changes]),
        folder, device="cuda", resume=resume, scorer=LanguageMetrics, progress=lambda *_: None,
        **{"note": lambda _: None, **options},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("game", "changes"),
    [
        ("disc_tiny", []),
        ("disc_tiny", ["training.precision=fp32", "channel.kind=reinforce"]),
        ("disc_tiny", ["channel.kind=quantized", "task.kind=reconstruction", "evaluation.metrics=[topsim]"]),
        ("disc_tiny", ["sender.kind=transformer", "receiver.kind=cnn", "training.keep_best=accuracy"]),
        ("shape_gs", ["sender.perception.dropout=0.1"]),
        ("thing_qt", []),
    ],
)
def test_games_are_trained_and_evaluated(tmp_path, monkeypatch, game, changes):
    made = []

    def captured(*arguments, **options):
        outputs, found = graphs.captured(*arguments, **options)
        made.append(found)
        return outputs, found

    monkeypatch.setattr(recording, "captured", captured)
    result = play(game, *changes, folder=tmp_path / "run")
    assert made and not [reason for reason in made if isinstance(reason, str)]
    assert result.step == result.num_steps and math.isfinite(result.measures["loss"])
    assert load_run(tmp_path / "run").evaluate(device="cuda")["valid"].keys() == result.measures.keys()


SETS = ("task.kind=concept", "task.num_targets=2", "task.num_distractors=2")
RENDERED = {
    "shape": ("world.kind=shape", "world.images_per_batch=16", *SETS),
    "sets": (
        "world.kind=shapeworld", "world.images_per_label=1", "task.sender_input=targets_and_distractors", *SETS,
        "training.batch_size=64", "training.num_examples=512",
    ),
    "in_batch": ("world.kind=shapeworld", "task.kind=in_batch"),
    "values": ("world.kind=shapeworld", "task.kind=reconstruction"),
    "pixels": ("world.kind=shape", "task.kind=autoencoding"),
    "society": ("world.kind=shape", "world.images_per_batch=16", "society.agents=2", *SETS),
}  # fmt: skip


@pytest.mark.parametrize("game", RENDERED)
def test_steps_render_images_and_are_graphs(tmp_path, monkeypatch, game):
    inputs, reasons = [], []

    def captured(function, given, *arguments, **options):
        outputs, found = graphs.captured(function, given, *arguments, **options)
        inputs.extend(given)
        reasons.append(found if isinstance(found, str) else None)
        return outputs, found

    monkeypatch.setattr(recording, "captured", captured)
    play("disc_tiny", *RENDERED[game], folder=tmp_path)
    assert reasons and not any(reasons)
    assert {each.shape[1:] for each in inputs if each.dtype == torch.float64} == {(10,)}
    assert not [each for each in inputs if each.shape[1:] == (64, 64, 3)]


@pytest.mark.parametrize("game", RENDERED)
def test_images_rendered_on_the_device_are_those_of_the_cpu(game):
    experiment = load_experiment("disc_tiny", [*SMALL, *RENDERED[game]])
    world = make_world(experiment)
    players = make_population(experiment, world).to("cuda")
    pairs = [pair for _, pair in players.pairs()]
    for number in (0, 3, 4):
        for place, rounds in enumerate(players.engine.views(pairs, players.engine.rounds(pairs, number))):
            epoch, within = divmod(number, size := players.engine.batches_per_epoch)
            batch = world.batch("train", epoch * size + (within + place) % size)
            expected = players.first_pair.rounds(batch)
            assert rounds.form == expected.form
            for name, tensor in expected.tensors().items():
                difference = (rounds.tensors()[name].double() - tensor.double()).abs()
                assert difference.max() <= 1.01 / 255 and (difference > 0).double().mean() < 1e-5, name


def test_a_run_that_was_stopped_goes_on(tmp_path):
    stops = iter([None, None, "interrupt"])
    stopped = play("disc_tiny", folder=tmp_path, should_stop=lambda: next(stops))
    assert stopped.step == 3
    assert play("disc_tiny", folder=tmp_path, resume=True).step == 8


def test_what_keeps_steps_from_being_graphs_is_said(tmp_path, monkeypatch):
    code = "from ecsuite.games.channels.channels import GumbelChannel\nclass Own(GumbelChannel): ...\n"
    (tmp_path / "own.py").write_text(code)
    notes = []
    play("disc_tiny", f"channel.kind={tmp_path}/own.py:Own", folder=tmp_path / "own", note=notes.append)
    monkeypatch.setattr(train_state, "REMARK_AFTER", 0.0)
    monkeypatch.setattr(recording, "NUM_CALLS_BEFORE_GRAPH", 0)
    monkeypatch.setattr(recording, "captured", lambda function, inputs, *_, **__: (function(*inputs), "it waits"))
    play("disc_tiny", folder=tmp_path / "run", note=notes.append)
    assert [each for each in notes if "CUDA graphs" in each] == [
        "steps are not recorded as CUDA graphs, which is slower: users' code may depend on values of tensors",
        "steps are not recorded as CUDA graphs, which is slower: it waits",
    ]


@pytest.mark.parametrize(
    "changes", [["channel.kind=gumbel"], ["channel.kind=reinforce", "sender.kind=transformer", "receiver.kind=cnn"]],
)  # fmt: skip
def test_deterministic_kernels_are_enough_for_a_game(tmp_path, monkeypatch, changes):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # also where CUDA was used before
    play("disc_tiny", "training.deterministic=true", *changes, folder=tmp_path)


def test_what_has_no_deterministic_kernel_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    with pytest.raises(ConfigError, match="torch has no deterministic adaptive_max_pool2d_backward_cuda"):
        play("shape_gs", "training.deterministic=true", folder=tmp_path)


def test_a_run_that_goes_on_on_another_device_says_so(tmp_path):
    stops, notes = iter([None, "interrupt"]), []
    experiment = load_experiment("disc_tiny", [*SMALL, "training.precision=fp32"])
    train(
        experiment, tmp_path, device="cpu", progress=lambda *_: None, note=notes.append,
        should_stop=lambda: next(stops),
    )  # fmt: skip
    assert not notes
    train(experiment, tmp_path, resume=True, device="cuda", progress=lambda *_: None, note=notes.append)
    (line,) = notes
    assert line.startswith("the run was on cpu up to step 2 and continues on cuda: from there its noise is drawn")
    devices = json.loads((tmp_path / "metadata.json").read_text())["devices"]
    assert devices == [{"device": "cpu", "from_step": 0}, {"device": "cuda", "from_step": 2}]


@pytest.mark.parametrize(
    ("role", "model"),
    [
        ("sender", "lstm"), ("sender", "fc2l"), ("sender", "transformer"), ("receiver", "hier:gru"),
        ("receiver", "cnn"),
    ],
)  # fmt: skip
def test_agents_learn_languages(role, model):
    seeds = (1, 2) if model in ("lstm", "fc2l") else (1,)
    runs = [TrainingRun(grammar="concat", seed=seed, cap=8) for seed in seeds]
    outcomes = dict(learn(model, role, GEOMETRY, runs, PROTOCOL, device=torch.device("cuda")))
    assert len(outcomes) == len(runs) and all(0 <= outcome.held_out <= 1 for outcome in outcomes.values())
    assert not any(weight.is_cuda for outcome in outcomes.values() for weight in outcome.weights.values())


@pytest.mark.device("pretended", is_open=False)
def test_as_many_agents_learn_side_by_side_as_fit_in_memory_and_results_are_the_same(monkeypatch):
    from pretended_cuda.device import pretended

    runs = [TrainingRun(grammar="concat", seed=seed, cap=6) for seed in range(5)]
    groups = []
    together = acquisition._learn_side_by_side

    def recorded(spec, role, geometry, runs, *others):
        groups.append(len(runs))
        return together(spec, role, geometry, runs, *others)

    def learnt(free):
        groups.clear()
        with pretended(memory=(free, 2**40)):
            outcomes = dict(learn("lstm", "sender", GEOMETRY, runs, PROTOCOL, device=torch.device("cuda")))
        return outcomes, list(groups)

    monkeypatch.setattr(acquisition, "_learn_side_by_side", recorded)
    all_at_once, number = learnt(2**40)
    assert number == [5]
    in_groups, number = learnt(600_000)
    assert number == [2, 2, 1]
    one_by_one, number = learnt(1)
    assert number == [1] * 5
    for found in (in_groups, one_by_one):
        assert found == all_at_once  # without their weights
        for index, outcome in found.items():
            assert all(torch.equal(outcome.weights[name], all_at_once[index].weights[name]) for name in outcome.weights)


@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_pairs_are_trained_end_to_end(channel):
    torch.manual_seed(1)
    agents = {role: make_agent(parse_model(role, "gru"), role, GEOMETRY, 16) for role in ("sender", "receiver")}
    found = train_end_to_end(
        {role: dict(agent.named_parameters()) for role, agent in agents.items()},
        sender="gru", receiver="gru", geometry=GEOMETRY, grammar="concat", seed=1, channel=channel,
        feeds_back_samples=channel == "gumbel", protocol=PROTOCOL, max_steps=5, device="cuda",
    )  # fmt: skip
    assert 0 <= found["held_out"] <= 1


def test_xferbench_is_measured():
    study = make_xferbench(CORPUS, [ArtificialText(1, 30_000)], NANO, [0], device="cuda")
    assert measure_xferbench(study, Runner()).means[0] > 0


def test_translations_are_learnt(tmp_path):
    words = "red blue cat dog sees hears".split()
    lines = {" ".join(line) for line in np.random.default_rng(0).choice(words, (80, 5))}
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{line}\t{line.upper()}\n" for line in sorted(lines)))
    study = make_translation(CORPUS, file, preset="nano", device="cuda")
    assert "|precision:bf16|" in study.signature
    assert math.isfinite(TranslationBenchmark().measure(study, Runner()).chrf)


@pytest.mark.parametrize("backbone", ["decoder", "encoder"])
def test_all_nine_tasks_are_measured(ask, write_data, backbone):
    study = ask(data=write_data(), languages=(), tasks=tuple(TASKS), device="cuda", body=backbone)
    result = Xtreme().measure(study, Runner())
    assert tuple(result.splits) == tuple(TASKS) and study.machine.device == "cuda"


def steps(number):
    numbers = f"training.num_examples={16 * number} training.num_epochs=1"
    return [*numbers.split(), "training.evaluate_every=99", "training.checkpoint_every=99"]


def play_steps(number):
    with tempfile.TemporaryDirectory() as folder:
        play("disc_tiny", *steps(number), folder=Path(folder))


def learn_steps(number):
    run = TrainingRun(grammar="hol", seed=1, cap=number)
    protocol = Protocol(hidden_size=16, batch_size=16, lr=1e-7, window=1)
    list(learn("lstm", "sender", GEOMETRY, [run], protocol, device=torch.device("cuda")))


def pretrain_steps(number):
    model = LanguageModel(5, NANO, torch.Generator().manual_seed(0)).to("cuda")
    symbols = stretches(np.arange(2 * number * NANO.context + 1) % 5, NANO.context + 1, NANO.context)
    sizes = {"num_epochs": 1, "batch": 2, "lr": 1e-3, "weight_decay": 0.1}
    train_xferbench(model, Windows(symbols=symbols), **sizes, generator=torch.Generator())


def finetune_steps(number):
    draws = torch.Generator().manual_seed(0)
    backbone = BACKBONES["decoder"](
        TransformerSizes(num_layers=1, width=8, num_heads=2, context=16, dropout=0.0), draws
    )
    backbone.set_embedding(initial_embedding(9, 8, draws))
    head, rows = (
        LabelHead(8, 2, draws), TokenRows(ids=[[1, 2, 3]] * number, targets=[[IGNORED, 0, 1]] * number, padding=0),
    )  # fmt: skip
    parameters = [*backbone.to("cuda").parameters(), *head.to("cuda").parameters()]
    rules = XtremeTuning(lr=1e-3, epochs=1, batch=1, context=16)
    finetune(backbone, head, rows, rules, parameters, trains_backbone=True, generator=draws)


@pytest.mark.device("pretended", is_open=False)
@pytest.mark.parametrize(
    ("make_steps", "waits"),
    # ICY looks whether the language was acquired.
    [(play_steps, 0), (learn_steps, 1), (pretrain_steps, 0), (finetune_steps, 0)],
)
def test_how_often_a_step_waits_for_the_device(make_steps, waits):
    from pretended_cuda.device import pretended

    def counted(number):
        with pretended() as log:
            make_steps(number)
        return log

    few, many = counted(8), counted(12)
    more = {where: (many.syncs - few.syncs)[where] for where in many.syncs - few.syncs}
    assert sum(more.values()) == 4 * waits, more


@pytest.mark.device("pretended", is_open=False)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_how_much_a_step_of_disc_small_starts_on_the_device(tmp_path, precision):
    from pretended_cuda.device import pretended

    def launches(number):
        with pretended() as log:
            folder = tmp_path / str(number)
            play("disc_small", *steps(number), f"training.precision={precision}", folder=folder)
        return sum(log.launches.values())

    assert launches(4) - launches(3) <= 400


@pytest.mark.device("pretended", is_open=False)
def test_a_loss_that_is_not_finite_is_found_at_the_next_checkpoint(tmp_path, monkeypatch):
    from pretended_cuda.device import pretended

    train_on, count = Population.train_on, itertools.count(1)

    def poisoned(players, *arguments):
        played = train_on(players, *arguments)
        return replace(played, objective=played.objective * float("nan")) if next(count) == 6 else played

    monkeypatch.setattr(Population, "train_on", poisoned)
    sizes = ("training.num_examples=192", "training.num_epochs=1", "training.evaluate_every=99")
    with pretended(), pytest.raises(DivergedError, match=r"^step 8: the loss was not finite in a step since"):
        play("disc_tiny", *sizes, "training.checkpoint_every=4", folder=tmp_path)
    assert [file.name for file in tmp_path.glob("*.safetensors")] == ["checkpoint-000000004.safetensors"]
