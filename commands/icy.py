"""`ecsuite icy`: how fast agents learn artificial grammars."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Plot, Seeds, advanced, given_options, read_seeds, require_read
from ecsuite.commands.study_options import StudyOptions, has_study_options
from ecsuite.parts.own_code import trust

Names = list[str] | None

FIELDS = {
    "model": "models",
    "receiver": "receivers",
    "channel": "channels",
    "grammar": "grammars",
    "cap": "cap_ratio",
}
"""Settings of a study whose option has another name."""
READS = {
    "exact": ("device", "save_corpora"),
    "paper": ("device", "save_corpora"),
    "budget": ("device",),
    "end-to-end": ("device",),
    "metrics": (),
}
"""By protocol, the options of the command alone that it reads; `READS` of a study has those of its settings."""


@has_study_options(cache=Path("runs/icy"), device="cpu")
def icy(
    ctx: typer.Context,
    study: Annotated[
        str | None, typer.Argument(help="A shipped study such as paper/icy_table3, or a YAML file.")
    ] = None,
    model: Annotated[Names, typer.Option(help="An agent (see `ecsuite list`); can be repeated.")] = None,
    role: Annotated[str | None, advanced(help="Role of the models: sender or receiver.")] = None,
    receiver: Annotated[Names, advanced(help="Receivers of end-to-end; can be repeated.")] = None,
    protocol: Annotated[str | None, typer.Option(help="exact, paper, budget, end-to-end or metrics.")] = None,
    channel: Annotated[
        Names, advanced(help="soft, gumbel or reinforce, for budget and end-to-end; can be repeated.")
    ] = None,
    grammar: Annotated[
        Names, typer.Option(help="Grammars to learn; default perm, proj, rot, shufdet, hol; can be repeated.")
    ] = None,
    seeds: Seeds = None,
    target: Annotated[
        float | None, advanced(group="Training", help="Accuracy that counts as acquired.")
    ] = None,
    cap: Annotated[
        float | None,
        advanced(group="Training", help="Stop a run after this multiple of the updates that CONCAT took."),
    ] = None,
    max_steps: Annotated[
        int | None, advanced(group="Training", help="Most updates, for budget and end-to-end.")
    ] = None,
    clip: Annotated[float | None, advanced(group="Training", help="Clip gradients to this norm.")] = None,
    held_out: Annotated[
        float | None, advanced(group="Training", help="Share of meanings held out for a test.")
    ] = None,
    precision: Annotated[
        str | None,
        advanced(group="Training", help="fp32; bf16: rounded where that is faster; tf32: on CUDA."),
    ] = None,
    early_stop: Annotated[
        bool | None,
        advanced(
            "--early-stop", group="Training", help="Stop runs without progress at a quarter of the cap."
        ),
    ] = None,
    hidden_size: Annotated[
        int | None, advanced(group="Training", help="Width of states and embeddings.")
    ] = None,
    num_attributes: Annotated[
        int | None, advanced(group="Size of the language", help="Attributes of a meaning.")
    ] = None,
    num_values: Annotated[
        int | None, advanced(group="Size of the language", help="Values of an attribute.")
    ] = None,
    word_length: Annotated[
        int | None, advanced(group="Size of the language", help="Symbols of a word.")
    ] = None,
    vocab_size: Annotated[int | None, advanced(group="Size of the language", help="Content symbols.")] = None,
    plot: Plot = None,
    save_corpora: Annotated[
        Path | None,
        advanced(
            metavar="FOLDER", help="Write each trained sender's messages for all meanings into this folder."
        ),
    ] = None,
    *,
    options: StudyOptions,
) -> None:
    """Measure how fast agents learn artificial grammars: the ICY benchmark of compositional bias."""
    from ecsuite.eval.icy.benchmark import Icy
    from ecsuite.eval.icy.resolved import resolve
    from ecsuite.eval.icy.study import FIRST_SEED, StudyConfig, load_study
    from ecsuite.runtime.devices import choose_device

    given = {FIELDS.get(name, name): (name, option) for name, option in given_options(ctx).items()}
    settings = {field.name for field in fields(StudyConfig)} & given.keys()
    changes = {key: ctx.params[given[key][0]] for key in settings}
    changes["seeds"] = read_seeds(seeds, FIRST_SEED)
    config = load_study(study, changes, {key: option for key, (_, option) in given.items()})
    trust([*config.models, *config.receivers])
    require_read(ctx, f"--protocol {config.protocol}", [config.protocol], READS)
    device = choose_device(options.device).type
    options.publish(Icy(), resolve(config, device=device, corpora=save_corpora), plot=plot)
