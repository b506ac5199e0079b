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


def test_without_the_evaluated_backbone_there_is_no_result(complete):
    with pytest.raises(DivergedError, match=r"^corpus, seed 0: the loss is nan$"):
        complete(*(("corpus", seed) for seed in range(3)))
