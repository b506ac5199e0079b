"""The backends by name. A new one is a class and a line here; classes are imported when they are used."""

from ecsuite.parts.registry import Registry

BACKENDS = Registry(
    word="backend",
    parts={
        "server": (
            "ecsuite.language_models.server:Server",
            "a server with the interface of OpenAI: vLLM, llama.cpp, Ollama, hosted ones",
        ),
        "transformers": (
            "ecsuite.language_models.causal:CausalModel",
            "a causal model on this machine, held to what may be answered by its logits",
        ),
        "typed": (
            "ecsuite.language_models.backend:Typed",
            "a person at this terminal, who reads the prompts",
        ),
        "page": (
            "ecsuite.language_models.backend:Page",
            "a person at a page of `ecsuite people`, who reads the prompts",
        ),
        "drawn": ("ecsuite.language_models.backend:Drawn", "answers at random, without any model"),
    },
    base="ecsuite.language_models.backend:Backend",
)
