"""A published encoder, identified by its files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ecsuite.eval.models.backbones import PublishedBackbone, require_transformers
from ecsuite.eval.xtreme.contents import Contents
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedModel(Contents):
    """A model of a folder or of Hugging Face's hub, identified by its files; its weights are not its content."""

    name: str
    """The folder, or the name on the hub."""

    def job_key(self) -> str:
        """What can change a result."""
        return self.digest

    @property
    def title(self) -> str:
        """The option and the model."""
        return f"--model {self.name}: the model"

    def stored(self) -> str:
        """A hash of the files of the folder; on the hub, the name and the commit, which is a hash of its files.

        Raises:
            ConfigError: If there is no such model, or the package transformers is not installed.
        """
        require_transformers("--model")
        if not Path(self.name).is_dir():
            return f"{self.name}@{_commit(self.name)}"
        content = hashlib.sha256()
        for file in sorted(file for file in Path(self.name).glob("*") if file.is_file()):
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            content.update(f"{file.name} {digest}\n".encode())
        return content.hexdigest()

    def hash_of(self, content: str) -> str:
        """The same."""
        return content

    def load(self) -> PublishedBackbone:
        """The model with its weights.

        Raises:
            ConfigError: If it cannot be loaded, or its files have changed since it was identified.
        """
        self.read()
        return PublishedBackbone(self.name)


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
