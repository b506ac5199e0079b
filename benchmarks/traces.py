"""Functions and files of the package that a command enters: the code somebody reads to follow one result.

    python benchmarks/traces.py
    python benchmarks/traces.py --rows score,compare --package OTHER --json counts.json

Each row is measured in a new process, on inputs that the package makes itself with fixed seeds. Functions are
counted in all threads of that process, from the call of the command line on, so also those that imports call. `calls`
counts a generator each time that it is resumed. Modules, class bodies, comprehensions, templates and lambdas are no
functions; lambdas have a separate column, so that code that moves into them shows. `median` and `longest` are
lines of the bodies, without docstrings.

`--package` measures another checkout by its command line and the HTTP interface of `people serve`; a row that can't be
measured there says why.
"""

import argparse
import ast
import contextlib
import dataclasses
import http.client
import http.server
import inspect
import json
import os
import platform
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

RUN = ("--set", "training.num_epochs=1", "--set", "training.num_examples=512", "--quiet")
"""Options of a run of `disc_tiny` with four steps."""
SWEEP = """
base: disc_tiny
set: {training.num_epochs: 1, training.num_examples: 512}
vary: {channel.vocab_size: [4, 5]}
seeds: 2
score: [topsim, cbm]
"""
PEOPLE = "{name: people, grammars: [concat], datasets: [synth], participants: 10, simulated: true}"
QUIZ = {
    "what_matters": "its colour and its shape",
    "where_codes": "under Training",
    "points": "four",
}
"""Right replies to the questions before the game."""
STEP_NAMES = ("train_step", "go_on")
"""Names of the method of a play that makes a training step."""
VALUE = 173
"""A vocabulary size that no other number of a run of `disc_tiny` equals."""
DEPTH = 4
"""Containers and settings objects within one another in which the value is looked for."""
NAMING = ("naming", "--set", "training.batch_size=1", "--set", "training.num_examples=8", "--quiet")
"""A naming game with one round in each step."""
MODEL = ("participant=language_model", "participant.backend=server", "participant.backend.model=scripted")
"""Settings of participants that are a model behind a server."""
NUM_ANSWERS = 2
"""Answers before the one that is measured."""
COUNTS = ("functions", "files", "calls", "lambdas", "median", "longest")
"""Columns of every row."""


class Trace:
    """Counts of the functions of a package that are entered while it is on.

    Args:
        folder: Folder of the package.
    """

    def __init__(self, folder: str) -> None:
        self.folder, self.is_on = folder + os.sep, False
        self.calls: dict[int, int] = {}
        self.codes: dict[int, CodeType] = {}  # keeps the code objects, so that no id is used twice
        self.watch: Callable[[FrameType, str, Any], None] | None = None

    def install(self) -> None:
        """Receive the events of this thread and of those to come."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

    def profile(self, frame: FrameType, event: str, value: Any) -> None:
        """Receive an event of `sys.setprofile`."""
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self.folder):
            return
        if self.watch is not None:
            self.watch(frame, event, value)
        if self.is_on and event == "call":
            self.count(code)

    def count(self, code: CodeType) -> None:
        """Count a call."""
        self.codes[id(code)] = code
        self.calls[id(code)] = self.calls.get(id(code), 0) + 1

    def clear(self) -> None:
        """Forget all calls."""
        self.calls, self.codes = {}, {}

    def is_function(self, code: CodeType) -> bool:
        """Return whether code is a function with a name: no module, class body, comprehension, lambda or template."""
        file = code.co_filename.removeprefix(self.folder)
        # An environment may lie in the folder, and this script.
        is_source = file.endswith(".py") and not file.startswith(".") and code.co_filename != __file__
        return is_source and bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")

    def counts(self) -> dict[str, Any]:
        """The columns of a row, and the name of the longest function."""
        calls: dict[tuple[str, str], int] = {}
        lines: dict[tuple[str, str], int] = {}
        lambdas = set()
        for key, code in self.codes.items():
            if code.co_name == "<lambda>":
                lambdas.add(code)
            elif self.is_function(code):
                name = (code.co_filename[len(self.folder) :], code.co_qualname)
                calls[name] = calls.get(name, 0) + self.calls[key]
                length = body_lines(code.co_filename).get((code.co_firstlineno, code.co_name), 0)
                lines[name] = max(length, lines.get(name, 0))
        if not calls:
            raise ValueError("no function of the package was entered")
        longest = max(lines, key=lambda name: (lines[name], name))
        return {
            "functions": len(calls),
            "files": len({file for file, _ in calls}),
            "calls": sum(calls.values()),
            "lambdas": len(lambdas),
            "median": statistics.median(lines.values()),
            "longest": lines[longest],
            "longest function": ":".join(longest),
        }


LINES: dict[str, dict[tuple[int, str], int]] = {}
"""Results of `body_lines`."""


def body_lines(file: str) -> dict[tuple[int, str], int]:
    """Lines of the bodies of a file's functions without docstrings, by first line (of a decorator, if any) and name."""
    if file not in LINES:
        LINES[file] = lengths = {}
        for node in ast.walk(ast.parse(Path(file).read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                first = min(each.lineno for each in (node, *node.decorator_list))
                lengths[first, node.name] = (node.end_lineno or 0) - starting_line(body[0]) + 1 if body else 0
    return LINES[file]


def starting_line(statement: ast.stmt) -> int:
    """First line of a statement with its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(each.lineno for each in decorators)])


def call(*arguments: str) -> None:
    """Call the command line in this process.

    Raises:
        ValueError: If its exit status is not 0.
    """
    from ecsuite.cli import main

    sys.argv = ["ecsuite", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise ValueError(f"`ecsuite {' '.join(arguments)}` ended with {end.code}") from None


def command(*arguments: str) -> Callable[[Trace], dict[str, Any]]:
    """Measure a whole command."""

    def measure(trace: Trace) -> dict[str, Any]:
        trace.is_on = True
        call(*arguments)
        trace.is_on = False
        return trace.counts()

    return measure


def is_step(frame: FrameType) -> bool:
    """Return whether a frame is a training step, called by something that is none."""
    caller = frame.f_back
    return frame.f_code.co_name in STEP_NAMES and (caller is None or caller.f_code.co_name not in STEP_NAMES)


def training(*game: str, first: int, last: int) -> Callable[[Trace], dict[str, Any]]:
    """Measure a run from the beginning of one step to the beginning of another.

    Args:
        game: Game and options of `train-game`.
        first: Number of the step at which counting begins; 0: at the command.
        last: Number of the step at which it ends.
    """

    def measure(trace: Trace) -> dict[str, Any]:
        steps = 0

        def watch(frame: FrameType, event: str, _: Any) -> None:
            nonlocal steps
            if event == "call" and is_step(frame):
                steps += 1
                trace.is_on = first <= steps < last

        trace.watch, trace.is_on = watch, first == 0
        call("train-game", *game, "--out", f"{game[0]}_{first}")
        if steps < last:
            raise ValueError(f"{steps} calls of a method named {' or '.join(STEP_NAMES)}: expected {last}")
        return trace.counts()

    return measure


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """A server with the interface of OpenAI's chat completions, whose model always answers with the first name."""

    def do_POST(self) -> None:
        """Answer a question."""
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"content": json.dumps({"answer": "a"})}
        body = json.dumps({"model": "scripted", "choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def naming(trace: Trace) -> dict[str, Any]:
    """Measure the third round of a naming game in which a model behind a loopback server answers."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = (*MODEL, f"participant.backend.url=http://127.0.0.1:{server.server_port}/v1")
        words = [word for each in settings for word in ("--set", f"play.{each}")]
        counts = training(*NAMING, *words, first=3, last=4)(trace)
        server.shutdown()
    return counts


def setting(trace: Trace) -> dict[str, Any]:
    """Measure the way of a value of `--set` up to the first step.

    Counted are functions with the value in an argument, in a local variable at their return, or in what they return: as
    the number, as text, or in a container or a settings object (dataclass or struct), up to `DEPTH` within one another.
    `experiments` counts the objects of the class `Experiment` among these.
    """
    experiments: dict[int, Any] = {}
    has_begun = False

    def watch(frame: FrameType, event: str, returned: Any) -> None:
        nonlocal has_begun
        has_begun = has_begun or is_step(frame)
        if has_begun or not trace.is_function(frame.f_code):
            return
        values = [*frame.f_locals.values(), *([returned] if event == "return" else [])]
        experiments.update({id(each): each for each in values if type(each).__name__ == "Experiment"})
        if any(holds(each) for each in values):
            trace.count(frame.f_code)

    trace.watch = watch
    call("train-game", "disc_tiny", "--set", f"channel.vocab_size={VALUE}", *RUN, "--out", "setting")
    counts = trace.counts()
    del counts["calls"]  # of events, of which a call has up to two
    return {**counts, "experiments": len(experiments)}


def holds(value: Any, depth: int = DEPTH) -> bool:
    """Return whether `VALUE` is this value, its text, or within it."""
    if type(value) is int:
        return value == VALUE
    if type(value) is str:
        return value in (str(VALUE), f"channel.vocab_size={VALUE}")
    if depth == 0 or isinstance(value, type):
        return False
    if type(value) in (list, tuple, set, frozenset, dict):
        parts = list(value.values() if isinstance(value, dict) else value)
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    else:  # a struct of msgspec
        parts = [getattr(value, name, None) for name in getattr(value, "__struct_fields__", ())]
    return any(holds(each, depth - 1) for each in parts)


def answer(trace: Trace) -> dict[str, Any]:
    """Measure the request with which a participant answers, and its SQL statements."""
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda text: statements.append(text) if trace.is_on else None)
        return connection

    sqlite3.connect = traced
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    faults: list[Exception] = []

    def play() -> None:
        try:
            participate(port, trace)
        except Exception as error:
            faults.append(error)
        os.kill(os.getpid(), signal.SIGINT)

    participant = threading.Thread(target=play, daemon=True)
    participant.start()
    call("people", "serve", "people.yaml", "--no-browser", "--port", str(port), "--out", "people")
    participant.join()
    if faults:
        raise ValueError(f"the participant's requests failed: {faults[0]}")
    return {**trace.counts(), "statements": len(statements)}


def participate(port: int, trace: Trace) -> None:
    """Take part in the study as its page does, with counts of one answer."""
    headers = {"Content-Type": "application/json"}

    def request(method: str, path: str, body: Any = None, *, is_counted: bool = False) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.closing(connection):
            trace.is_on = is_counted
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
            trace.is_on = False
        if response.status != 200:
            raise ValueError(f"{method} {path}: status {response.status}: {text[:200]}")
        headers.setdefault("Cookie", (response.getheader("Set-Cookie") or "").partition(";")[0])
        return json.loads(text) if path.startswith("/api") else text

    for _ in range(300):
        with contextlib.suppress(ConnectionError):
            request("GET", "/")
            break
        time.sleep(0.1)
    headers["X-CSRF-Token"] = request("GET", "/api/state")["csrf"]
    request("POST", "/api/begin", {})
    choices = {"stage": "instructions", "has_sound": False, "names_objects": False}
    request("POST", "/api/go_on", choices)
    if not request("POST", "/api/quiz", {"attempt": 0, "replies": QUIZ})["is_right"]:
        raise ValueError("the quiz has other questions")
    for step in range(NUM_ANSWERS + 1):
        sent = {"step": step, "typed": "abcd", "response_ms": 1000}
        request("POST", "/api/answer", sent, is_counted=step == NUM_ANSWERS)


def write_inputs(folder: Path) -> None:
    """Write a corpus and the files of studies."""
    corpus = folder / "corpus"
    corpus.mkdir()
    pairs = [(colour, shape) for colour in range(6) for shape in range(6)]
    lines = [json.dumps([1 + colour, 7 + shape, 7 + shape * colour % 6]) for colour, shape in pairs]
    (corpus / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    meanings = [
        {"meaning": [colour, shape], "concepts": [f"colour={colour}", f"shape={shape}"]}
        for colour, shape in pairs
    ]
    (corpus / "meanings.jsonl").write_text("".join(json.dumps(each) + "\n" for each in meanings))
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "people.yaml").write_text(PEOPLE)


def run_of(name: str, seed: int) -> tuple[tuple[str, ...], ...]:
    """Commands that train and score a run."""
    options = ("--seed", str(seed), "--out", name)
    return (
        ("train-game", "disc_tiny", *RUN, *options),
        ("score", name, "--metrics", "topsim,cbm", "--quiet"),
    )


DISC_TINY = ("disc_tiny", *RUN)
SCORE = ("score", "corpus", "--metrics", "topsim,cbm")
SWEEP_COMMAND = ("sweep", "sweep.yaml", "--quiet", "--out")
MADE_BY = {"a": run_of("a", 0), "b": run_of("b", 1), "swept": ((*SWEEP_COMMAND, "swept"),)}
"""Commands that make an input."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table."""

    title: str
    """Measured command or part of one."""
    measure: Callable[[Trace], dict[str, Any]]
    """Function that measures it, in a folder with the inputs."""
    inputs: tuple[str, ...] = ()
    """Inputs of `MADE_BY` that it needs."""


ROWS = {
    "score": Row(title="score corpus --metrics topsim,cbm", measure=command(*SCORE)),
    "compare": Row(title="compare a b", measure=command("compare", "a", "b"), inputs=("a", "b")),
    "report": Row(title="report of a sweep", measure=command("report", "swept"), inputs=("swept",)),
    "verify": Row(title="verify of a run", measure=command("verify", "a"), inputs=("a",)),
    "sweep": Row(title="sweep of four runs, parent process", measure=command(*SWEEP_COMMAND, "measured")),
    "train": Row(title="train-game before the first step", measure=training(*DISC_TINY, first=0, last=1)),
    "step": Row(title="third step of train-game", measure=training(*DISC_TINY, first=3, last=4)),
    "setting": Row(title=f"way of --set channel.vocab_size={VALUE}", measure=setting),
    "naming": Row(title="a naming round of a language model", measure=naming),
    "answer": Row(title="a participant's answer", measure=answer),
}


def measure_here(name: str) -> None:
    """Measure a row in this process and folder, into the file `counts.json`."""
    import ecsuite.cli

    trace = Trace(os.path.dirname(ecsuite.__file__))
    trace.install()
    try:
        counts = ROWS[name].measure(trace)
    except ValueError as error:
        counts = {"fault": str(error)}
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    Path("counts.json").write_text(json.dumps(counts))


def measured(names: list[str], folder: Path, environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Measure rows, each in a separate process.

    Args:
        names: Names of the rows.
        folder: Empty folder of the inputs.
        environment: Environment variables of the processes.
    """

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *words], cwd=folder, env=environment, capture_output=True, text=True
        )
        return "" if not done.returncode else (done.stderr.strip() or "no message").splitlines()[-1]

    write_inputs(folder)
    for name in names:
        fault = ""
        for kind in ROWS[name].inputs:
            for words in () if (folder / kind).exists() else MADE_BY[kind]:
                fault = fault or run("-m", "ecsuite", *words)
        counts = folder / "counts.json"
        counts.unlink(missing_ok=True)
        fault = fault or run(__file__, "--measure", name)
        found = json.loads(counts.read_text()) if counts.exists() else {"fault": fault}
        yield {"row": name, "title": ROWS[name].title, **found}


def table(rows: list[dict[str, Any]]) -> str:
    """Format rows for people."""
    columns = [
        *COUNTS,
        *dict.fromkeys(key for row in rows for key in row if key in ("experiments", "statements")),
    ]
    width = max(len(row["title"]) for row in rows)
    lines = [f"{'':{width}}" + "".join(f"{name:>{len(name) + 2}}" for name in columns) + "  longest function"]
    for row in rows:
        if "fault" in row:
            lines.append(f"{row['title']:{width}}  not measured: {row['fault']}")
            continue
        cells = (
            f"{row.get(name, ''):>{len(name) + 2},}" if name in row else " " * (len(name) + 2)
            for name in columns
        )
        lines.append(f"{row['title']:{width}}{''.join(cells)}  {row['longest function']}")
    return "\n".join(lines)


def document(rows: list[dict[str, Any]]) -> str:
    """Format rows as JSON, as `compare.py` reads it."""
    figures = [
        {"name": f"{row['title']}: {name}", "unit": "", "values": [value], "higher_is_better": False}
        for row in rows
        for name, value in row.items()
        if isinstance(value, int | float)
    ]
    head = {
        "machine": platform.machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {name: version(name) for name in ("numpy", "scipy", "torch")},
    }
    head["versions"] = {"python": platform.python_version(), **head["versions"]}
    longest = {row["title"]: row["longest function"] for row in rows if "fault" not in row}
    faults = {row["title"]: row["fault"] for row in rows if "fault" in row}
    return json.dumps({**head, "rows": figures, "longest": longest, "faults": faults}, indent=1) + "\n"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", default=",".join(ROWS), help=f"names separated by commas, of {', '.join(ROWS)}"
    )
    parser.add_argument("--package", type=Path, help="another checkout: the folder of the package")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the counts, for compare.py")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure_here(given.measure)
        return
    names = given.rows.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"--rows {','.join(unknown)}: expected names of {', '.join(ROWS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "ECSUITE_DATA": str(folder / "data")}
        if given.package is not None:
            (folder / "package").mkdir()
            (folder / "package" / "ecsuite").symlink_to(given.package.resolve())
            environment["PYTHONPATH"] = str(folder / "package")
        (folder / "inputs").mkdir()
        rows = list(measured(names, folder / "inputs", environment))
    print(table(rows))
    if given.json is not None:
        given.json.write_text(document(rows))


if __name__ == "__main__":
    main()
