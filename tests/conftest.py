"""What holds here and in the programs that tests start.

One thread a process: tests are small, and run side by side. And no data that the user has downloaded.
Compiled modules are kept, whatever the user's setting: else each process would compile and rewrite all of them again.
Nulls and intervals have few draws, also those of shared fixtures; a test that is about draws asks for `all_draws`.
The time of a plan is measured for a moment, where users' is for seconds.
The process that hands tests to others imports nothing of what they need: they begin two seconds earlier.
"""

import atexit
import gc
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
from functools import partial
from importlib.util import find_spec

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["ECSUITE_DATA"] = os.path.join(tempfile.mkdtemp(), "data")

import pytest

import pretended_cuda.chosen  # noqa: F401, before torch
from ecsuite.cli import main

sys.dont_write_bytecode = False
if "PYTEST_XDIST_WORKER" in os.environ:
    # The last that is called at a worker's end, in it alone: to free all that it holds would take seconds.
    atexit.register(lambda worker: os.getpid() == worker and os._exit(0), os.getpid())
atexit.register(shutil.rmtree, os.path.dirname(os.environ["ECSUITE_DATA"]), True)

pytest_plugins = ["device_option"]

ALL_DRAWS = {}

LONGEST_NAME = 100
LONGEST_VALUE = 16


def pytest_make_parametrize_id(val, argname):
    """Texts, bytes and command lines in a test's name are short readable ASCII, the same at every collection."""
    longest = LONGEST_VALUE
    if isinstance(val, bytes):
        val = val.decode("ascii") if val.isascii() else argname
    elif isinstance(val, list | tuple) and all(isinstance(part, str) for part in val):
        val, longest = " ".join(val), 2 * LONGEST_VALUE
    if not isinstance(val, str):
        return None
    readable = re.sub(r"[^A-Za-z0-9 _.,:;=+/()<>?!|*-]+", "_", val)
    return readable[:longest].strip("_ ") or argname


def pytest_configure(config):
    """Where tests run, one thread, few draws, short measurements, and fixtures for all folders."""
    is_given_out = config.getoption("dist", "no") != "no" and not config.getoption("collectonly")
    if is_given_out and not hasattr(config, "workerinput"):
        return
    import torch

    from ecsuite.eval.experiments import sweep
    from ecsuite.eval.icy import acquisition
    from ecsuite.eval.statistics import resampling
    from ecsuite.runtime.compiler import leave_compiler_out

    leave_compiler_out()
    torch.set_num_threads(1)
    for name in ("NUM_PERMUTATIONS", "NUM_SUBSAMPLES", "MIN_DRAWS"):
        ALL_DRAWS[name] = getattr(resampling, name)
        setattr(resampling, name, 9)
    sweep.SECONDS = acquisition.SECONDS_BETWEEN_REPORTS = 0.02
    for name in ("xtreme_data", "xtreme_submissions"):
        config.pluginmanager.import_plugin(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Of what is collected nothing is freed, and looking for it takes a second; later it is looked for less often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """Errors in what is freed last are found by one search; pytest's ten would take seconds."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Cases of a grid that are no sample are slow; a name that is hard to read or to type is an error.

    The sample of a test is always the same, whichever others are collected; a case that is asked for is run.
    """
    grids = {}
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in grids.items():
        (number,) = cases[0].get_closest_marker("sample").args
        for case in random.Random(test).sample(cases, max(0, len(cases) - number)):
            case.add_marker(pytest.mark.slow)
    hard = [each for each in items if len(each.name) > LONGEST_NAME or not re.fullmatch(r"[ -\[\]-~]+", each.name)]
    if hard:
        told = f"expected names of readable ASCII, at most {LONGEST_NAME} characters, no backslash: "
        told += ", ".join(item.nodeid for item in hard)
        os.write(2, f"{told}\n".encode())  # of a worker, pytest says nothing else
        raise pytest.UsageError(told)


@pytest.fixture
def all_draws(monkeypatch):
    from ecsuite.eval.statistics import resampling

    for name, number in ALL_DRAWS.items():
        monkeypatch.setattr(resampling, name, number)


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_disks():
    """What is written need not outlive a power cut: a killed process loses nothing of it."""
    from ecsuite.people import database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(database, "SYNCHRONOUS", "OFF")
        yield


def leave_layout_out(patch):
    """Figures are drawn as if all in them had room: to measure it takes half the time of drawing."""
    if find_spec("matplotlib"):
        patch.setattr("matplotlib.layout_engine.ConstrainedLayoutEngine.execute", lambda *_: None)


@pytest.fixture
def no_layout(monkeypatch):
    leave_layout_out(monkeypatch)


@pytest.fixture(scope="module", autouse=True)
def layout_where_it_is_looked_at(request):
    """In modules with `assert_readable`, whose tests ask for `no_layout` where they do not look at places, and in those
    that look for `OVERLAPS` in a browser.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not {"assert_readable", "OVERLAPS"} & set(vars(request.module)):
            leave_layout_out(patch)
        yield


@pytest.fixture
def ecsuite(monkeypatch, capsys, tmp_path):
    """Runs a command here, in an empty folder: exit code, standard output, standard error."""
    from ecsuite.eval.views.console import Reporter

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "")  # which --max-memory sets
    # On a busy machine a test may take long enough for a line of progress, which nothing here expects.
    monkeypatch.setattr(Reporter, "SECONDS_BETWEEN_LINES", math.inf)

    def ecsuite(*arguments):
        monkeypatch.setattr(sys, "argv", ["ecsuite", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return ecsuite


@pytest.fixture
def succeeded(ecsuite):
    def succeeded(*arguments, silent=False):
        """The standard output of a command, which says nothing else if it is silent."""
        code, out, err = ecsuite(*arguments)
        assert code == 0 and not (silent and err), err
        return out

    return succeeded


@pytest.fixture
def printed(succeeded):
    return partial(succeeded, silent=True)


@pytest.fixture
def as_json(printed):
    return lambda *arguments: json.loads(printed(*arguments, "--json"))


@pytest.fixture
def refused(ecsuite):
    def refused(*arguments, code=2):
        """The one line that a command says that is refused."""
        found, out, err = ecsuite(*arguments)
        assert (found, out, err.count("\n")) == (code, "", 1), (arguments, out, err)
        return err

    return refused


class SoftMessageBuilder:
    """Feeds back the softmax of the logits, and returns all logits as the message."""

    def __init__(self, num_steps):
        self.num_steps, self.logits = num_steps, []

    @property
    def done(self):
        return len(self.logits) == self.num_steps

    def step(self, logits):
        self.logits.append(logits)
        return logits.softmax(-1)

    def message(self):
        import torch

        return torch.stack(self.logits)  # (num_steps, batch, vocab_size + 1)


@pytest.fixture
def soft_message_builder():
    """Class of message builders for a number of steps; the message is the logits of all steps."""
    return SoftMessageBuilder


@pytest.fixture
def small_files(monkeypatch, tmp_path):
    """Configs, data, and files of small runs (`fixtures/make.py`), copied into the folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    small = os.path.join(os.path.dirname(__file__), "fixtures", "small")
    shutil.copytree(small, tmp_path, dirs_exist_ok=True)
