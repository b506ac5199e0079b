#!/usr/bin/env bash
# Inspect (inspect-ai) 0.3.285: its logs are zip archives that Python reads only where `inspect_ai` has been imported.
#
# Guess, written before it was run: a `.eval` file is, as its first bytes say, a zip archive of JSON files; `zipfile`, or
# any program that unpacks zip archives, gives the samples.
#
# Seen: it depends on what the process has imported. Members are packed with Zstandard, method 93 of the zip format, which
# Python before 3.14 does not have: `zipfile.is_zipfile` and the list of members are as expected, and reading any member
# raises NotImplementedError ("That compression method is not supported"). In a process that has imported `inspect_ai` the
# same lines read it, since the import changes the standard library's `zipfile` for the whole process (`zipfile_zstd`). So
# a script that reads logs breaks when the import that it seems not to use is removed, or the log is sent to somebody
# else. Write logs with `log_format="json"`, convert them (`inspect log convert --to json`), or use a reader of Zstandard.
#
# Versions: inspect-ai 0.3.285, Python below 3.14. The script fails if it can be read, or the method changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet inspect-ai==0.3.285
cat > "$folder/log.py" <<'PYTHON'
import subprocess
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
    here = len(archive.read("header.json"))
read = "import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).read('header.json')))"
other = subprocess.run([sys.executable, "-c", read, log], capture_output=True, text=True)
said = (other.stdout or other.stderr).splitlines()[-1]
print(methods, here, said)
assert log.suffix == ".eval" and zipfile.is_zipfile(log) and methods == {93}, "the form has changed"
assert sys.version_info >= (3, 14) or said.startswith("NotImplementedError"), "the behaviour has changed"
PYTHON
cd "$folder" && env/bin/python log.py
