"""GPU use of each kind of training: time, kernels, memory, and the share of its limit that is used.

    python benchmarks/gpu.py                     # within 8 minutes; repeat the command to continue
    python benchmarks/gpu.py disc_small icy      # rows whose names begin so
    python benchmarks/gpu.py --again             # measure rows again that are in the file

Each row is a training as users run it, interrupted when enough was measured, and is written as soon as it is known to
a file of this GPU under `benchmarks/results`, with its date; `compare.py` compares two such files. EGG's rows need
`egg.core`. The limit is the speed of a square product of the same precision, the share counts products alone; `busy`
is the share of time in which a kernel runs.
"""

import argparse
import gc
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from gpu_work import Work, works
from rows import Row, read_rows, versions
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, supported_activities
from torch.utils.flop_counter import FlopCounterMode
from xferbench import estimate

from ecsuite.eval.xferbench.presets import FULL
from ecsuite.files.atomic_files import write_atomically
from ecsuite.runtime.devices import choose_device, hardware, routed_products
from ecsuite.runtime.errors import ConfigError

RESULTS = Path(__file__).parent / "results"
NUM_BLOCKS = 5
"""Timed blocks of updates; the device is waited for between them alone."""
NUM_PROFILED = 4
"""Number of updates whose kernels are counted."""
STARTS = re.compile("LaunchKernel|GraphLaunch")
"""Calls by which the processor starts something on the device."""
BARS = (
    ("disc_small", "x EGG", 33, lambda ms: ms("disc_small, EGG") / ms("disc_small")),
    ("disc_large", "x EGG", 28, lambda ms: ms("disc_large, EGG") / ms("disc_large")),
    (
        "disc_small, REINFORCE",
        "x EGG",
        15,
        lambda ms: ms("disc_small, REINFORCE, EGG") / ms("disc_small, REINFORCE"),
    ),
    ("recon_large", "x EGG", 10, lambda ms: ms("recon_large, EGG") / ms("recon_large")),
    ("shape_gs", "x two CPU cores", 25, lambda ms: ms("shape_gs, two CPU cores") / ms("shape_gs")),
    ("16 pairs", "x one after the other", 8, lambda ms: 16 * ms("disc_tiny") / ms("disc_tiny, 16 pairs")),
    ("64 pairs", "x one after the other", 40, lambda ms: 64 * ms("disc_tiny") / ms("disc_tiny, 64 pairs")),
)
"""Rows compared with another: the name, what is said, the least ratio, and the ratio of the milliseconds."""


class Enough(Exception):
    """Exception that ends a training after enough measurements."""


class Measurement:
    """Follows a training update by update: first warm-up, then timed blocks, then updates whose kernels are counted.

    Args:
        device: Of the training.
        seconds: Least time of all blocks together.
        counts_flops: Whether products are counted, of one more update.
        num_warm: Updates before those that are timed.
    """

    def __init__(self, device: torch.device, seconds: float, *, counts_flops: bool, num_warm: int) -> None:
        self.device, self.seconds, self.counts_flops = device, seconds, counts_flops
        self.num_warm = num_warm
        self.flops = self.kernel_seconds = 0.0
        self.num_started: float | None = None
        self.times: list[float] = []
        self.phases = self._phases()

    def told(self) -> None:
        """An update was made; `Enough` ends the training."""
        if next(self.phases, None) is None:
            raise Enough

    def _phases(self) -> Iterator[bool]:
        """Goes on after every update."""
        for _ in range(self.num_warm):
            yield True
        began = self._now()
        yield True
        num_updates = max(1, round(self.seconds / NUM_BLOCKS / (self._now() - began)))
        began = self._now()
        for _ in range(NUM_BLOCKS):
            for _ in range(num_updates):
                yield True
            now = self._now()
            self.times.append((now - began) / num_updates)
            began = now
        if self.device.type == "cuda" and ProfilerActivity.CUDA in supported_activities():
            with profile(activities=[ProfilerActivity.CUDA]) as profiler:
                for _ in range(NUM_PROFILED):
                    yield True
                self._now()
            events = profiler.events() or []
            started = sum(bool(STARTS.search(event.name)) for event in events)
            self.num_started = started / NUM_PROFILED
            kernels = [event for event in events if event.device_type == DeviceType.CUDA]
            self.kernel_seconds = sum(kernel.device_time for kernel in kernels) / 1e6 / NUM_PROFILED
        if self.counts_flops:
            with FlopCounterMode(display=False) as counter:
                yield True
            self.flops = float(counter.get_total_flops())

    def _now(self) -> float:
        """Seconds, when the device has finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def measure(
    name: str, make: Callable[[], Work], device: torch.device, seconds: float, *, is_small: bool
) -> Iterator[Row]:
    """The figures of a training, one row each.

    Args:
        name: Of the rows.
        make: Makes the work.
        device: Where it computes; rows of the CPU say so in their name.
        seconds: Least time of what is timed.
        is_small: Whether to try the script.
    """
    place = torch.device("cpu") if name.endswith("CPU cores") else device
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    work = make()
    num_warm = 1 if is_small else work.num_warm
    callbacks = Measurement(place, seconds, counts_flops=work.flops is None, num_warm=num_warm)
    try:
        work.loop(callbacks.told)
    except Enough:
        pass
    best = min(callbacks.times)
    yield Row(name=name, unit="ms", values=tuple(1000 * each for each in callbacks.times))
    rates = tuple(work.amount / each for each in callbacks.times)
    yield Row(name=f"{name}, {work.unit}", unit="1/s", values=rates, higher_is_better=True)
    if place.type == "cuda":
        megabytes = torch.cuda.max_memory_allocated() / 2**20
        yield Row(name=f"{name}, memory", unit="MB", values=(megabytes,))
        if flops := work.flops or callbacks.flops:  # of graphs none are counted
            share = flops / best / limit_of(work.precision, place, 64 if is_small else 8192)
            yield Row(name=f"{name}, of the limit", unit="share", values=(share,), higher_is_better=True)
    if callbacks.num_started is not None:
        yield Row(name=f"{name}, launches", unit="an update", values=(callbacks.num_started,))
        busy = callbacks.kernel_seconds / best
        yield Row(name=f"{name}, busy", unit="share", values=(busy,), higher_is_better=True)
    if work.padding is not None:
        yield Row(name=f"{name}, padding", unit="share", values=(work.padding,))


def limit_of(precision: str, device: torch.device, side: int) -> float:
    """FLOP/s of a square product."""
    factor = torch.randn(side, side, device=device, dtype=torch.bfloat16 if precision == "bf16" else None)
    seconds = []
    with routed_products(device, precision):
        for _ in range(10):
            torch.cuda.synchronize()
            began = time.perf_counter()
            torch.mm(factor, factor)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
    return 2 * side**3 / min(seconds)


def conclusions(rows: dict[str, Row]) -> Iterator[str]:
    """Targets of this project on a GPU: a line for each whose rows are complete."""
    for name, said, bar, ratio in BARS:
        try:
            found = ratio(lambda row: rows[row].best)
        except KeyError:
            continue
        yield f"{name}: {found:.1f} {said} (asked: {bar})"
    if {"xferbench, train, tokens", "xferbench, test, tokens"} <= rows.keys():
        rate = {stage: rows[f"xferbench, {stage}, tokens"].best for stage in ("train", "test")}
        minutes = estimate(len(FULL.languages), rate) / 60
        yield f"xferbench full, {len(FULL.languages)} targets: {minutes:.1f} minutes of training and tests (asked: 12)"
    for name, least in (("xferbench, train", 0.35), ("translation", 0.3), ("xtreme", 0.3)):
        if f"{name}, of the limit" in rows:
            yield f"{name}: {rows[f'{name}, of the limit'].best:.0%} of the limit (asked: {least:.0%})"


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not in the file, and print all that is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", default=[""], help="beginnings of the names of rows; default: all"
    )
    parser.add_argument("--minutes", type=float, default=8.0, help="no row is begun after this")
    parser.add_argument("--seconds", type=float, default=5.0, help="least time of what is timed of a row")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--small", action="store_true", help="tiny models, to try the script")
    parser.add_argument("--again", action="store_true", help="measure rows again that are in the file")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the file")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        device = choose_device(given.device)
    except ConfigError as error:
        parser.error(str(error))
    chosen = [row for row in works(device, is_small=given.small) if row[0].startswith(tuple(given.names))]
    if not chosen:
        parser.error(f"no row begins with {' or '.join(given.names)}")
    machine = hardware(device)
    slug = re.sub(r"[^a-z0-9]+", "-", machine.partition(";")[0].lower()).strip("-")
    file = given.results / f"gpu-{slug}{'-small' * given.small}.json"
    document: dict[str, Any] = {"machine": machine, "versions": versions(), "measured": {}, "rows": []}
    if file.exists():
        try:
            document = json.loads(file.read_text())
        except ValueError as error:
            parser.error(f"{file}: not the JSON that was written: {error}; move it away to start again")
    for name, make in chosen:
        if name in document["measured"] and not given.again:
            continue
        if time.monotonic() - began > 60 * given.minutes:
            print(f"{name}: not begun, as {given.minutes:g} minutes are over; run this again to continue")
            continue
        try:
            rows = list(measure(name, make, device, given.seconds, is_small=given.small))
        except (ImportError, RuntimeError) as error:  # no EGG, or not enough memory
            print(f"{name}: not measured: {' '.join(str(error).split()):.200}", flush=True)
            continue
        finally:
            gc.collect()
            if device.type == "cuda":
                torch.cuda.empty_cache()
        known = {row.name for row in rows}
        kept = [row for row in document["rows"] if row["name"] not in known]
        now = f"{datetime.now(UTC):%Y-%m-%d}"
        document |= {"date": now, "versions": versions(), "rows": kept + [asdict(row) for row in rows]}
        document["measured"][name] = now
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, f"{json.dumps(document, indent=1)}\n".encode())
        print(f"{name}: {rows[0].best:,.2f} ms", flush=True)
    if not file.exists():
        return
    _, found = read_rows(file)
    print(f"\n{machine}: {file}\n{'':40} {'best':>12} {'median':>12}")
    for row in found.values():
        shown = ".0%" if row.unit == "share" else ",.2f"
        print(f"{row.name:40} {row.best:>12{shown}} {row.median:>12{shown}} {row.unit}")
    for line in () if given.small else conclusions(found):
        print(line)


if __name__ == "__main__":
    main()
