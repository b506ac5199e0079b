"""The files of a user's own part: its own, and those of the user's that it imports; they are read and never run.

An `import` line of the part's file is followed where it leads to a file in the part's folder, in the folder above its
package, or in the current folder. Modules of Python, of ecsuite and of installed packages are no files of the user's.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path

from ecsuite.runtime.errors import PartError

PACKAGE = "__init__.py"
INSTALLED = {"site-packages", "dist-packages"}
"""Names of the folders of installed packages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UserFile:
    """A Python file of the user's."""

    path: str
    """As messages show it."""
    content: bytes

    @property
    def is_package(self) -> bool:
        """Whether it is the file of a package."""
        return Path(self.path).name == PACKAGE


@dataclass(frozen=True, kw_only=True)
class PartFiles:
    """The files of a part, by their module names; folders of modules without a file of their own have none."""

    module: str
    """The name of the part's own module: `noisy`, or `package.noisy` if it has relative imports."""
    files: Mapping[str, UserFile]
    is_installed: bool = False
    """Whether it is a module of an installed package, which Python finds by its name."""

    @property
    def own(self) -> UserFile:
        """The file of the part itself."""
        return self.files[self.module]

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal: of the file if it is alone, else of the names and sums of all files."""
        sums = {name: hashlib.sha256(file.content).hexdigest() for name, file in self.files.items()}
        if len(sums) == 1:
            return sums[self.module]
        lines = "".join(f"{name} {sums[name]}\n" for name in sorted(sums))
        return hashlib.sha256(f"{self.module}\n{lines}".encode()).hexdigest()

    def imported(self) -> list[str]:
        """The paths of the other files."""
        return sorted({file.path for file in self.files.values()} - {self.own.path})

    def copies(self) -> dict[str, bytes]:
        """Contents by a relative path at which Python finds the module of that name."""
        places = {}
        for name, file in self.files.items():
            place = name.replace(".", "/")
            places[f"{place}/{PACKAGE}" if file.is_package else f"{place}.py"] = file.content
        return places


def module_files(module: str, file: Path) -> PartFiles:
    """The files of the part in a module; of a module of an installed package its own alone."""
    here, real = Path().resolve(), file.resolve()
    if INSTALLED.isdisjoint(real.parts):
        return part_files(f"./{real.relative_to(here)}" if real.is_relative_to(here) else str(file))
    return PartFiles(module=module, files={module: _read(str(file))}, is_installed=True)


def part_files(path: str) -> PartFiles:
    """The files of the part in a file.

    Raises:
        PartError: If the file can't be read.
    """
    own = _read(path)
    folder = Path(path).parent
    root, package = folder, list[str]()
    while (root / PACKAGE).is_file() and root.resolve().name:
        package.insert(0, root.resolve().name)
        root = root / ".." if root.name in ("", "..") else root.parent
    is_inside = own.is_package or any(level for level, _, _ in _imports(own.content))
    module = ".".join([*(package if is_inside else []), *([] if own.is_package else [Path(path).stem])])
    files, left = {module: own}, [module]
    while left:
        name = left.pop()
        for wanted in _wanted(name, files[name]):
            if wanted not in files and (file := _find(wanted, (folder, root))) is not None:
                files[wanted] = file
                left.append(wanted)
    return PartFiles(module=module, files=files)


def _wanted(name: str, file: UserFile) -> Iterator[str]:
    """Names of modules that the import lines of a module may mean, and of the packages above them."""
    pieces = name.split(".")
    package = pieces if file.is_package else pieces[:-1]
    yield from _with_packages(pieces[:-1])
    for level, source, names in _imports(file.content):
        if level <= len(package) + 1:
            begin = package[: len(package) - level + 1] if level else []
            inner = [*begin, *(source.split(".") if source else [])]
            yield from _with_packages(inner)
            yield from (".".join([*inner, name]) for name in names)


def _with_packages(pieces: Sequence[str]) -> Iterator[str]:
    """`a`, `a.b` and `a.b.c` of a, b and c."""
    return accumulate(pieces, "{}.{}".format)


@cache
def _imports(content: bytes) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """The import lines of a file, wherever they stand: level, module and names; none if it is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # which is told when it is imported
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(0, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", tuple(alias.name for alias in node.names)))
    return tuple(found)


def _find(name: str, beside: Sequence[Path]) -> UserFile | None:
    """The file of a module; None if it is none of the user's, or a folder of modules."""
    pieces, here = name.split("."), Path()
    top = pieces[0]
    if top in sys.stdlib_module_names or top == "ecsuite":
        return None
    places = [place for place in beside if _file(place, [top])]
    if not places and not _is_elsewhere(top):
        places = (
            [here] if _file(here, [top]) else [place for place in (*beside, here) if (place / top).is_dir()]
        )
    files = (file for place in places if (file := _file(place, pieces)) is not None)
    return next((_read(f"./{file}" if file.parent == here else str(file)) for file in files), None)


def _file(place: Path, pieces: Sequence[str]) -> Path | None:
    """The file of a module below a folder."""
    below = place.joinpath(*pieces)
    return next((file for file in (below / PACKAGE, below.with_suffix(".py")) if file.is_file()), None)


def _is_elsewhere(top: str) -> bool:
    """Whether Python finds a module of this name outside of the current folder."""
    here = Path().resolve()
    spec = PathFinder.find_spec(top, [place for place in sys.path if place and Path(place).resolve() != here])
    return spec is not None and spec.origin is not None


def _read(path: str) -> UserFile:
    try:
        return UserFile(path=path, content=Path(path).read_bytes())
    except OSError as error:
        raise PartError(f"{path}: can't be read: {error.strerror}") from None
