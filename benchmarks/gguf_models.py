"""One GGUF file by two libraries, transformers and xllamacpp (llama.cpp): speed, memory, and equal choices.

    python benchmarks/gguf_models.py      # needs `ecsuite data smollm2` and the package xllamacpp

Questions are from the naming game: a memory of rounds, names in random order, and one of these names as answer, at
temperature 0. Each library answers them in a separate process, with one thread. Seconds are
CPU time, since other work may run at the same time. Results are stored in results/gguf_models.json.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ecsuite.language_models.backend import Allowed, Request, model_file
from ecsuite.language_models.prompts import read_prompt
from ecsuite.runtime.provenance import processor

FILE = Path(__file__).parent / "results" / "gguf_models.json"
LIBRARIES = ("transformers", "xllamacpp")
NAMES = {
    "letters": ("Q", "M", "X", "Y", "F", "J", "P", "R", "C", "D"),
    "made-up names": ("xal", "mup", "dof", "kiv", "zen", "bor", "lat", "nim", "gos", "tuf"),
}
NUM_QUESTIONS = 30


def questions(names: tuple[str, ...]) -> list[Request]:
    """Questions of the prompt of Ashery et al. with five rounds each, drawn at random."""
    prompt, rng, found = read_prompt("ashery2025"), np.random.default_rng(0), []
    for _ in range(NUM_QUESTIONS):
        order = [names[n] for n in rng.permutation(len(names))]
        rounds = [
            {"said": names[a], "heard": names[b], "success": a == b} for a, b in rng.integers(10, size=(5, 2))
        ]
        values = {"choices": order, "allowed": Allowed(choices=tuple(order)).sentence(), "memory": rounds}
        system, user = prompt.render(values)
        found.append(Request(system=system, user=user, allowed=Allowed(choices=names), draw=0))
    return found


def by_transformers() -> dict:
    """The backend `gguf`, with the probabilities of all choices."""
    from ecsuite.language_models.gguf import GgufModel

    backend = GgufModel(GgufModel.Options(temperature=0.0))
    return measured(lambda request: backend.reply(request).text)


def by_xllamacpp() -> dict:
    """A llama.cpp server of one slot within this process, restricted by a grammar."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_parallel, params.n_ctx, params.warmup, params.verbosity = 1, 2048, False, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)

    def answer(request: Request) -> str:
        grammar = "root ::= " + " | ".join(json.dumps(each) for each in request.allowed.choices)
        messages = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
        body = {"messages": messages, "grammar": grammar, "temperature": 0, "max_tokens": 8}
        return server.handle_chat_completions(body)["choices"][0]["message"]["content"]

    return measured(answer)


def measured(answer) -> dict:
    """Answers, and processor seconds for each after the first one, by kind of names; and what was used so far."""
    found = {"seconds until ready": round(time.process_time(), 1)}
    for kind, names in NAMES.items():
        asked = questions(names)
        answer(asked[0])
        began = time.process_time()
        answers = [answer(each) for each in asked[1:]]
        found[kind] = {
            "answers": answers,
            "seconds an answer": round((time.process_time() - began) / len(answers), 3),
        }
    found["MiB at most"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def main() -> None:
    """Answer by one library, or compare both."""
    if sys.argv[1:]:
        print(
            "RESULT" + json.dumps({"transformers": by_transformers, "xllamacpp": by_xllamacpp}[sys.argv[1]]())
        )
        return
    found = {}
    for library in LIBRARIES:
        done = subprocess.run([sys.executable, __file__, library], capture_output=True, text=True, check=True)
        found[library] = json.loads(done.stdout.rpartition("RESULT")[2].splitlines()[0])
    for kind in NAMES:
        both = zip(*(found[library][kind].pop("answers") for library in LIBRARIES), strict=True)
        found[f"the same choice, {kind}"] = sum(one == other for one, other in both) / (NUM_QUESTIONS - 1)
    for library in LIBRARIES:
        for kind in NAMES:
            found[library][kind]["answers a second"] = round(1 / found[library][kind]["seconds an answer"], 2)
    print(json.dumps(found, indent=1))
    FILE.write_text(json.dumps({"processor": processor(), **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
