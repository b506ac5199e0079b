"""Prompts as files: sandboxed Jinja2 templates with the blocks `system` (optional) and `user`.

Three templates are shipped, by name; a user's own template is a path. Templates can only use `VARIABLES`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ecsuite.runtime.errors import ConfigError, unknown_name

FOLDER = "prompts"
SUFFIX = ".jinja"
SHIPPED = {
    "plain": "the round, past rounds, and the allowed answers; for every play",
    "ashery2025": "points for the same choice, and the choices of past rounds (Ashery et al. 2025); both name at once",
    "kouwenhoven2025": "a language in context to be continued (Kouwenhoven et al. 2025); for talk",
}
"""Descriptions of the shipped templates."""
VARIABLES = {
    "role": "speaker or listener",
    "task": "naming, discrimination or reconstruction",
    "object": "the object of the speaker, as text",
    "candidates": "the candidates of the listener: a list of label and object",
    "message": "the message to the listener",
    "allowed": "the allowed answers, in words",
    "choices": "the answers to choose from, in a new order each time; empty if answers are made of symbols",
    "taught": "the taught language: a list of object and message",
    "memory": "past rounds of the agent, the oldest first: round, role, object, said, heard, answer, right, success",
    "score": "successful minus failed rounds in the memory",
    "round": "number of the agent's round, from 1",
    "num_agents": "number of agents",
}
"""Variables of templates."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template."""

    place: str
    """Name or file of the template."""
    text: str
    """Source of the template."""

    @property
    def digest(self) -> str:
        """SHA-256 of the source."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def render(self, values: Mapping[str, Any]) -> tuple[str, str]:
        """Render the texts of the system and of the user.

        Raises:
            ConfigError: If the template fails; the message names the line.
        """
        template = _compiled(self)
        try:
            said = {
                name: "".join(template.blocks[name](template.new_context(dict(values)))).strip()
                for name in ("system", "user")
                if name in template.blocks
            }
        except Exception as error:  # of a user's template, which may do anything that the sandbox allows
            raise ConfigError(f"{self.place}:{_line(template, error)}: {_told(error)}") from None
        return said.get("system", ""), said["user"]


def read_prompt(name_or_file: str) -> Prompt:
    """Read a shipped template by its name, or a user's file.

    Raises:
        ConfigError: If the file does not exist, is not a template, has no block `user`, or uses an unknown variable;
            the message names file and line.
    """
    if name_or_file in SHIPPED:
        file = resources.files(__package__).joinpath(FOLDER, f"{name_or_file}{SUFFIX}")
        prompt = Prompt(f"{name_or_file}{SUFFIX}", file.read_text("utf-8"))
    elif "/" in name_or_file or "." in name_or_file:
        try:
            prompt = Prompt(name_or_file, Path(name_or_file).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{name_or_file}: can't be read as a prompt: {error}") from None
    else:
        raise unknown_name("prompt", name_or_file, SHIPPED)
    _require_known(prompt)
    return prompt


def _require_known(prompt: Prompt) -> None:
    """Raise `ConfigError` for a template that can never be rendered."""
    from jinja2 import TemplateError, meta, nodes

    try:
        tree = _environment().parse(prompt.text)
    except TemplateError as error:
        line = getattr(error, "lineno", 1)
        raise ConfigError(f"{prompt.place}:{line}: {_told(error)}") from None
    unknown = meta.find_undeclared_variables(tree) - set(VARIABLES)
    for node in tree.find_all(nodes.Name):
        if node.name in unknown:
            raise ConfigError(
                f"{prompt.place}:{node.lineno}: {unknown_name('variable', node.name, VARIABLES)}"
            )
    if "user" not in _compiled(prompt).blocks:
        raise ConfigError(f"{prompt.place}:1: expected a block: {{% block user %}} … {{% endblock %}}")


@cache
def _environment() -> Any:
    """Jinja without access to files, Python's own attributes or undefined variables."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _compiled(prompt: Prompt) -> Any:
    return _environment().from_string(prompt.text)


def _line(template: Any, error: BaseException) -> int:
    """Line of the template in which an error was raised; 1 if unknown."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _told(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
