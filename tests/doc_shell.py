"""Runs the blocks of a page: one process imports ecsuite once, and its copies run the commands of the shell.

`python tests/doc_shell.py SOCKET` is that process. It answers two kinds of request, each in a copy of itself: a
command line of `ecsuite`, whose standard streams come with the request, and a session of Python, which takes one block
after another. Sizes are small there: `smaller` says how.
"""

import array
import json
import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CLIENT = """#!{python} -ISs
import array, json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({socket!r})
request = json.dumps({{"arguments": sys.argv[1:], "folder": os.getcwd()}}).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
server.sendmsg([b"+"], streams)
server.sendall(len(request).to_bytes(4) + request)
sys.exit(server.recv(1)[0])
"""
"""The program `ecsuite` of the shell."""
TRAINING = {
    "training.num_examples": 64, "training.batch_size": 32, "training.num_epochs": 1, "evaluation.num_valid": 32,
    "evaluation.corpus_size": 64,
}  # fmt: skip
"""Settings of a training that takes a second."""
SMALLER: Mapping[str, Sequence[str]] = {
    "train-game": [f"--set={key}={value}" for key, value in TRAINING.items()],
    "grammar": ["--num-attributes=3", "--num-values=3", "--num-symbols=2000"],
    "sweep": ["--on=here"],
    "icy": [
        "--num-attributes=2", "--num-values=3", "--hidden-size=16", "--seeds=1", "--workers=1", "--target=0.6",
        "--cap=1",
    ],
}  # fmt: skip
"""By command, options that make it small; what is written in the page takes precedence."""
ROUNDS = ("naming", "talk_chain", "naming_acceptance", "lewis_roth_erev", "lewis_replicator", "names.yaml")


def smaller(arguments: list[str]) -> list[str]:
    if not arguments or "-h" in arguments or "--help" in arguments:
        return arguments
    command, *rest = arguments
    options = list(SMALLER.get(command, ()))
    if command == "grammar":
        without_meanings = any(name in rest[0] for name in ("dyck", "parentheses", "noise", "regular", "bag"))
        options = options[2:] if without_meanings else options[:2]
    if command == "score" and any("xferbench" in argument or argument == "reference" for argument in rest):
        places = [place for place, word in enumerate(rest) if "xferbench" in word]
        place = rest.index("reference") + 1 if "reference" in rest else places[0]
        small = "" if "preset=" in rest[place] else ",preset=nano"
        options, rest[place] = [], f"{rest[place]}{small}"
        rest.append("--workers=1")
    if "--protocol" in rest:
        options = [option for option in options if not option.startswith("--cap")]
    if command == "train-game" and rest and rest[0].endswith(("config.yaml", "mine.yaml")):
        options = []
    if command == "train-game" and rest[:1] and rest[0] in ROUNDS:  # whose rounds are all evaluated
        options = [option for option in options if "num_valid" not in option]
    given = {argument.partition("=")[0] for argument in rest}
    return [command, *(each for each in options if each.partition("=")[0] not in given - {"--set"}), *rest]


class Shell:
    """The process, and the folder in which pages are run."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "socket"
        self.programs = folder / "bin"
        self.programs.mkdir()
        client = self.programs / "ecsuite"
        client.write_text(CLIENT.format(python=sys.executable, socket=str(self.socket)))
        client.chmod(0o755)
        self.process = subprocess.Popen([sys.executable, __file__, str(self.socket)])

    def environment(self) -> dict[str, str]:
        path = f"{self.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "COLUMNS": "80"}

    def run(self, script: str, folder: Path) -> str:
        """Run a script in a folder; what it prints, and an `AssertionError` if a command of it fails."""
        self._wait()
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"exit code {done.returncode}\n{script}\n{done.stdout}"
        return done.stdout

    def session(self, folder: Path) -> "Session":
        self._wait()
        return Session(self.socket, folder)

    def _wait(self) -> None:
        while not self.socket.exists():
            assert self.process.poll() is None, "the process of the pages ended"
            time.sleep(0.05)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Session:
    """An interpreter that runs block after block."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(str(path))
        self.connection.sendall(b"+")
        _send(self.connection, {"folder": str(folder)})

    def run(self, code: str, name: str) -> None:
        _send(self.connection, {"code": code, "name": name})
        problem = _receive(self.connection)
        assert problem == "", f"{name}\n{problem}"

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def _send(connection: socket.socket, value: Any) -> None:
    data = json.dumps(value).encode()
    connection.sendall(len(data).to_bytes(4) + data)


def _receive(connection: socket.socket) -> Any:
    size = connection.recv(4, socket.MSG_WAITALL)
    return json.loads(connection.recv(int.from_bytes(size), socket.MSG_WAITALL)) if size else None


def serve(path: str) -> None:
    import signal

    prepare()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path + ".new")
    listening.listen()
    os.rename(path + ".new", path)
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = answer(connection)
            os._exit(code)
        connection.close()


def prepare() -> None:
    from importlib import import_module

    from ecsuite import api
    from ecsuite.commands.named import registered_names

    registered_names()
    heavy = "matplotlib.pyplot sklearn.metrics ecsuite.games.training.train ecsuite.eval.views.figures.canvas"
    for name in heavy.split():
        import_module(name)
    train = api.train

    def small(game, **given):
        return train(game, **{**given, "overrides": TRAINING | dict(given.get("overrides") or {})})

    api.train = small


def answer(connection: socket.socket) -> int:
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(3 * 4))
    request = _receive(connection)
    os.chdir(request["folder"])
    if "arguments" not in request:
        return interpret(connection)
    streams = array.array("i", ancillary[0][2])
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    from ecsuite.cli import main

    sys.argv = ["ecsuite", *smaller(request["arguments"])]
    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([code or 0]))
    return int(code or 0)


def interpret(connection: socket.socket) -> int:
    names = {"__name__": "__main__"}
    sys.path.insert(0, "")
    with open(os.devnull, "w") as nowhere:
        sys.stdout = nowhere
        while (request := _receive(connection)) is not None:
            problem = ""
            try:
                exec(compile(request["code"], request["name"], "exec"), names)
            except BaseException:
                problem = traceback.format_exc()
            _send(connection, problem)
    return 0


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "MPLBACKEND": "agg", "COLUMNS": "80"}
    serve(sys.argv[1])
