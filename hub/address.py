"""Where something is on the Hugging Face hub: `hf:OWNER/NAME`, or `hf:OWNER/NAME@REVISION`."""

import re
from dataclasses import dataclass

from ecsuite.runtime.errors import ConfigError, shown

SCHEME = "hf:"
"""What an address begins with."""
KIND = "dataset"
"""The kind of all repositories: it is the one that has Croissant metadata, and `pull` need not be told which."""
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,94}[A-Za-z0-9_]|[A-Za-z0-9]"
_REVISION = r"[A-Za-z0-9_](?:[A-Za-z0-9_/-]|\.(?!\.)){0,253}"
_ADDRESS = re.compile(
    rf"{SCHEME}(?P<owner>{_PART})/(?P<name>(?:{_PART})(?<!\.git))(?:@(?P<revision>{_REVISION}))?", re.ASCII
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A repository on the hub, at a revision."""

    owner: str
    """The user or the organisation."""
    name: str
    """The name of the repository."""
    revision: str | None = None
    """A branch, a tag or a commit; None: the newest commit of the main branch."""

    @property
    def repository(self) -> str:
        """`OWNER/NAME`."""
        return f"{self.owner}/{self.name}"

    def __str__(self) -> str:
        """As users write it."""
        return f"{SCHEME}{self.repository}" + ("" if self.revision is None else f"@{self.revision}")


def read_address(text: str) -> Address:
    """The address that a text is.

    Raises:
        ConfigError: If it is none.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"expected an address on the Hugging Face hub, {SCHEME}OWNER/NAME or {SCHEME}OWNER/NAME@REVISION; got "
            f"{shown(text)}"
        )
    return Address(owner=found["owner"], name=found["name"], revision=found["revision"])
