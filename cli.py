"""The command line: names the commands, and imports one when it is called.

A command's file parses, calls one function and prints. Nothing heavy is imported before a command needs it.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ecsuite.config import ConfigError, DamagedError, DivergedError
from ecsuite.corpus import CorpusError
from ecsuite.file_formats import FormatError
from ecsuite.foreign import error_in_part
from ecsuite.version import __version__

COMMANDS = {
    "train-game": "disc_small --set channel.temperature=2 --out runs/warm",
    "config": "disc_small > mine.yaml && ecsuite train-game mine.yaml",
    "evaluate": "runs/disc_small --set task.num_distractors=20",
    "plot": "runs/a runs/b --out curves.svg",
    "preview": "shape_qt --out sheet.png --set world.rule_length=2",
    "features": "birds.npz --images photos && ecsuite train-game mu_cub --features birds.npz",
    "grammar": "shufdet --out runs/shufdet && ecsuite score runs/shufdet",
    "score": "runs/disc_small/corpus.jsonl --metrics cbm,topsim",
    "convert": "runs/disc_small messages.csv --to csv",
    "icy": "--model lstm --model husendz:dgsend --seeds 10 --out rows.json",
    "cbm": "paper/cbm_table1 --row thing_gs --row thing_qt --seeds 1",
    "baseline": "human --text fr.txt.gz --out french.json",
    "compare": "a.json b.json french.json --picture scores.svg",
    "correlate": "a.json b.json --translation a_mt.json --translation b_mt.json",
    "translate": "runs/disc_small --pairs en-fr.tsv --setting full",
    "data": "wikipedia --languages da",
    "xtreme": "runs/disc_small --tasks udpos,panx --data DIR",
    "xtreme-evaluate": "--predictions mine --labels labels",
    "new": "channel noisy.py && ecsuite check ./noisy.py:Noisy",
    "check": "./noisy.py:Noisy,confusion=0.1",
    "list": "--json",
}
"""Arguments of an example by command, in the order of `--help`; its module in `ecsuite.commands` has its name."""


HELP = {"help_option_names": ["-h", "--help"]}
FORMER_COMMANDS = {"show": "preview"}
"""Names that commands had; they are hidden and keep working."""
FORMER_OPTIONS: dict[str, dict[str, str]] = {
    "score": {"--plot": "--pictures", "--plot-folder": "--picture-folder"},
    "icy": {"--early-verdict": "--early-stop"},
    "translate": {"--folder": "--cache"},
    "xtreme": {"--body": "--backbone", "--folder": "--cache"},
}
"""By command, names that options had; they are hidden and keep working."""


class Commands(TyperGroup):
    """The commands by name; a command's module is imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in their order."""
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, and its arguments; former names are replaced, with a note."""
        return super().resolve_command(ctx, with_present_names(args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        function = getattr(
            import_module(f"ecsuite.commands.{name}"), "list_names" if name == "list" else name
        )
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=HELP)
        single.command(cmd_name, epilog=f"Example: ecsuite {cmd_name} {COMMANDS[cmd_name]}")(function)
        return typer.main.get_command(single)


app = typer.Typer(
    name="ecsuite",
    cls=Commands,
    help="Train agents that invent languages, and measure the languages they invent.",
    epilog="Example: ecsuite train-game disc_small && ecsuite score runs/disc_small",
    no_args_is_help=True,
    context_settings=HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"ecsuite {__version__}")
        raise typer.Exit


@app.callback()
def _ecsuite(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A group even without commands of its own."""


def with_present_names(arguments: list[str]) -> list[str]:
    """What was typed after `ecsuite`, with the present names of commands and options; a note names each change."""
    if not arguments:
        return arguments
    command = FORMER_COMMANDS.get(arguments[0], arguments[0])
    renamed = [command]
    for argument in arguments[1:]:
        option, equals, value = argument.partition("=")
        renamed.append(FORMER_OPTIONS.get(command, {}).get(option, option) + equals + value)
    for old, new in zip(arguments, renamed, strict=True):
        if old != new:
            sys.stderr.write(f"note: {old.partition('=')[0]} is now called {new.partition('=')[0]}\n")
    return renamed


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 bug or diverged, 2 user input, 3 damaged state, 75 preempted."""
    try:
        app()
    except (ConfigError, CorpusError, FormatError, OSError, DivergedError, DamagedError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit({DivergedError: 1, DamagedError: 3}.get(type(error), 2))
    except Exception as error:
        if (found := error_in_part(error)) is None:
            raise
        sys.stderr.write(f"{found}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
