"""Options that several commands share, which a command gets together as one argument."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


def given_together(
    kind: type[Any],
    argument: str,
    defaults: Mapping[str, Any],
    around: Callable[[Any], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> Callable[[Command], Command]:
    """Give a command the options of a dataclass, which it gets together as one argument.

    Args:
        kind: The dataclass; its fields are annotated as typer's parameters are.
        argument: The name of the command's argument.
        defaults: Of options that have another one in this command, by name.
        around: What the command runs in, made of the options.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(kind, include_extras=True)
        shared = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(each.name, each.default),
                annotation=hints[each.name],
            )
            for each in fields(kind)
        ]

        @wraps(command)
        def with_options(**given: Any) -> None:
            options = kind(**{each.name: given.pop(each.name) for each in shared})
            with around(options):
                command(**{argument: options}, **given)

        own = inspect.signature(command).parameters.values()
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name != argument
        ]
        with_options.__signature__ = inspect.Signature([*parameters, *shared])  # type: ignore[attr-defined]
        with_options.__annotations__ = {
            **{
                name: hint
                for name, hint in get_type_hints(command, include_extras=True).items()
                if name != argument
            },
            **{each.name: each.annotation for each in shared},
        }
        return with_options

    return decorate
