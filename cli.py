"""The command line; a command's module is imported when the command is called.

A command's module parses options, calls one function and prints. No slow import happens before a command needs it.
"""

import difflib
import gc
import io
import os
import shlex
import sys
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ecsuite.commands.catalogue import COMMANDS, commands_of
from ecsuite.commands.command_help import HELP, make_command, make_heading
from ecsuite.parts.error_messages import of_system, one_line
from ecsuite.runtime.errors import (
    ConfigError,
    CorpusError,
    DamagedError,
    DivergedError,
    FormatError,
    ReadingQuestion,
)
from ecsuite.runtime.printable import printable, show_notes
from ecsuite.version import __version__

UsageError: Any = typer.BadParameter.__bases__[0]  # click's, installed or bundled with typer

START = """\
ecsuite trains agents that invent languages, and measures the languages they invent. To begin:

  ecsuite train-game disc_small           train two agents, one to three minutes
  ecsuite score runs/disc_small           measure the language that they invented
  ecsuite list games                      the other games
  ecsuite config disc_small > mine.yaml   a game to edit: ecsuite train-game mine.yaml
  ecsuite --help                          all commands
"""
"""Output of `ecsuite` without a command."""
TRUST_CODE = "--trust-code"
"""Option that allows to import code of other people that a run names."""
LESS_MEMORY = "choose smaller agents, batches or corpora, fewer --workers, or a machine with more memory"
"""Advice after running out of memory."""


class Commands(TyperGroup):
    """The commands by name; a command's module is imported when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in order; names of two words are subcommands."""
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command and its arguments: `compare table A` calls `compare table`, `compare A` calls `compare`."""
        name, *rest = args
        if rest and f"{name} {rest[0]}" in COMMANDS:
            name, rest = f"{name} {rest[0]}", rest[1:]
        elif name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise unknown_command(name)
        command = self.get_command(ctx, name)
        return (None, None, args) if command is None else (name, command, rest)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; after Ctrl-C, print a line unless the command has printed one.

        Raises:
            ConfigError: If the command would run code of other people, and has no option to trust it.
        """
        show_notes(True)  # reset; --quiet disables notes
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            has_option = command and any(TRUST_CODE in each.opts for each in command.params)
            if has_option or TRUST_CODE not in str(error):
                raise
            told = str(error).partition(f"add {TRUST_CODE}")[0]
            raise ConfigError(
                f"{told}look at it with `ecsuite config FILE {TRUST_CODE}`, whose output is a config of your own"
            ) from None
        except KeyboardInterrupt as stop:
            if not hasattr(stop, "__notes__"):
                sys.stderr.write("stopped\n")
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        if entry.place is None:
            return make_heading(cmd_name, entry)
        name = cmd_name.replace("-", "_").replace(" ", "_")
        module, function = (entry.place or f"{name}:{name}").split(":")
        return make_command(cmd_name, getattr(import_module(f"ecsuite.commands.{module}"), function), entry)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, one line each, without importing them, and the options."""
        commands = commands_of()
        width = max(map(len, commands))
        formatter.write("\n")
        for group, names in groupby(commands, key=lambda name: commands[name].group):
            formatter.write(f"{group}:\n")
            for name in names:
                formatter.write(f"  {name:{width}}  {commands[name].line}\n")
        options = ", ".join(max(each.opts, key=len) for each in self.get_params(ctx))
        formatter.write(f"Options: {options.replace('--help', '[COMMAND] --help')}\n")

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete names of commands, without importing them, or of options."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        (example,) = super().shell_complete(
            ctx, "--version"
        )  # gives click's class, installed or bundled with typer
        return [
            type(example)(name, help=entry.line)
            for name, entry in commands_of().items()
            if name.startswith(incomplete)
        ]


app = typer.Typer(
    name="ecsuite",
    cls=Commands,
    help="Train agents that invent languages, and measure the languages they invent.",
    invoke_without_command=True,
    context_settings=HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"ecsuite {__version__}")
        raise typer.Exit


@app.callback()
def _ecsuite(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Print first steps if no command is given."""
    if ctx.invoked_subcommand is None:
        print(START, end="")


def unknown_command(name: str) -> ConfigError:
    """Make the error for an unknown command, with similar commands and all commands."""
    similar = [each for each in COMMANDS if name in each or each in name]
    similar = similar or difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, similar))}? " if similar else ""
    return ConfigError(f"unknown command '{name:.60}'; {hint}commands: {', '.join(commands_of())}")


def usage_line(error: Any) -> str:
    """Format a usage error as one line with the name of the command."""
    said = (
        " ".join(error.format_message().split())
        .replace("Value error, ", "")  # pydantic's prefix, which typer shows for choices
        .partition("(Possible options: ")[0]
        .removesuffix("('")
        .rstrip(" .")
    )
    if similar := getattr(error, "possibilities", None):
        similar = [each for each in similar if each.startswith(error.option_name)] or similar
        said = f"{said.partition(' Did you mean')[0]}; did you mean {' or '.join(sorted(similar))}?"
    option = getattr(error, "option_name", "").removeprefix("--").replace("-", "_")
    if option and error.ctx and "--set" in {name for each in error.ctx.command.params for name in each.opts}:
        from ecsuite.games.config.sections import all_keys

        settings = [key for key in all_keys() if key.rpartition(".")[2] == option]
        if settings:
            said = f"{said.partition(';')[0]}; did you mean {' or '.join(f'--set {key}=VALUE' for key in settings)}?"
    if option == "set" and error.ctx and error.ctx.command_path == "ecsuite sweep":
        said = f"{said.partition(';')[0]}; write it in the file: `set: {{training.num_epochs: 2}}`"
    examples = getattr(error.ctx and error.ctx.command, "examples", ())
    if said.startswith("Missing argument") and examples:
        said = f"{said}, such as {examples[0].partition(' && ')[0].partition(' > ')[0]}"
    words = sys.argv[1:3]  # the context is not always known
    called = next((name for name in (" ".join(words), *words[:1]) if name in COMMANDS), "")
    path = error.ctx.command_path if error.ctx else f"ecsuite {called}".strip()
    every = "--help-all" if " " in path else "--help"
    return f"{path}: {said[0].lower()}{said[1:]}{'' if said.endswith('?') else ';'} see {path} {every}"


def _end_quietly() -> NoReturn:
    """End without an error after the reader of the output has ended, as in `| head -1`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(0)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 bug or diverged, 2 user input, 3 damaged state, 75 preempted."""
    gc.set_threshold(100_000, 50, 50)  # imports create many objects, none of them garbage
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: otherwise the next opened file gets its file descriptor
            setattr(sys, name, open(os.devnull, mode))  # kept open until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that the terminal lacks become question marks; undecodable file names are printed unchanged.
        is_utf = sys.stdout.encoding.lower().startswith("utf")
        with suppress(OSError):  # the stream may have been replaced outside of Python
            sys.stdout.reconfigure(errors="surrogateescape" if is_utf else "replace")
    try:
        try:
            os.getcwd()
        except FileNotFoundError:  # some libraries crash without a working folder
            raise ConfigError(
                "the working folder was removed: change to an existing folder with cd"
            ) from None
        if sys.argv[1:2] == ["help"]:  # `ecsuite help score` is `ecsuite score --help`
            sys.argv[1:] = [*sys.argv[2:], "--help"]
        code = app(prog_name="ecsuite", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _end_quietly()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer's own end
            _end_quietly()
        _end_of_own_part(end)
        raise
    except UsageError as error:
        sys.stderr.write(f"{one_line(usage_line(error))}\n")
        sys.exit(2)
    except (ConfigError, CorpusError, FormatError, OSError, DivergedError, DamagedError) as error:
        sys.stderr.write(f"{_told(error)}\n")
        sys.exit({DivergedError: 1, DamagedError: 3}.get(type(error), 2))
    except MemoryError:
        sys.stderr.write(f"not enough memory: {LESS_MEMORY}\n")
        sys.exit(2)
    except Exception as error:
        _end_of_own_part(error)
        raise
    sys.exit(code or 0)


def _told(error: Exception) -> str:
    """Format an error as one line; a question as several lines, with the command for each answer."""
    if isinstance(error, ReadingQuestion):
        given = ["ecsuite", *sys.argv[1:]]
        lines = error.shown([shlex.join([*given, *each]) for each in error.options()]).split("\n")
        return "\n".join(map(printable, lines))
    return of_system(error) if isinstance(error, OSError) else one_line(error)


def _end_of_own_part(error: BaseException) -> None:
    """End with one line if an error, or `sys.exit()`, was raised in a user's own part."""
    own_code = sys.modules.get("ecsuite.parts.own_code")
    if own_code is not None and (found := own_code.error_in_part(error)) is not None:
        sys.stderr.write(f"{one_line(found)}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
