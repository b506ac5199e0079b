#!/usr/bin/env bash
# Inspect (inspect-ai) 0.3.285: its logs are zip archives that Python's zipfile lists, but cannot read.
#
# Guess, written before it was run: a `.eval` file is, as its first bytes say, a zip archive of JSON files; `zipfile`, or
# any program that unpacks zip archives, gives the samples.
#
# Seen: members are packed with Zstandard, method 93 of the zip format. `zipfile.is_zipfile` and the list of members are
# as expected, also `testzip` begins; reading any member raises NotImplementedError ("That compression method is not
# supported"), in Python before 3.14. It is so for logs of four short samples, too, and nothing about it is in the name of
# the file. Write logs with `log_format="json"`, convert them (`inspect log convert --to json`), or unpack the bytes of a
# member with a reader of Zstandard.
#
# Versions: inspect-ai 0.3.285, Python below 3.14. The script fails if it can be read, or the method changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet inspect-ai==0.3.285
cat > "$folder/log.py" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver


@solver
def answer():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("none", state.input_text.upper())
        return state

    return solve


task = Task(dataset=[Sample(input=text) for text in "abcd"], solver=answer())
evaluate(task, model="none", log_dir="logs", display="none")
(log,) = Path("logs").iterdir()
print(log.suffix, zipfile.is_zipfile(log), [each.output.completion for each in read_eval_log(str(log)).samples])
with zipfile.ZipFile(log) as archive:
    methods = {each.compress_type for each in archive.infolist()}
    try:
        archive.read("header.json")
        said = "read"
    except NotImplementedError as error:
        said = str(error)
print(methods, said)
assert log.suffix == ".eval" and zipfile.is_zipfile(log) and methods == {93}, "the form has changed"
assert sys.version_info >= (3, 14) or "compression method is not supported" in said, "the behaviour has changed"
PYTHON
cd "$folder" && env/bin/python log.py
