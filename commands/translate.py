"""`ecsuite translate`: does pretraining on a corpus help a model to translate?"""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import CorpusOptions, Seed, StudyOptions
from ecsuite.eval.translation.presets import PRESETS
from ecsuite.runtime.errors import look_up

SETTINGS = OneOf("full", "frozen", "reduced")


def translate(
    pairs: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Sentence pairs, one per line: source, tab, target; also .gz and .xz."
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool; none: no pretraining."),
    ] = None,
    setting: Annotated[str, typer.Option(help=f"What is fine-tuned: {SETTINGS}."), SETTINGS] = "full",
    preset: Annotated[
        str, typer.Option(help="mini, or full: the paper's size."), names_of("translation presets")
    ] = "mini",
    seed: Seed = 0,
    *,
    read_with: CorpusOptions,
    options: Annotated[StudyOptions, {"cache": Path("runs/translate")}],
) -> None:
    """Pretrain on a corpus, fine-tune on translation, and score the translations by chrF and BLEU."""
    from ecsuite.eval.translation.benchmark import TranslationBenchmark
    from ecsuite.eval.translation.jobs import make_study

    look_up("setting", setting, look_up("preset", preset, PRESETS).settings)  # before the corpus is read
    if corpus is None:
        read_with.require_unset("a run without a corpus")
    study = make_study(
        None if corpus is None else read_with.read(corpus),
        pairs,
        setting=setting,
        preset=preset,
        seed=seed,
        device=options.device,
    )
    options.publish(TranslationBenchmark(), study)
