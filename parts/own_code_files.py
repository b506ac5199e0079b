"""The files of a user's own part: its own, and those of the user's that it imports; they are read and never run.

An `import` line of the part's file is followed where it leads to a file in the part's folder, in the folder above its
package, or in the current folder. Modules of Python, of ecsuite and of installed packages are no files of the user's.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.machinery import PathFinder
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
    """The files of a part, by their module names; None: a folder of modules without a file of its own."""

    module: str
    """The name of the part's own module: `noisy`, or `package.noisy` if it has relative imports."""
    files: Mapping[str, UserFile | None]

    @property
    def own(self) -> UserFile:
        """The file with the part."""
        found = self.files[self.module]
        assert found is not None
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal: of the file if it is alone, else of the names and sums of all files."""
        sums = {name: hashlib.sha256(file.content).hexdigest() for name, file in self.files.items() if file}
        if len(sums) == 1:
            return sums[self.module]
        lines = "".join(f"{name} {sums[name]}\n" for name in sorted(sums))
        return hashlib.sha256(f"{self.module}\n{lines}".encode()).hexdigest()

    def imported(self) -> list[str]:
        """The paths of the other files."""
        return sorted({file.path for file in self.files.values() if file} - {self.own.path})

    def copies(self) -> dict[str, bytes]:
        """Contents by a relative path at which Python finds the module of that name."""
        places = {}
        for name, file in self.files.items():
            if file is not None:
                place = name.replace(".", "/")
                places[f"{place}/{PACKAGE}" if file.is_package else f"{place}.py"] = file.content
        return places


def part_files(path: str) -> PartFiles:
    """The files of the part in a file.

    Raises:
        PartError: If the file can't be read.
    """
    own = UserFile(path=path, content=_content(path))
    folder = Path(path).parent
    root, package = folder, list[str]()
    while (root / PACKAGE).is_file() and root.resolve().name:
        package.insert(0, root.resolve().name)
        root = root / ".." if root.name in ("", "..") else root.parent
    imports = _imports(own.content)
    is_inside = own.is_package or any(level for level, _, _ in imports)
    module = ".".join([*(package if is_inside else []), *([] if own.is_package else [Path(path).stem])])
    found: dict[str, UserFile | None] = {module: own}
    left = [module]
    while left:
        name = left.pop()
        for wanted in _wanted(name, found[name]):
            parent = wanted.rpartition(".")[0]
            if wanted in found or (parent and parent not in found):
                continue
            if (known := _find(wanted, (folder, root))) is not _MISSING:
                found[wanted] = known
                left.append(wanted)
    return PartFiles(module=module, files=found)


def is_installed(path: str | Path) -> bool:
    """Whether a file lies in a folder of installed packages."""
    return not INSTALLED.isdisjoint(Path(path).resolve().parts)


_MISSING = UserFile(path="", content=b"")


def _wanted(name: str, file: UserFile | None) -> Iterator[str]:
    """Names of modules that the import lines of a module may mean, packages first."""
    above = name.split(".")[:-1]
    yield from (".".join(above[: number + 1]) for number in range(len(above)))
    if file is None:
        return
    package = name.split(".") if file.is_package else above
    for level, source, names in _imports(file.content):
        if level > len(package) + 1:
            continue
        begin = package[: len(package) - level + 1] if level else []
        pieces = [*begin, *(source.split(".") if source else [])]
        yield from (".".join(pieces[: number + 1]) for number in range(len(pieces)))
        yield from (".".join([*pieces, each]) for each in names)


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


def _find(name: str, places: tuple[Path, ...]) -> UserFile | None:
    """The file of a module, None for a folder of modules, or `_MISSING` if there is none of the user's."""
    top, *inner = name.split(".")
    if top in sys.stdlib_module_names or top == "ecsuite":
        return _MISSING
    for place in places:
        if (found := _file(place, top, inner)) is not None:
            return found
    if _is_elsewhere(top):
        return _MISSING
    if (found := _file(Path(), top, inner)) is not None:
        return found
    is_folder = any(place.joinpath(top, *inner).is_dir() for place in (*places, Path()))
    return None if is_folder else _MISSING


def _file(place: Path, top: str, inner: list[str]) -> UserFile | None:
    """The file of a module below a folder."""
    *folders, last = top, *inner
    for file in (place.joinpath(*folders, last, PACKAGE), place.joinpath(*folders, f"{last}.py")):
        if file.is_file():
            shown = f"./{file}" if file.parent == Path() else str(file)
            return UserFile(path=shown, content=_content(shown))
    return None


def _is_elsewhere(top: str) -> bool:
    """Whether Python finds a module of this name outside of the current folder."""
    here = Path().resolve()
    spec = PathFinder.find_spec(top, [place for place in sys.path if place and Path(place).resolve() != here])
    return spec is not None and spec.origin is not None


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PartError(f"{path}: can't be read: {error.strerror}") from None
