"""The world of an experiment, made for what its task asks."""

from ecsuite.games.config.registry import TASKS, WORLDS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.worlds.noise_objects import require_seen
from ecsuite.games.worlds.world import RunSizes, World
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.given_values import require_different
from ecsuite.runtime.randomness import initial_weights


def make_world(experiment: Experiment, trained: World | None = None) -> World:
    """The world of an experiment, for its task.

    Args:
        experiment: What the world is of.
        trained: The world in which agents were trained that are evaluated in this one.

    Raises:
        ConfigError: If the world does not have what the task asks for, or a file can't be used.
    """
    task, training, evaluation = experiment.task, experiment.training, experiment.evaluation
    kind, spec = experiment.world.kind, TASKS.load(task.kind).rounds(task.options)
    world_class = WORLDS.load(kind)
    if spec.variant not in world_class.variants:
        expected = " or ".join(world_class.variants)
        raise ConfigError(f"task.variant: expected {expected} in world {kind}, got {spec.variant}")
    if spec.needs_rule and not world_class.has_rules:
        choices = [name for name in WORLDS.parts if WORLDS.load(name).has_rules]
        raise ConfigError(
            f"task {task.kind}: world {kind} has no rules; worlds with rules: {', '.join(choices)}"
        )
    sizes = RunSizes(
        seed=training.seed,
        num_train=training.num_examples,
        num_valid=evaluation.num_valid,
        batch_size=training.batch_size,
        evaluation_batch_size=evaluation.batch_size or training.batch_size,
    )
    world: World
    if trained is not None:
        world = trained.remade(world_class, experiment.world.options, spec, sizes)
    else:
        with initial_weights(training.seed):  # a world of the user's may have random features, or a network
            world = WORLDS.make(experiment.world, rounds=spec, sizes=sizes)
    require_different(f"world {kind}: names of values", [name for of in world.value_names for name in of])
    if world.rules is not None:
        require_different(f"world {kind}: names of concepts", world.rules.concept_names)
    assert world.num_distractors >= 0  # which says so where the files of a world would have to give them
    if evaluation.noise_objects:
        require_seen(world)
    return world
