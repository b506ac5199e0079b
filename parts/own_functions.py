"""Functions in users' files, and callable classes with options: metrics and grammars."""

import inspect
from collections.abc import Callable
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.parts.registry import KIND, Registry, option_types, read_options, to_tree
from ecsuite.runtime.errors import ConfigError, PartError, look_up

TAKES = {"metric": ("corpus", "options"), "grammar": ("meanings", "rng", "geometry")}
"""Arguments of functions of a kind of part; functions may take fewer, from the first."""


def own_function(
    registry: Registry, text: str, watch: Callable[[Any], Any] = lambda options: options
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Load a user's function, or an instance of a user's callable class, with its options.

    Args:
        registry: Registry of such parts.
        text: Name, with options after commas for a class: `./mine.py:Mine,base=2`.
        watch: Function from the options to those passed to the class.

    Returns:
        The function, and all its options.

    Raises:
        ConfigError: If the part can't be imported or called, or an option is unknown or out of bounds.
    """
    kind = text.partition(",")[0]
    made = registry.load(kind)
    declared: Any = made.Options if isinstance(made, type) else None  # type: ignore[attr-defined]
    options = options_in(registry, text, declared)
    if declared is None:
        _require_takes(kind, registry.word, made, _accepted_arguments(made, TAKES[registry.word]))
        return made, {}
    # A class without options needs no constructor.
    given = () if declared is own_code.NoOptions else (watch(options),)
    # Networks inherit `__call__` from torch, even without `forward`.
    own = {name for each in made.__mro__ if not each.__module__.startswith("torch.") for name in vars(each)}
    _require_takes(
        kind, registry.word, made, given, "" if own & {"__call__", "forward"} else "it has no __call__"
    )
    built = made(*given)
    _require_takes(kind, registry.word, built, _accepted_arguments(built, TAKES[registry.word]))
    return built, to_tree(options)


def _require_takes(
    kind: str, word: str, made: Callable[..., Any], arguments: tuple[Any, ...], fault: str = ""
) -> None:
    """Raise `PartError` if a part can't be called with these arguments, or has a fault.

    Raises:
        PartError: With the expected form and the fault.
    """
    try:
        inspect.signature(made).bind(*arguments)
    except TypeError as error:
        fault = fault or str(error)
    if fault:
        raise PartError(
            f"{own_code.place_of(kind)}: {kind.partition(':')[2]}: for a {word}, expected a function of "
            f"{', '.join(TAKES[word])} or fewer, or a callable class; {fault}; see `ecsuite new {word}`"
        )


def options_in(registry: Registry, text: str, declared: type | None) -> Any:
    """Parse the options after the name of a function or callable class: `topsim,correlation=pearson`.

    Args:
        registry: Registry of such parts.
        text: Name with options.
        declared: Class of the options; None: no options.

    Returns:
        An instance of that class, or None.

    Raises:
        ConfigError: If an option is unknown or out of bounds.
    """
    section = registry.section(text, registry.word)
    kind = section.pop(KIND)
    types = {} if declared is None else option_types(declared)
    for key in section:
        if not types:
            raise ConfigError(f"{kind} has no options: leave out {key}")
        look_up(f"option of {kind}", key, types)
    return None if declared is None else read_options(declared, section, kind)


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with the first of the arguments, as many as it takes by position."""
    return function(*_accepted_arguments(function, arguments))


def _accepted_arguments(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Select the first arguments, as many as a function takes by position."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return arguments
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return arguments[: sum(kind in by_position for kind in kinds)]
