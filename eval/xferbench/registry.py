"""The baselines of XferBench by name; functions are imported when they are used."""

from ecsuite.parts.registry import Registry

SOURCES = Registry(
    word="baseline",
    parts={
        "paren_synth": (
            "ecsuite.eval.xferbench.sources:paren_synth",
            "Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law.",
        ),
        "paren_real": (
            "ecsuite.eval.xferbench.sources:paren_real",
            "Nested pairs of symbols with the frequencies of the words of a text (--text).",
        ),
        "random": (
            "ecsuite.eval.xferbench.sources:random",
            "Symbols drawn independently and uniformly.",
        ),
        "no_pretrain": (
            "ecsuite.eval.xferbench.sources:no_pretrain",
            "No corpus: the model is fine-tuned from its initial weights.",
        ),
        "human": (
            "ecsuite.eval.xferbench.sources:human",
            "BPE tokens of a human language (--text), a message per line.",
        ),
    },
)
"""Called with a `Request`; a result of None means no pretraining."""
