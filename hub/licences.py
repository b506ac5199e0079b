"""Licences by the identifiers of the hub, with the addresses of their texts."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from ecsuite.runtime.errors import ConfigError, look_up

SPDX = {
    name.lower(): f"https://spdx.org/licenses/{name}.html"
    for name in (
        "CC0-1.0 CC-BY-4.0 CC-BY-SA-4.0 CC-BY-NC-4.0 CC-BY-NC-SA-4.0 CC-BY-ND-4.0 CC-BY-NC-ND-4.0 MIT Apache-2.0 "
        "BSD-3-Clause GPL-3.0 LGPL-3.0 AGPL-3.0 MPL-2.0 ODbL PDDL ODC-By Unlicense"
    ).split()
}
"""Address of the text by identifier; both are those of SPDX in lower case, but for the versions that the hub leaves
out (odbl, pddl, odc-by)."""
SPDX |= {
    "odbl": "https://spdx.org/licenses/ODbL-1.0.html",
    "pddl": "https://spdx.org/licenses/PDDL-1.0.html",
    "odc-by": "https://spdx.org/licenses/ODC-By-1.0.html",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Licence:
    """The terms under which others may use what is pushed."""

    name: str
    """Identifier on the hub; `other` of one that is given by its address."""
    url: str
    """Address of its text."""


def read_licence(text: str | None) -> Licence:
    """The licence that a text names: an identifier, or the https address of another one.

    Raises:
        ConfigError: If there is none, or it is neither.
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
