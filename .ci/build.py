"""Builds wheel and source archive into a folder, and refuses what should not be in them: `python .ci/build.py dist`.

Equal files of the repository give equal bytes: all times are that of the last commit, or SOURCE_DATE_EPOCH.
"""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from setuptools import find_packages

ROOT = Path(__file__).parents[1]
BESIDE = {
    "LICENSE",
    "MANIFEST.in",
    "PKG-INFO",
    "README.md",
    "pyproject.toml",
    "setup.cfg",
    "ecsuite.egg-info",
}
"""Members of a source archive in addition to the package."""


def epoch() -> int:
    """Modification time of all files, in seconds."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(git, check=True, capture_output=True, text=True).stdout)


def copy(folder: Path) -> None:
    """Copy the files that git tracks or would track, without earlier builds."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def equalise(file: Path, seconds: int) -> None:
    """Write a source archive again, with sorted members, equal times and no owner."""
    data = io.BytesIO()
    with tarfile.open(file) as read, tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as made:
        for entry in sorted(read.getmembers(), key=lambda entry: entry.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = seconds, 0, 0, "", ""
            entry.mode, entry.pax_headers = 0o755 if entry.isdir() else 0o644, {}
            made.addfile(entry, read.extractfile(entry) if entry.isfile() else None)
    file.write_bytes(gzip.compress(data.getvalue(), mtime=seconds))


def faults(wheel: Path, source: Path) -> list[str]:
    """Superfluous members of the wheel and the source archive."""
    packages = find_packages(str(ROOT))
    allowed = {"ecsuite", *(f"ecsuite/{package.replace('.', '/')}" for package in packages)}
    parts = {package.partition(".")[0] for package in packages} | {"configs"}
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    found = []
    for name in names:
        inner = name.split("/")
        is_listed = str(PurePosixPath(name).parent) in allowed
        is_data = inner[1] in parts and not name.endswith(".py") and "tests" not in inner
        if not (inner[0].endswith(".dist-info") or is_listed or is_data):
            found.append(f"{wheel.name}: {name}")
    with tarfile.open(source) as archive:
        for name in archive.getnames():
            inner = name.split("/")[1:]
            is_module = len(inner) == 1 and inner[0].endswith((".py", "py.typed"))
            if inner and not (is_module or inner[0] in BESIDE | parts):
                found.append(f"{source.name}: {name}")
    return found


def main() -> None:
    """Builds, checks, and names what was built."""
    out, seconds = Path(sys.argv[1]).absolute(), epoch()
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        command = [sys.executable, "-m", "build", "--outdir", str(out), *sys.argv[2:], folder]
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"SOURCE_DATE_EPOCH": str(seconds)},
        )
    wheels, sources = list(out.glob("*.whl")), list(out.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        sys.exit(f"{out}: expected an empty folder")
    wheel, source = wheels[0], sources[0]
    equalise(source, seconds)
    if found := faults(wheel, source):
        sys.exit("should not be shipped:\n" + "\n".join(found))
    print(wheel, source, sep="\n")


if __name__ == "__main__":
    main()
