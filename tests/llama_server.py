"""A real llama.cpp server in a process of its own, on loopback, at a port that was free.

It needs the package xllamacpp and the model of `ecsuite data smollm2` (in ~/.cache/ecsuite, or in the folder that
ECSUITE_MODELS names, as tests have a folder of data of their own).
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from ecsuite.language_models.backend import MODEL, SMOLLM2

FOLDER = Path(os.environ.get("ECSUITE_MODELS", "~/.cache/ecsuite")).expanduser()
FILE = FOLDER / SMOLLM2 / MODEL
MISSING = "" if FILE.is_file() else f"no {MODEL}: ecsuite data {SMOLLM2}, or ECSUITE_MODELS"
if importlib.util.find_spec("xllamacpp") is None:
    MISSING = "the package xllamacpp is not installed"
"""Why there is no server; empty: there is one."""
PROGRAM = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
params.n_ctx, params.warmup, params.verbosity, params.hostnames = 2048 * params.n_parallel, False, -1, ["127.0.0.1"]
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class LlamaServer:
    """A server that runs while its block does; `stop` and `start` end it and begin it again at the same port."""

    def __init__(self, slots: int = 1) -> None:
        self.slots, self.port = slots, 0

    def start(self) -> None:
        command = [sys.executable, "-c", PROGRAM, str(FILE), str(self.port), str(self.slots)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, **pipes)
        address = self.process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address or f"ended with {self.process.wait()}"
        self.port = int(address.rpartition(":")[2])
        self.url = f"{address}/v1"

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> "LlamaServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
