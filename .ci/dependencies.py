"""When each direct dependency had its newest release, as the package index says: `python .ci/dependencies.py [DAYS]`.

Those without one for DAYS (default 365) are marked. `PIP_INDEX_URL` names another index.
"""

import json
import os
import sys
import tomllib
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")


def direct() -> dict[str, list[str]]:
    """The direct dependencies by name, each with where it is named: the package or an extra."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    found: dict[str, list[str]] = {}
    for group, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for line in lines:
            name = Requirement(line).name
            if name != project["name"]:
                found.setdefault(name, []).append(group or "always")
    return dict(sorted(found.items()))


def newest(name: str) -> tuple[str, datetime]:
    """The version that was uploaded last, and when (PEP 691 and 700)."""
    request = urllib.request.Request(
        f"{INDEX}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    last = max((file for file in files if "upload-time" in file), key=lambda file: file["upload-time"])
    return last["filename"], datetime.fromisoformat(last["upload-time"].replace("Z", "+00:00"))


def main() -> None:
    """Print a table."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 365
    for name, groups in direct().items():
        try:
            file, time = newest(name)
        except (urllib.error.URLError, ValueError, KeyError) as error:
            print(f"{name:24} the index does not say: {error}")
            continue
        days = (datetime.now(UTC) - time).days
        print(
            f"{name:24} {time:%Y-%m-%d} {days:5} days{' OLD' if days > most else '    '} {file} ({', '.join(groups)})"
        )


if __name__ == "__main__":
    main()
