"""Repositories on the Hugging Face hub: address (`hf:OWNER/NAME[@REVISION]`), licence, and client.

The login is the library's own (`hf auth login`, or HF_TOKEN): this package never reads, stores or shows a token.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ecsuite.downloads.hugging_face import LOGIN
from ecsuite.runtime.errors import ConfigError, look_up, missing_extra, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME = "hf:"
"""Scheme of an address."""
KIND = "dataset"
"""Kind of all repositories: only data sets have Croissant metadata, and `pull` needs no kind."""
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
        """The address as users write it."""
        return f"{SCHEME}{self.repository}" + ("" if self.revision is None else f"@{self.revision}")


def read_address(text: str) -> Address:
    """Parse an address.

    Raises:
        ConfigError: If the text is no address.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"expected an address on the Hugging Face hub, {SCHEME}OWNER/NAME or {SCHEME}OWNER/NAME@REVISION; got "
            f"{shown(text)}"
        )
    return Address(owner=found["owner"], name=found["name"], revision=found["revision"])


SPDX = {
    name.lower(): f"https://spdx.org/licenses/{name}.html"
    for name in (
        "CC0-1.0 CC-BY-4.0 CC-BY-SA-4.0 CC-BY-NC-4.0 CC-BY-NC-SA-4.0 CC-BY-ND-4.0 CC-BY-NC-ND-4.0 MIT Apache-2.0 "
        "BSD-3-Clause GPL-3.0 LGPL-3.0 AGPL-3.0 MPL-2.0 ODbL PDDL ODC-By Unlicense"
    ).split()
}
"""Address of the text by identifier; both follow SPDX in lower case, except for versions that the hub leaves out
(odbl, pddl, odc-by)."""
SPDX |= {
    "odbl": "https://spdx.org/licenses/ODbL-1.0.html",
    "pddl": "https://spdx.org/licenses/PDDL-1.0.html",
    "odc-by": "https://spdx.org/licenses/ODC-By-1.0.html",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Licence:
    """Terms of use of a pushed repository."""

    name: str
    """Identifier on the hub; `other` if only its address is given."""
    url: str
    """Address of its text."""


def read_licence(text: str | None) -> Licence:
    """Parse a licence: an identifier, or the https address of another one.

    Raises:
        ConfigError: If it is missing or neither.
    """
    if not text:
        raise ConfigError(
            "a licence is needed, by which others may use it: --license cc-by-4.0, cc0-1.0, mit, …, or the https "
            "address of its text"
        )
    if text.startswith("https://") and urlsplit(text).hostname and not any(c.isspace() for c in text):
        return Licence(name="other", url=text)
    look_up("licence", text.lower(), SPDX)
    return Licence(name=text.lower(), url=SPDX[text.lower()])


def hub() -> "HfApi":
    """The client of the hub that HF_ENDPOINT names, huggingface.co without it.

    Raises:
        ConfigError: If huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise missing_extra("the Hugging Face hub needs huggingface_hub", "hub") from None
    return HfApi(library_name="ecsuite")


def require_login() -> None:
    """Check that there is a login, before anything is sent.

    Raises:
        ConfigError: If there is no login.
    """
    from huggingface_hub import get_token

    if get_token() is None:
        raise ConfigError(f"no login on the Hugging Face hub: {LOGIN}")
