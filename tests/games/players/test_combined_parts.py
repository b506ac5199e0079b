"""Parts in a society: losses and baselines of each speaker, noise of learning, batch statistics, shared weights."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.engine import engine
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.players.pair import StepResult
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world

TWO = ("society.senders=2", "society.receivers=2")


def society(experiment):
    """The society of an experiment."""
    torch.manual_seed(1)
    return make_population(experiment, make_world(experiment))


def step_of(players, step=0):
    """Play a step; its gradients by name, scaled."""
    players.zero_grad(set_to_none=True)
    played = players.train_on(step, step, 0)
    played.objective.backward()
    players.scale_gradients(step)
    return {name: each.grad.clone() for name, each in players.named_parameters() if each.grad is not None}


def test_each_speaker_has_the_baseline_of_its_rewards(small):
    found = society(small(*TWO, "channel=reinforce", "loss=reward"))
    assert {f"agents.{index}.speaker.loss.baseline" for index in (0, 1)} <= set(found.state_dict())
    step_of(found)
    first, second = (float(found.senders[index].loss.baseline) for index in (0, 1))
    assert first != second
    optimizer = Optimise(small().optimizer, found).optimizer
    found.replace_agent("sender", 0, 8, optimizer)
    assert float(found.senders[0].loss.baseline) == 0
    assert float(found.senders[1].loss.baseline) == second


def test_weights_of_a_loss_are_trained(small, tmp_path):
    (tmp_path / "loss.py").write_text(
        "import torch\nfrom torch import nn\nfrom ecsuite.games.tasks.losses import Loss, TaskLoss\n"
        "class Weighted(Loss):\n    Options = TaskLoss.Options\n"
        "    def __init__(self, options):\n        super().__init__(options)\n        self.inner = TaskLoss(options)\n"
        "        self.weight = nn.Parameter(torch.zeros(()))\n"
        "    def forward(self, output, ends, message):\n"
        "        loss, cost = self.inner(output, ends, message)\n"
        "        return loss * torch.exp(-self.weight) + self.weight, cost\n"
    )
    experiment = small(*TWO, f"loss={tmp_path}/loss.py:Weighted")
    found = society(experiment)
    assert {f"agents.{index}.speaker.loss.weight" for index in (0, 1)} <= set(step_of(found))
    updates = Optimise(experiment.optimizer, found)
    updates.step()
    assert found.senders[0].loss.weight.item() != 0


@pytest.mark.parametrize(
    "settings",
    [
        ("generations.every=2", "generations.transmit=true", "generations.sender_steps=1", "generations.size=16"),
        (
            "generations.every=3", "generations.transmit=true", "generations.receiver_steps=2", "generations.size=16",
            "channel.noise=erasure,probability=0.2",
        ),
        ("society.imitate_every=2",),
    ],
)  # fmt: skip
def test_learning_draws_from_the_generator_of_the_step(small, settings):
    noisy = ("sender.perception=tanh,size=5,dropout=0.3", "receiver.perception=tanh,size=5,noise=0.3")
    found = []
    for seed in (1, 2):
        players = society(small(*TWO, *noisy, *settings))
        players.begin_step(2 + ("every=3" in settings[0]), Optimise(small().optimizer, players).optimizer)
        torch.manual_seed(seed)
        found.append(step_of(players, 2 + ("every=3" in settings[0])))
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(each, found[1][name]) for name, each in found[0].items())


LEARNERS = (
    ("generations.every=3", "generations.transmit=true", "generations.receiver_steps=2", "generations.size=32"),
    ("receiver.taught=holistic",),
)  # fmt: skip


@pytest.mark.parametrize("settings", LEARNERS)
def test_receivers_that_are_rewarded_learn_messages_by_rewards(small, settings):
    """Also where nobody said them in training, so that they have no probability."""
    found = society(small(*TWO, *settings, "channel=reinforce", "loss=reward"))
    updates = Optimise(small().optimizer, found)
    if "taught" in settings[0]:
        gradients = updates.gradients(found.teaching.learn(0).objective)
    else:
        found.begin_step(3, updates.optimizer)
        gradients = found.train_on(3, 3, 0, updates.gradients).gradients
    names = [name for name, each in found.named_parameters() if each.requires_grad]
    changed = {
        name.split(".")[1]
        for name, each in zip(names, gradients, strict=True)
        if each is not None and each.any()
    }
    assert changed == {"2", "3"}
    assert found.senders[0].loss.baseline < 0


def test_nobody_has_understood_a_new_sender_yet(small):
    """So others do not imitate it for what the one whose place it takes was worth."""
    found = society(small("society.senders=3", "society.imitate_every=2", "generations.every=4"))
    found.recent.copy_(torch.tensor([0.1, 0.9, 0.5]))
    found.replace_agent("sender", 1, 4, Optimise(small().optimizer, found).optimizer)
    found.replace_agent("receiver", 0, 4, Optimise(small().optimizer, found).optimizer)
    assert found.recent.tolist() == pytest.approx([0.1, 0.0, 0.5])


@pytest.mark.parametrize("settings", [TWO, ("generations.every=2",), ("society.receivers=3",)])
def test_batch_statistics_are_those_of_each_pair(settings):
    """A pair alone changes them as its own game would; agents of several pairs have the mean of the changes."""
    small = (
        "training.batch_size=8", "world.images_per_batch=16", "task.num_targets=2", "task.num_distractors=2",
        "training.precision=fp32", "sender.hidden_size=8", "receiver.hidden_size=8",
    )  # fmt: skip
    experiment = load_experiment("shape_gs", [*small, *settings])
    found, alone = society(experiment), society(experiment)
    assert step_of(found)
    changed: dict[str, list[torch.Tensor]] = {}
    for place, meeting in enumerate(found.schedule.of_step(0)):
        pair = alone.pair(meeting.sender, meeting.receiver)
        before = {name: each.clone() for name, each in alone.named_buffers()}
        pair.play(alone.world.batch("train", place), "train", alone.noises(0, [place])[0])
        for name, each in alone.named_buffers():
            if "running" in name and not torch.equal(each, before[name]):
                changed.setdefault(name, []).append(each.clone())
            each.copy_(before[name])
    buffers = dict(found.named_buffers())
    assert changed
    for name, values in changed.items():
        torch.testing.assert_close(buffers[name], torch.stack(values).mean(0))


@pytest.mark.slow
def test_the_lowest_accuracy_is_of_a_pair_over_all_rounds(small):
    """Not the mean over batches of the lowest in each: that falls with the size of a batch."""
    found = []
    for size in (64, 16, 4):
        experiment = small(
            "society.senders=3", "society.receivers=3", "evaluation.num_valid=64", f"evaluation.batch_size={size}"
        )  # fmt: skip
        players = society(experiment)
        found.append(evaluate(players, players.world, experiment))
    assert len({round(each["lowest_accuracy"], 6) for each in found}) == 1
    assert found[0]["lowest_accuracy"] < found[0]["accuracy"]


SHARED = (
    "society.agents=4", "society.shares=perception", "society.pairs_per_step=12",
    "sender.perception=linear,size=9", "receiver.perception=linear,size=9",
)  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_together", [True, False])
@pytest.mark.parametrize("slow", ["sender", "receiver", None])
def test_a_shared_perception_learns_as_the_mean_of_where_it_learns(small, slow, is_together):
    """Each of four agents sends three times and receives three times; a slow sender still learns as a receiver."""
    speeds = [f"society.{slow}_speeds=[0.000001]"] if slow else []
    found = society(small(*SHARED, *speeds))
    if not is_together:
        found.engine.are_able = False
    plain = society(small(*SHARED))
    both = []
    for role in ("sender", "receiver"):  # the gradient of each use alone
        plain.zero_grad(set_to_none=True)
        meetings = plain.schedule.of_step(0)
        played = plain.engine.run_pairs(
            pairs := [plain.pair(meeting.sender, meeting.receiver) for meeting in meetings],
            plain.engine.rounds(pairs, 0),
            plain.noises(0, range(12)),
            0,
            unchanged=[{"receiver" if role == "sender" else "sender"}] * 12,
            combine=lambda each: StepResult(objective=sum(one.objective for one in each), measures={}),
        )
        played.objective.backward()
        both.append(plain.senders[0].perception[0].weight.grad.clone())
    expected = {"sender": both[1] / 3, "receiver": both[0] / 3, None: (both[0] + both[1]) / 6}[slow]
    gradients = step_of(found)
    torch.testing.assert_close(
        gradients["agents.0.speaker.perception.0.weight"], expected, rtol=1e-4, atol=1e-7
    )


@pytest.mark.slow
def test_agents_that_share_are_kept_and_read_again(small, run, tmp_path):
    settings = [*SHARED, "evaluation.num_valid=8"]
    run(small(*settings, "training.num_epochs=1"), tmp_path / "run")
    assert (tmp_path / "run" / "corpus.jsonl").is_file()


def test_a_step_in_which_all_are_slow_changes_nothing(small, run, tmp_path):
    settings = (
        "society.receivers=2", "society.sender_speeds=[0.000001]", "society.receiver_speeds=[0.000001]",
    )  # fmt: skip
    run(small(*settings), tmp_path / "run")
    assert (tmp_path / "run" / "corpus.jsonl").is_file()


def test_memory_that_ran_out_says_nothing_of_the_parts(small, monkeypatch):
    found, real = society(small(*TWO)), engine._play_stacked
    outcomes = iter([torch.OutOfMemoryError("pretended"), None])

    def once(*arguments):
        if (error := next(outcomes, None)) is not None:
            raise error
        return real(*arguments)

    monkeypatch.setattr(engine, "_play_stacked", once)
    with pytest.raises(torch.OutOfMemoryError):
        found.train_on(0, 0, 0)
    assert found.engine.are_able is None
    found.train_on(0, 0, 0)
    assert found.engine.are_able


def test_pairs_with_batches_of_other_sizes_play_apart_and_say_so(small):
    found = society(small(*TWO, "task=in_batch"))
    found.train_on(0, 0, 0)
    assert "different numbers" in found.engine.reason
    assert found.engine.are_able is None


def test_codes_of_positions_stay_as_they_are(small):
    """An agent of seven pairs has the mean of what they changed; the mean of seven equal numbers is another one."""
    agents = ("sender=transformer,hidden_size=8", "receiver=transformer,hidden_size=8,num_heads=2")
    found = society(load_experiment("disc_tiny", ["society.receivers=7", "training.batch_size=16", *agents]))
    before = [each.clone() for name, each in found.named_buffers() if name.endswith("positions")]
    step_of(found)
    after = [each for name, each in found.named_buffers() if name.endswith("positions")]
    assert before and all(torch.equal(*each) for each in zip(before, after, strict=True))


@pytest.mark.slow
def test_agents_that_are_made_in_threads_begin_as_their_seed_says(small):
    experiments = [small(*TWO, f"training.seed={seed}") for seed in (1, 2)]
    worlds = [make_world(experiment) for experiment in experiments]

    def made(place):
        players = make_population(experiments[place], worlds[place])
        return [each.detach().clone() for each in players.parameters()]

    alone = [made(place) for place in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(made, [0, 1] * 20))
    for number, found in enumerate(together):
        assert all(torch.equal(*each) for each in zip(found, alone[number % 2], strict=True))


def test_a_bottleneck_is_drawn_once_a_generation(small, monkeypatch):
    settings = (
        "generations.every=9",
        "generations.transmit=true",
        "generations.size=16",
        "generations.sender_steps=6",
    )
    found = society(small(*settings))
    draws, real = [], type(found.world).draw
    monkeypatch.setattr(type(found.world), "draw", lambda *given: draws.append(given) or real(*given))
    for step in range(9, 15):
        found.begin_step(step, Optimise(small().optimizer, found).optimizer)
        found.train_on(step, step, 0)
    assert len(draws) == 1
