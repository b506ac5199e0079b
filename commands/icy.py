"""`ecsuite icy`: how fast agents learn artificial grammars."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import Plot, Seeds, StudyOptions, advanced, given_options, read_seeds
from ecsuite.commands.setting_options import Sets, flags_of, settings_of
from ecsuite.parts.config import refuse_unread
from ecsuite.parts.own_code import trust

Names = list[str] | None

READS = {
    "exact": ("device", "save_corpora"),
    "paper": ("device", "save_corpora"),
    "budget": ("device",),
    "end-to-end": ("device",),
    "metrics": (),
}
"""Options without a setting that each protocol uses; `READS` of a study has the options with settings."""


def seeds_of_study(text: str) -> tuple[int, ...] | None:
    """Parse seeds; a number of seeds begins at the benchmark's first seed."""
    from ecsuite.eval.icy.study import FIRST_SEED

    return read_seeds(text, FIRST_SEED)


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyOptions:
    """Options that set a key of a study; None: not given."""

    model: Annotated[
        Names,
        typer.Option(help="An agent (see `ecsuite list`); can be repeated."),
        names_of("senders"),
        Sets("models"),
    ] = None
    role: Annotated[
        str | None,
        advanced(help="Role of the models: sender or receiver."),
        OneOf("sender", "receiver"),
        Sets("role"),
    ] = None
    receiver: Annotated[
        Names,
        advanced(help="Receivers of end-to-end; can be repeated."),
        names_of("receivers"),
        Sets("receivers"),
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(help="exact, paper, budget, end-to-end or metrics."),
        names_of("protocols"),
        Sets("protocol"),
    ] = None
    channel: Annotated[
        Names,
        advanced(help="soft, gumbel or reinforce, for budget and end-to-end; can be repeated."),
        names_of("channels"),
        Sets("channels"),
    ] = None
    grammar: Annotated[
        Names,
        typer.Option(help="Grammars to learn; default perm, proj, rot, shufdet, hol; can be repeated."),
        names_of("grammars"),
        Sets("grammars"),
    ] = None
    seeds: Annotated[Seeds, Sets("seeds", seeds_of_study)] = None
    target: Annotated[
        float | None, advanced(group="Training", help="Accuracy that counts as acquired."), Sets("target")
    ] = None
    cap: Annotated[
        float | None,
        advanced(group="Training", help="Stop a run after this multiple of the updates that CONCAT needed."),
        Sets("cap_ratio"),
    ] = None
    max_steps: Annotated[
        int | None,
        advanced(group="Training", help="Maximum number of updates, for budget and end-to-end."),
        Sets("max_steps"),
    ] = None
    clip: Annotated[
        float | None, advanced(group="Training", help="Clip gradients to this norm."), Sets("clip")
    ] = None
    held_out: Annotated[
        float | None,
        advanced(group="Training", help="Share of meanings held out for a test."),
        Sets("held_out"),
    ] = None
    precision: Annotated[
        str | None,
        advanced(group="Training", help="fp32; bf16: where it is faster; tf32: on CUDA."),
        OneOf("fp32", "bf16", "tf32"),
        Sets("precision"),
    ] = None
    early_stop: Annotated[
        bool | None,
        advanced(
            "--early-stop", group="Training", help="Stop runs without progress at a quarter of the cap."
        ),
        Sets("early_stop"),
    ] = None
    hidden_size: Annotated[
        int | None, advanced(group="Training", help="Width of states and embeddings."), Sets("hidden_size")
    ] = None
    num_attributes: Annotated[
        int | None,
        advanced(group="Size of the language", help="Attributes of a meaning."),
        Sets("num_attributes"),
    ] = None
    num_values: Annotated[
        int | None, advanced(group="Size of the language", help="Values of an attribute."), Sets("num_values")
    ] = None
    word_length: Annotated[
        int | None, advanced(group="Size of the language", help="Symbols of a word."), Sets("word_length")
    ] = None
    vocab_size: Annotated[
        int | None, advanced(group="Size of the language", help="Content symbols."), Sets("vocab_size")
    ] = None


def icy(
    ctx: typer.Context,
    study: Annotated[
        str | None,
        typer.Argument(help="A shipped study such as paper/icy_table3, or a YAML file."),
        names_of("studies"),
    ] = None,
    plot: Plot = None,
    save_corpora: Annotated[
        Path | None,
        advanced(
            metavar="FOLDER", help="Write each trained sender's messages for all meanings into this folder."
        ),
    ] = None,
    *,
    asked: IcyOptions,
    options: Annotated[StudyOptions, {"cache": Path("runs/icy"), "device": "cpu"}],
) -> None:
    """Measure how fast agents learn artificial grammars: the ICY benchmark of compositional bias."""
    from ecsuite.eval.icy.benchmark import Icy
    from ecsuite.eval.icy.study import load_study, resolve
    from ecsuite.runtime.devices import choose_device

    config = load_study(study, settings_of(asked), flags_of(IcyOptions))
    trust([*config.models, *config.receivers])
    refuse_unread(f"--protocol {config.protocol}", [config.protocol], given_options(ctx), READS)
    device = choose_device(options.device).type
    options.publish(Icy(), resolve(config, device=device, corpora=save_corpora), plot=plot)
