"""Pretraining that ends when the loss on held-out messages stops falling; a recipe of mini_search.py."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import nn

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import Windows, dense, repeat, shuffled, stretches
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Machine, rate_by_share
from ecsuite.eval.xferbench.jobs import XferBenchStudy, cross_entropy, plan
from ecsuite.eval.xferbench.presets import PROTOCOLS, XferBenchPretraining
from ecsuite.jobs.job import Context, Job, Outcome, job_function
from ecsuite.runtime.ragged import Ragged

HELD_OUT_SHARE = 0.1
"""Share of the distinct messages that are held out, with all their copies."""
MEASURED_TOKENS = 5_000
"""Held-out tokens of a measurement; fewer messages are repeated to this."""
MEASUREMENTS = 4
"""Measurements an epoch."""
PATIENCE = 2
"""Measurements without a new minimum after which training ends."""


@job_function(version=1, label=lambda *, seed, **_: f"pretraining with early stopping, seed {seed}")
def pretrain_early(
    *,
    corpus: Corpus,
    sizes: XferBenchPretraining,
    protocol: str,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Train a new model on a part of a corpus until the loss on the other part stops falling.

    The rate falls linearly to 0 over all `pretrain_epochs`, and the weights with the least held-out loss are the
    result, as in `ecsuite.eval.xferbench.jobs.pretrain`; `num_tokens` says after how many tokens it was reached.
    """
    generator = torch.Generator().manual_seed(seed)
    train, held_out, num_types = halves(corpus.messages, sizes, seed)
    best, kept, waited = float("inf"), {}, 0
    with machine.computing(seed):
        model = LanguageModel(num_types, sizes, generator)
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=sizes.lr, weight_decay=PROTOCOLS[protocol].weight_decay, fused=True
        )
        per_epoch = -(-len(train) // sizes.batch)
        total, update = sizes.pretrain_epochs * per_epoch, 0
        every = max(1, per_epoch // MEASUREMENTS)
        while update < total and waited < PATIENCE:
            for index in shuffled(len(train), sizes.batch, generator):
                model.train()
                for group in optimizer.param_groups:
                    group["lr"] = sizes.lr * rate_by_share(update / total, 0.0)
                optimizer.zero_grad()
                model.loss(*train.take(index)).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                update += 1
                if update % every == 0 or update == total:
                    loss, _ = cross_entropy(model, held_out, sizes.batch)
                    waited += 1
                    if loss < best:
                        best, waited = loss, 0
                        kept = {name: weight.clone() for name, weight in model.state_dict().items()}
                        kept["updates"] = torch.tensor(update)
                    if waited == PATIENCE:
                        break
    num_tokens = int(kept.pop("updates")) * sizes.batch * sizes.context
    del kept["embedding.weight"]
    parameters = sum(weight.numel() for weight in kept.values())
    repeats = sizes.pretrain_tokens / len(corpus.messages.values)
    value = {"repeats": repeats, "parameters": parameters, "num_tokens": num_tokens, "held_out_loss": best}
    return Outcome(value=value, arrays=save(kept))


def halves(messages: Ragged, sizes: XferBenchPretraining, seed: int) -> tuple[Windows, Windows, int]:
    """Windows of the messages for training and of those held out, and the number of symbol types of both."""
    rng = np.random.default_rng(seed)
    rows = [tuple(messages[index].tolist()) for index in range(len(messages))]
    distinct = sorted(set(rows))
    order = rng.permutation(len(distinct))
    chosen = {distinct[place] for place in order[: max(1, round(HELD_OUT_SHARE * len(distinct)))]}
    is_held_out = np.array([row in chosen for row in rows])
    length = sizes.num_windows(sizes.pretrain_tokens) * sizes.context + 1
    streams: list[NDArray[np.int32]] = [
        repeat(messages.take(np.flatnonzero(~is_held_out)), length, rng),
        repeat(messages.take(np.flatnonzero(is_held_out)), MEASURED_TOKENS + 1, rng),
    ]
    symbols, num_types = dense(np.concatenate(streams))
    train, held_out = (
        Windows(symbols=stretches(part, sizes.context + 1, sizes.context))
        for part in np.split(symbols, [length])
    )
    return train, held_out, num_types


def plan_early(study: XferBenchStudy) -> Mapping[Any, Job]:
    """The jobs of `ecsuite.eval.xferbench.jobs.plan`, with pretraining that ends early."""
    jobs = dict(plan(study))
    for key, job in list(jobs.items()):
        if len(key) == 1 and job.inputs["corpus"] is not None:
            jobs[key] = Job(pretrain_early, **job.inputs)
    for key, job in list(jobs.items()):
        if len(key) == 2:
            jobs[key] = Job(job.function, **{**job.inputs, "pretrained": jobs[key[0],]})
    return jobs
