"""Files of studies: YAML, some of them shipped in `configs/paper/`; each command has its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ecsuite.parts.config import read_yaml, shipped_configs

FOLDER = "paper"
"""The folder of `configs/` with the shipped studies; their names may begin with it: `paper/icy_table3`."""
Source = str | Path | Mapping[str, Any] | None
"""A study as users give it: the name of a shipped one, a YAML file, or the content; None: nothing is set."""


def shipped_studies() -> dict[str, Traversable]:
    """The shipped files of all commands by name, without the folder."""
    return shipped_configs(FOLDER)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyFiles:
    """The studies of one command."""

    command: str
    """The command."""
    prefixes: tuple[str, ...]
    """How the names of its shipped studies begin; the others in the folder are of other commands."""

    def shipped(self) -> dict[str, Traversable]:
        """The shipped files by name, without the folder."""
        return {name: file for name, file in shipped_studies().items() if name.startswith(self.prefixes)}

    def read(self, study: Source) -> tuple[dict[str, Any], str]:
        """The content of a study, with its name, and what messages call it.

        Raises:
            ConfigError: If there is no such study or file, or it is not YAML with keys.
        """
        if study is None:
            return {}, f"ecsuite {self.command}"
        if isinstance(study, Mapping):
            return {"name": self.command, **study}, self.command
        source = str(study)
        is_file = source.endswith((".yaml", ".yml"))
        name = source if is_file else source.removeprefix(f"{FOLDER}/")
        return read_yaml(name, "study", self.shipped()), source


ICY = StudyFiles(command="icy", prefixes=("icy_",))
CBM = StudyFiles(command="cbm", prefixes=("cbm_",))
SWEEP = StudyFiles(command="sweep", prefixes=("xferbench_search", "zoo_", "society_", "collection_", "elcc"))


def command_of(name: str) -> str:
    """The command that runs a shipped study."""
    plain = name.removeprefix(f"{FOLDER}/")
    return next(files.command for files in (ICY, CBM, SWEEP) if plain.startswith(files.prefixes))
