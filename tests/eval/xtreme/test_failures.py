"""What is left out because a job failed: whole seeds, or whole controls."""

import pytest

from ecsuite.eval.xtreme.result import complete_part
from ecsuite.runtime.errors import DivergedError


@pytest.fixture
def complete(ask):
    """The part that is left of three seeds if a task of some backbones and seeds failed."""

    def complete(*failed):
        study = ask(seeds=(0, 1, 2))
        failures = {
            (body, seed, task, "en"): "the loss is nan" if (body, seed) in failed and task == "panx" else None
            for body in study.bodies
            for seed in study.seeds
            for task in ("udpos", "panx")
        }
        return complete_part(study, failures)

    return complete


ALL = ("corpus", "random init", "parentheses", "shuffled corpus")


@pytest.mark.parametrize(
    ("failed", "bodies", "seeds", "notes"),
    [
        ([], ALL, (0, 1, 2), []),
        ([("corpus", 1)], ALL, (0, 2), ["Seed 1 is left out, as corpus failed in it: the loss is nan."]),
        (
            [("random init", 0), ("corpus", 2)],
            ALL,
            (1,),
            [
                "Seed 2 is left out, as corpus failed in it: the loss is nan.",
                "Seed 0 is left out, as random init failed in it: the loss is nan.",
            ],
        ),
        (
            [("parentheses", 2)],
            ("corpus", "random init", "shuffled corpus"),
            (0, 1, 2),
            ["parentheses is left out, as it failed in seed 2: the loss is nan."],
        ),
        # In a seed that is left out anyhow.
        (
            [("corpus", 1), ("parentheses", 1)],
            ALL,
            (0, 2),
            ["Seed 1 is left out, as corpus failed in it: the loss is nan."],
        ),
        (
            [("random init", seed) for seed in range(3)],
            ("corpus", "parentheses", "shuffled corpus"),
            (0, 1, 2),
            ["random init is left out, as it failed in seed 0: the loss is nan."],
        ),
    ],
    ids=["nothing", "a seed", "two seeds", "a control", "only the seed", "the reference"],
)
def test_what_is_left_out_is_told(complete, failed, bodies, seeds, notes):
    found = complete(*failed)
    assert (found.bodies, found.seeds, list(found.notes)) == (bodies, seeds, notes)


def test_without_the_evaluated_backbone_there_is_no_result(complete):
    with pytest.raises(DivergedError, match=r"^corpus, seed 0: the loss is nan$"):
        complete(*(("corpus", seed) for seed in range(3)))
