"""Speed of XferBench at the paper's size: training, test, time of a run, and the effect of bf16 on a score.

    python benchmarks/xferbench.py --device cuda --minutes 5
    python benchmarks/xferbench.py --batches 3 --peer  # also Hugging Face's Trainer
    python benchmarks/xferbench.py --shift --minutes 5     # the same short runs in fp32 and bf16, several seeds

Rows are measured alternately, a batch of 32 x 256 tokens at a time, so that changes in the speed of the machine affect
all; figures are medians. The peak is the speed of a square matrix product of the same precision.
"""

import argparse
import copy
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from rows import Row, add_json_option, publish
from torch import nn

from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.xferbench.jobs import make_study
from ecsuite.eval.xferbench.metric import measure
from ecsuite.eval.xferbench.presets import FULL, MINI, XferBenchPreset
from ecsuite.eval.xferbench.texts import choose_texts
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.devices import PRECISIONS, choose_device, routed_products

TRUNK, HEAD = 268.96e6, 138.24e6
"""FLOP per token, forward and backward: layers with causal attention, and logits over 30 000 symbols."""
PEAK_SIZE = 4096


def main() -> None:
    """Print a row for each program and precision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--batch", type=int, default=FULL.batch, help="windows of 256 tokens")
    parser.add_argument("--batches", type=int, help="number of timed batches per row")
    parser.add_argument("--minutes", type=float, default=5, help="approximate duration without --batches")
    parser.add_argument("--peer", action="store_true", help="also time Hugging Face's Trainer")
    parser.add_argument("--shift", action="store_true", help="compare scores of fp32 and bf16")
    add_json_option(parser)
    options = parser.parse_args()
    device = choose_device(options.device)
    if options.shift:
        shift(device, options.minutes)
    else:
        speed(device, options)


def speed(device: torch.device, options: argparse.Namespace) -> None:
    """Print tokens per second, and the estimated time of a run."""
    rows: dict[str, Callable[[], None]] = {
        f"{stage} {precision}": work(stage, precision, options.batch, device)
        for precision in PRECISIONS
        for stage in ("train", "test")
    }
    if options.peer:
        rows["Trainer fp32"] = peer(options.batch, device)
    rows |= {f"peak {precision}": product(dtype, device) for precision, dtype in PRECISIONS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    began = time.monotonic()
    with routed_products(device):
        for run in rows.values():
            run()
        while options.batches or time.monotonic() - began < 60 * options.minutes:
            for name, run in rows.items():
                seconds[name].append(timed(run, device))
            if options.batches and len(seconds[name]) == options.batches:
                break
    if options.json:
        publish(
            [Row(name=name, unit="s", values=tuple(times)) for name, times in seconds.items()], as_json=True
        )
        return
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    tokens = options.batch * FULL.context
    peaks = {name: 2 * PEAK_SIZE**3 / medians[f"peak {name}"] for name in PRECISIONS}
    print(f"{'row':14} {'s/batch':>8} {'tokens/s':>9} {'GFLOP/s':>8} {'of peak':>7}")
    for name, each in medians.items():
        if name.startswith("peak"):
            continue
        flops = (TRUNK + HEAD) / (3 if name.startswith("test") else 1) * tokens / each
        share = flops / peaks[name.split()[-1]]
        print(f"{name:14} {each:8.3f} {tokens / each:9,.0f} {flops / 1e9:8,.0f} {share:7.0%}")
    for name, peak in peaks.items():
        print(f"peak {name}: {peak / 1e9:,.0f} GFLOP/s")
    for name in PRECISIONS:
        rate = {stage: tokens / medians[f"{stage} {name}"] for stage in ("train", "test")}
        minutes = [estimate(languages, rate) / 60 for languages in (1, len(FULL.languages))]
        print(f"{name}: danish {minutes[0]:,.1f} minutes, full {minutes[1]:,.1f} minutes")
    if options.peer:
        for name in PRECISIONS:
            ratio = medians["Trainer fp32"] / medians[f"train {name}"]
            print(f"{name} relative to Trainer fp32: {ratio:.2f} x")


def estimate(num_languages: int, tokens_per_second: dict[str, float]) -> float:
    """Seconds of a run: pretraining, and for each language fine-tuning and a test whose windows overlap by half."""
    pretrain = FULL.pretrain_tokens * FULL.pretrain_epochs / tokens_per_second["train"]
    tune = FULL.tune_tokens * FULL.tune_epochs / tokens_per_second["train"]
    return pretrain + num_languages * (tune + 2 * FULL.test_tokens / tokens_per_second["test"])


def work(stage: str, precision: str, batch: int, device: torch.device) -> Callable[[], None]:
    """A function that runs one batch of training or test with the benchmark's model."""
    generator = torch.Generator().manual_seed(0)
    model = LanguageModel(FULL.vocab_size, FULL, generator).to(device)
    model.products = PRECISIONS[precision]
    rows = torch.randint(FULL.vocab_size, (batch, FULL.context + 1), generator=generator).to(device)
    if device.type == "cuda":
        model.compile()
    if stage == "test":
        model.eval()

        def test() -> None:
            with torch.no_grad():
                model.loss(rows[:, :-1], rows[:, 1:])

        return test
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def update() -> None:
        optimizer.zero_grad()
        model.loss(rows[:, :-1], rows[:, 1:]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return update


def peer(batch: int, device: torch.device) -> Callable[[], None]:
    """A function that runs one update of Hugging Face's Trainer, without the setup of a run."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=FULL.vocab_size,
        n_positions=FULL.context,
        n_head=FULL.num_heads,
        n_layer=FULL.num_layers,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = transformers.GPT2LMHeadModel(config)
    arguments: dict[str, Any] = {
        "output_dir": tempfile.mkdtemp(),
        "per_device_train_batch_size": batch,
        "max_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": device.type == "cpu",
    }
    symbols = torch.randint(FULL.vocab_size, (batch, FULL.context))
    rows = [{"input_ids": row, "labels": row} for row in symbols]
    trainer = transformers.Trainer(
        model=model, args=transformers.TrainingArguments(**arguments), train_dataset=rows
    )
    trainer.create_optimizer_and_scheduler(1_000_000)
    trainer.current_gradient_accumulation_steps = 1  # as `train` sets it
    model.train()
    inputs = trainer._prepare_inputs({"input_ids": symbols, "labels": symbols})

    def update() -> None:
        trainer.training_step(model, copy.copy(inputs))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        trainer.optimizer.step()
        model.zero_grad()

    return update


def product(dtype: torch.dtype, device: torch.device) -> Callable[[], None]:
    """A function that computes a square matrix product, to measure the peak speed of the machine."""
    factor = torch.randn(PEAK_SIZE, PEAK_SIZE, device=device, dtype=dtype)

    def multiply() -> None:
        torch.mm(factor, factor)

    return multiply


def timed(run: Callable[[], None], device: torch.device) -> float:
    """Seconds of one call."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def shift(device: torch.device, minutes: float) -> None:
    """Print scores of the same seeds in both precisions: half the paper's width on a GPU, preset mini on a CPU."""
    small = replace(MINI, pretrain_tokens=200_000, pretrain_epochs=1, tune_epochs=1, num_embedded=1)
    wide = replace(FULL, width=384, pretrain_tokens=1_000_000, tune_tokens=500_000, tune_epochs=2)
    wide = replace(wide, test_tokens=100_000, vocab_size=2000, languages=(), num_embedded=1)
    preset = wide if device.type == "cuda" else small
    texts, began, differences = choose_texts(None, preset), time.monotonic(), list[float]()
    values: list[float] = []
    while len(differences) < 2 or time.monotonic() - began < 60 * minutes:
        seed = len(differences)
        corpus = zipf_parentheses(
            preset.pretrain_tokens, np.random.default_rng(seed), num_types=preset.vocab_size
        )
        presets: list[XferBenchPreset] = [
            replace(preset, precision="fp32"),
            replace(preset, precision="auto"),
        ]
        studies = [make_study(corpus, texts, each, [seed], device=device.type) for each in presets]
        fp32, bf16 = (measure(study, Runner()).means[0] for study in studies)
        differences.append(bf16 - fp32)
        values.append(fp32)
        print(f"seed {seed}: fp32 {fp32:.4f}, bf16 {bf16:.4f}, shift {bf16 - fp32:+.4f}", flush=True)
    print(
        f"mean shift {statistics.mean(differences):+.4f}, its sd {statistics.stdev(differences):.4f}; sd between seeds "
        f"{statistics.stdev(values):.4f} (published, between runs: 0.0045 to 0.011)"
    )


if __name__ == "__main__":
    main()
