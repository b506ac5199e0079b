"""The time of a sweep is estimated from runs that are begun, where none are kept."""

from pathlib import Path

import yaml
from model_server import ModelServer


def test_a_plan_with_language_models_asks_nobody_and_tells_the_calls(ecsuite):
    with ModelServer() as server:
        model = {"kind": "server", "url": server.url, "model": "m"}
        settings = {
            "play": {
                "agents": 4,
                "participant": {"kind": "language_model", "backend": model, "prompt_price": 2},
            },
            "training": {"num_examples": 20, "batch_size": 5},
        }
        study = {"base": "naming", "set": settings, "vary": {"play.pool": [2, 5]}, "seeds": 3, "score": []}
        Path("study.yaml").write_text(yaml.safe_dump(study))
        code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "local:2")
        assert code == 0 and server.asked == 0 and "about 240 calls, " in out and "by their prices" in out
