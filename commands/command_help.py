"""Commands from functions, and their help: common options with `--help`, all options with `--help-all`."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand

from ecsuite.commands.catalogue import Entry, commands_of
from ecsuite.commands.completion import add_completion
from ecsuite.commands.options import MORE
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.memory import set_max_memory

METAVARS = ((bool, ""), (int, "N"), (float, "NUMBER"), (Path, "PATH"), (str, "NAME"))
"""Default placeholders of an option's value, by type."""
SHARED = ("max_memory", "help_all")
"""Options of every command, in order, after its own options."""
OUTPUTS = {"--out", "--plot"}
"""Options of output files."""
SHOWS_ALL = "ecsuite.shows_all"
"""Key of a command's context: whether every option is shown."""


def _show_all(ctx: typer.Context, is_asked: bool) -> None:
    if is_asked:
        ctx.meta[SHOWS_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _with_shared_options(
    max_memory: str | None = typer.Option(
        None,
        "--max-memory",
        callback=set_max_memory,
        is_eager=True,
        expose_value=False,
        metavar="SIZE",
        rich_help_panel=MORE,
        help="Maximum memory for reading a file, such as 8G; default three quarters of the free memory.",
    ),
    help_all: bool = typer.Option(
        False, "--help-all", callback=_show_all, is_eager=True, expose_value=False, help="Show every option."
    ),
) -> None: ...


class Command(TyperCommand):
    """A command whose help is plain text in groups, with examples."""

    examples: tuple[str, ...] = ()
    """Complete commands to copy."""
    under: Mapping[str, str] = {}
    """Subcommands with one-line descriptions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; repeating an option with a single value is an error."""
        given: list[Any] = self.make_parser(ctx).parse_args(list(args))[2]
        for option in dict.fromkeys(each for each in given if each.param_type_name == "option"):
            if given.count(option) > 1 and not (option.multiple or option.is_flag or option.count):
                form = ", a list with commas" if "comma" in (option.help or "") else ""
                raise ConfigError(
                    f"{option.opts[0]} is given {given.count(option)} times: expected once{form}"
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an output file that is also an input is an error, as it would be overwritten."""
        outputs = {each.name: each.opts[0] for each in self.params if {*each.opts} & OUTPUTS}
        for name, option in outputs.items():
            file = ctx.params.get(name)
            if file is None or not Path(file).is_file():
                continue
            for other in (value for key, value in ctx.params.items() if key not in outputs):
                values = other if isinstance(other, list | tuple) else [other]
                paths = [Path(each) for each in values if isinstance(each, str | Path)]
                if any(each.is_file() and each.samefile(file) for each in paths):
                    raise ConfigError(f"{option} {file}: an input of the command: choose another file")
        return super().invoke(ctx)

    def usage_pieces(self) -> list[str]:
        """Usage after the name of the command: arguments and required options."""
        parameters: list[Any] = self.params
        arguments = [p.metavar if p.required else f"[{p.metavar}]" for p in parameters if is_argument(p)]
        needed = [f"{p.opts[0]} {p.metavar}" for p in parameters if not is_argument(p) and p.required]
        return [*arguments, *needed, "[options]"]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line."""
        formatter.write_usage(ctx.command_path, " ".join(self.usage_pieces()))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options by group, and a hint at hidden options."""
        shown: list[Any] = self.get_params(ctx)
        hidden = (
            [] if ctx.meta.get(SHOWS_ALL) else [each for each in shown if group_of(each).startswith(MORE)]
        )
        for group, rows in grouped([each for each in shown if each not in hidden]).items():
            with formatter.section(group):
                formatter.write_dl(rows)
        if self.under:
            with formatter.section("Subcommands"):
                formatter.write_dl([(f"{self.name} {each}", line) for each, line in self.under.items()])
        if hidden:
            formatter.write_paragraph()
            options = "1 more option" if len(hidden) == 1 else f"{len(hidden)} more options"
            formatter.write_text(f"{options}: {ctx.command_path} --help-all")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one per line."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")


def expand_options(function: Callable[..., None]) -> Callable[..., None]:
    """Replace dataclass parameters of a function by keyword parameters, one per field.

    Fields are annotated like typer's parameters. Their defaults are the defaults of the dataclass, or of the command:
    `options: Annotated[StudyOptions, {"cache": Path("runs/icy")}]`. The function receives the dataclass object. If it
    has a method `planning`, the function is called in this context.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    kinds: dict[str, tuple[Any, ...]] = {}
    own: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind, *others = typing.get_args(hints[parameter.name]) or (hints[parameter.name],)
        if is_dataclass(kind):
            kinds[parameter.name] = (kind, *others)
        else:
            own.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    expanded = {}
    for argument, (kind, *others) in kinds.items():
        defaults, hints_of_kind = (
            others[0] if others else {},
            typing.get_type_hints(kind, include_extras=True),
        )
        expanded[argument] = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(each.name, each.default),
                annotation=hints_of_kind[each.name],
            )
            for each in fields(kind)
        ]

    @wraps(function)
    def with_options(**given: Any) -> None:
        with ExitStack() as around:
            for argument, (kind, *_) in kinds.items():
                options = kind(**{each.name: given.pop(each.name) for each in expanded[argument]})
                given[argument] = options
                if hasattr(options, "planning"):
                    around.enter_context(options.planning())
            function(**given)

    parameters = [*own, *(each for some in expanded.values() for each in some)]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    of_others = {each.name: each.annotation for some in expanded.values() for each in some}
    with_options.__annotations__ = {
        name: hint for name, hint in hints.items() if name not in kinds
    } | of_others
    return with_options


def make_command(name: str, function: Callable[..., None], entry: Entry) -> Any:
    """Make the command of a function, with examples and subcommands; see `expand_options`."""
    function = expand_options(function)
    single = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, context_settings=HELP, rich_markup_mode=None
    )
    single.command(name, cls=Command)(function)
    command: Any = typer.main.get_command(single)
    command.examples = tuple(f"ecsuite {name} {each}".strip() for each in entry.examples)
    command.under = {last: each.line for last, each in commands_of(name).items()}
    types = typing.get_type_hints(function)
    for parameter in command.params:
        if parameter.metavar is None and isinstance(parameter, TyperArgument):
            many = "..." if parameter.nargs != 1 else ""
            parameter.metavar = f"{str(parameter.name).upper().replace('_', '-')}{many}"
        elif parameter.metavar is None:  # by the type of its value
            hint = types[parameter.name]
            inner = typing.get_args(hint)
            kinds = {hint, *inner, *(part for each in inner for part in typing.get_args(each))}
            parameter.metavar = next(word for kind, word in METAVARS if kind in kinds)
    shown = typer.Typer(add_completion=False)
    shown.command()(_with_shared_options)
    command.params += [each for each in typer.main.get_command(shown).params if each.name in SHARED]
    add_completion(command, typing.get_type_hints(function, include_extras=True))
    return command


def make_heading(name: str, entry: Entry) -> Any:
    """Make a command for a name that is only a heading: it lists its subcommands."""
    under = commands_of(name)

    def heading(
        command: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(under)}.")] = None,
    ) -> None:
        if not command:
            raise ConfigError(f"ecsuite {name}: expected a command: {', '.join(under)}")
        look_up("command", command[0], under)

    heading.__doc__ = entry.line
    return make_command(name, heading, entry)


HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command."""


def is_argument(parameter: Any) -> bool:
    """Whether a parameter of a command is positional."""
    return isinstance(parameter, TyperArgument)


def group_of(parameter: Any) -> str:
    """The heading under which a parameter is shown."""
    return "Arguments" if is_argument(parameter) else str(parameter.rich_help_panel or "Options")


def grouped(parameters: Iterable[Any]) -> dict[str, list[tuple[str, str]]]:
    """Form and description of parameters by group, without the options for help."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        if not {"--help", "--help-all"} & {*parameter.opts}:
            group = group_of(parameter).removeprefix(f"{MORE}: ")
            groups.setdefault(group, []).append(described(parameter))
    first = ("Arguments", "Options")
    return {name: groups[name] for name in sorted(groups, key=lambda name: name not in first)}


def described(parameter: Any) -> tuple[str, str]:
    """Form of a parameter on the command line, and its description with the default."""
    names = parameter.metavar if is_argument(parameter) else ", ".join(sorted(parameter.opts, key=len))
    value = "" if is_argument(parameter) or parameter.is_flag else f" {parameter.metavar}"
    text, default = parameter.help or "", parameter.default
    if (
        isinstance(default, str | int | float | Path)
        and not isinstance(default, bool)
        and "default" not in text
    ):
        text = f"{text.rstrip('.')}; default {default}."
    return f"{names}{value}", text
