"""A published encoder, identified by its files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ecsuite.eval.learning.encoders import PublishedBackbone, require_transformers
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedModel:
    """A model of a folder or of Hugging Face's hub: known by its files, not by its name."""

    name: str
    """The folder, or the name on the hub."""
    digest: str
    """A hash of the files of the folder; on the hub, the name and the commit, which is a hash of its files."""

    def job_key(self) -> str:
        """What can change a result."""
        return self.digest

    def load(self) -> PublishedBackbone:
        """The model with its weights.

        Raises:
            ConfigError: If it cannot be loaded, or its files have changed since it was found.
        """
        if find_model(self.name) != self:
            raise ConfigError(
                f"--model {self.name}: has changed while it was in use: run the same command again"
            )
        return PublishedBackbone(self.name)


def find_model(name: str) -> PublishedModel:
    """Identify a model; its weights are not loaded.

    Raises:
        ConfigError: If there is no such model, or the package transformers is not installed.
    """
    require_transformers("--model")
    if not Path(name).is_dir():
        return PublishedModel(name=name, digest=f"{name}@{_commit(name)}")
    content = hashlib.sha256()
    for file in sorted(file for file in Path(name).glob("*") if file.is_file()):
        with file.open("rb") as opened:
            content.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return PublishedModel(name=name, digest=content.hexdigest())


def _commit(name: str) -> str:
    """The commit of a model on the hub that is loaded: the present one, or offline the one that was downloaded."""
    from transformers.utils.hub import cached_file

    try:
        config = cached_file(name, "config.json")
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ConfigError(f"--model {name}: cannot be loaded: {reason}") from error
    assert config is not None
    return Path(config).parent.name  # …/snapshots/COMMIT/config.json
