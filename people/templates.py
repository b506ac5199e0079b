"""A study to begin with: its file with all settings that it reads, and texts beside it to fill in."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ecsuite.files.atomic_files import write_atomically
from ecsuite.parts.config import unread
from ecsuite.parts.registry import option_docs
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.people.study import READS, Study, with_texts
from ecsuite.people.texts import TEXTS
from ecsuite.runtime.errors import ConfigError, look_up

EXAMPLES: dict[str, dict[str, Any]] = {
    "codes": {},
    "agents": {"run": "runs/disc_small"},
    "chains": {"chains": 4, "grammars": ("hol",), "datasets": ("eng",), "seen": 12, "idle_minutes": 10},
    "pairs": {"pairs": 20, "datasets": ("synth",), "begin_minutes": 5},
    "rounds": {"play": "naming"},
}
"""By kind of study, the settings that differ from the defaults."""
TO_FILL_IN = """
**Who is responsible:** [names, institution, and how to reach them before and after taking part]

**Pay:** [how much, when, and what those get who wait too long, stop, or whose partner leaves]

**Where answers are kept:** [where, for how long, who can read them, and whether they are published]

**Approved by:** [board and number of its decision]
"""
"""What the shipped texts of consent can't know."""


def write_template(kind: str, file: Path) -> list[Path]:
    """Write a study file and its texts.

    Args:
        kind: One of `EXAMPLES`.
        file: The study file; texts are written beside it, such as `study_consent.md`.

    Returns:
        What was written.

    Raises:
        ConfigError: If the name is none of a YAML file, or a file is there already.
    """
    settings = look_up("kind", kind, EXAMPLES)
    if file.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{file}: expected a name for a study file, such as study.yaml")
    study = with_texts(Study(name=file.stem, **settings))
    contents: dict[Path, str] = {}
    names: dict[str, Any] = {}
    for key in TEXTS:
        if text := getattr(study, key):
            names[key] = f"{file.stem}_{key}.md"
            contents[file.with_name(names[key])] = text + (TO_FILL_IN if key == "consent" else "")
    contents = {file: _settings(replace(study, **names)), **contents}
    for each in contents:
        if each.exists():
            raise ConfigError(f"{each} is there already: choose another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    for each, text in contents.items():
        write_atomically(each, text.encode())
    return list(contents)


def _settings(study: Study) -> str:
    """The settings that a study reads as YAML, each below its line of docs; those that are defaults are comments."""
    lines = ["# Settings that begin with # have their defaults; docs/people.md.", ""]
    docs, default = option_docs(Study), {each.name: each.default for each in fields(study)}
    for name in default:
        if name == "name" or unread([name], [study.kind], READS):  # the name is the file's
            continue
        value = getattr(study, name)
        is_default = value == default[name]
        if is_default and name in ("run", "play", "chains", "pairs"):  # these make it another kind of study
            continue
        is_list = isinstance(value, tuple)
        text = (
            f"{name}: {as_yaml(list(value), default_flow_style=True)}" if is_list else as_yaml({name: value})
        )
        lines += [f"# {docs[name]}", f"{'# ' if is_default else ''}{text.strip()}"]
    return "\n".join(lines) + "\n"
