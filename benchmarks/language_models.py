"""Language models as agents: a server that fails, and a small model that is trained here.

    python benchmarks/language_models.py server    # 1,000 calls: none lost, none twice, the planned number
    python benchmarks/language_models.py causal    # a model of characters learns a language and plays, in minutes
    python benchmarks/language_models.py batches   # calls a second of models on this machine, one by one and in batches
    python benchmarks/language_models.py batches --device cuda --model smollm2    # or a GGUF file; batches of 64

Results are stored in results/language_models.json. The server's model is scripted; models of `causal` and `batches`
without `--model` are made here.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from causal_model import make_model

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from model_server import ModelServer

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.participants.participant import label
from ecsuite.games.training.train import cost, train
from ecsuite.runtime.provenance import processor

FILE = Path(__file__).parent / "results" / "language_models.json"
QUIET = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}
PROMPT = """{% block user %}
{% if role == "speaker" %}
say {{ object }}:
{% else %}
{{ message }}{% for each in candidates %} {{ each.label }} {{ each.object }}{% endfor %}:
{% endif %}
{% endblock %}
"""
"""Short prompts, as a small model reads them."""


def server() -> dict:
    """The naming game of 24 models, 500 rounds, behind a server in which every fifth request fails."""
    found = {}
    with tempfile.TemporaryDirectory() as name, ModelServer(every=5) as faulty, ModelServer() as sound:
        for kind, each in (("faulty", faulty), ("sound", sound)):
            settings = [
                "play.agents=24", "play.pool=10", "play.at_once=true", "training.num_examples=500",
                "training.batch_size=50", "play.participant=language_model,prompt=ashery2025",
                f"play.participant.backend=server,url={each.url},model=m,wait=0.01,temperature=0.5",
            ]  # fmt: skip
            experiment = load_experiment("naming", settings)
            planned = cost(experiment)["participants"]["play.participant"]["calls"]
            began = time.perf_counter()
            train(experiment, Path(name) / kind, **QUIET)
            found[kind] = {
                "planned": planned, "requests": each.asked, "answers": len(each.answered),
                "different answers": len(set(each.answered)),
                "kept": len((Path(name) / kind / "answers.jsonl").read_text().splitlines()),
                "seconds": round(time.perf_counter() - began, 1),
            }  # fmt: skip
        both = [(Path(name) / kind / "rounds.jsonl").read_bytes() for kind in found]
        found["the same rounds"] = both[0] == both[1]
        train(experiment, Path(name) / "again", replay=Path(name) / "sound", **QUIET)
        files = ("rounds.jsonl", "corpus.jsonl", "metadata.json", "answers.jsonl", "config.yaml")
        found["replayed to the byte"] = all(
            (Path(name) / "again" / file).read_bytes() == (Path(name) / "sound" / file).read_bytes()
            for file in files
        )
    return found


def texts(held_out: set[int], number: int = 20_000) -> list[str]:
    """Prompts of speakers and listeners with their answers, in a language with a syllable for each of 2 x 4 values."""
    rng, syllables = np.random.default_rng(0), ["pa", "pi", "pu", "ka", "ki", "ku", "ma", "mi"]
    objects = [(a, b) for a in range(4) for b in range(4)]
    shown = [f"c {'rgby'[a]}, s {'otvx'[b]}" for a, b in objects]
    words = [syllables[a] + syllables[4 + b] for a, b in objects]
    known, found = [n for n in range(16) if n not in held_out], []
    for _ in range(number):
        chosen = rng.choice(known, 3, replace=False)
        target = int(rng.integers(3))
        if rng.random() < 0.2:
            found.append(f"say {shown[chosen[target]]}:{words[chosen[target]]}")
        else:
            seen = "".join(f" {label(n)} {shown[each]}" for n, each in enumerate(chosen))
            found.append(f"{words[chosen[target]]}{seen}:{label(target)}")
    return found


HELD_OUT = [[1, 2], [0, 1]]
"""Objects without a text in training, as values in the order of their names."""


def word_of(meaning: list[int]) -> str:
    """The word of an object in the language of the texts, by its values in the order of their names."""
    first, second = {"b": "pu", "g": "pi", "r": "pa", "y": "ka"}, {"o": "ki", "t": "ku", "v": "ma", "x": "mi"}
    return first["bgry"[meaning[0]]] + second["otvx"[meaning[1]]]


def causal(steps: int) -> dict:
    """A model before and after training: two agents talk about 16 objects, two of them held out."""
    found = {}
    for number in (0, steps):
        with tempfile.TemporaryDirectory() as name:
            began = time.perf_counter()
            folder, prompt = Path(name) / "model", Path(name) / "short.jinja"
            loss = make_model(folder, texts({6, 9}), number, width=64, longest=128)
            prompt.write_text(PROMPT)
            table = Path(name) / "objects.csv"
            table.write_text("c,s\n" + "".join(f"{c},{s}\n" for c in "rgby" for s in "otvx"))
            seconds = time.perf_counter() - began
            settings = [
                "play.num_taught=null", "play.language=none", "play.candidates=3", "training.num_epochs=1",
                "play.names=[pa,pi,pu,ka,ki,ku,ma,mi]", "play.max_symbols=2", "play.blocks=4",
                f"world=objects,objects={table}",
                f"play.participant=language_model,prompt={prompt},memory=0",
                f"play.participant.backend=transformers,model={folder},temperature=0",
            ]  # fmt: skip
            train(load_experiment("talk_chain", settings), Path(name) / "run", **QUIET)
            rows = [
                json.loads(line) for line in (Path(name) / "run" / "rounds.jsonl").read_text().splitlines()
            ]
        talk = [row for row in rows if row["phase"] == "talk"]
        held = [row for row in talk if row["meaning"] in HELD_OUT]
        found[f"{number} updates"] = {
            "loss": round(loss, 4), "seconds of training": round(seconds, 1), "rounds": len(talk),
            "accuracy": sum(row["success"] for row in talk) / len(talk),
            "said as the texts say it": sum(row["said"] == word_of(row["meaning"]) for row in talk) / len(talk),
            "held-out objects said so": sum(row["said"] == word_of(row["meaning"]) for row in held) / len(held),
            "accuracy about held-out objects": sum(row["success"] for row in held) / len(held),
            "what was said of held-out objects": sorted({row["said"] for row in held}), "chance": 1 / 3,
        }  # fmt: skip
    return found


def batches(device: str, model: str | None) -> dict:
    """The naming game of many models on this machine: by size of the model and of the batches."""
    found = {}
    if model is not None:
        return _calls(f"gguf,file={model}", (1, 64), 64, device, f"{model} on {device}")
    for width, layers in ((64, 2), (256, 6)):
        with tempfile.TemporaryDirectory() as name:
            make_model(Path(name), texts(set(), 100), 0, width=width, layers=layers, longest=1024)
            found |= _calls(
                f"transformers,model={name}", (1, 4, 16, 32), 32, device, f"{layers} layers of {width}"
            )
    return found


def _calls(backend: str, sizes: tuple[int, ...], num_agents: int, device: str, name: str) -> dict:
    """Calls a second of a model that plays with itself, by the size of batches; 16 calls for each agent."""
    found, first = {}, b""
    for size in sizes:
        settings = [
            f"play.agents={num_agents}", "play.at_once=true", "play.symbols=letters", "play.max_symbols=4",
            f"training.num_examples={8 * num_agents}", f"training.batch_size={2 * num_agents}",
            "play.participant=language_model,memory=2",
            f"play.participant.backend={backend},batch_size={size}",
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            train(load_experiment("naming", settings), Path(folder), **QUIET | {"device": device})
            seconds = time.perf_counter() - began
            rounds = (Path(folder) / "rounds.jsonl").read_bytes()
        first = first or rounds
        found[f"{name}, batches of {size}"] = {
            "calls a second": round(16 * num_agents / seconds, 1), "the same rounds": rounds == first
        }  # fmt: skip
    return found


def main() -> None:
    """Run the chosen parts, print and store their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("server", "causal", "batches"))
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--device", default="cpu", help="of batches: cpu or cuda")
    parser.add_argument("--model", help="of batches: a GGUF file, or smollm2")
    asked = parser.parse_args()
    found = {
        "server": server,
        "causal": lambda: causal(asked.steps),
        "batches": lambda: batches(asked.device, asked.model),
    }[asked.what]()
    part = asked.what if asked.model is None else f"{asked.what} of {asked.model} on {asked.device}"
    print(json.dumps(found, indent=1))
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(json.dumps({**kept, "processor": processor(), part: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
