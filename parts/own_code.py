"""Parts from users' own files: `./noisy.py:NoisyChannel` or `package.module:Class`, wherever a name is accepted.

Code is imported only if its content was trusted before: `trust` is called only with names that the user gave on the
command line, in a YAML file that the user named, or in a call from Python.

A part is identified by the SHA-256 of its files, independent of their location: its own file, and the user's files
that it imports. An `import` line refers to files in the part's folder, in the folder above its package, and in the
current folder; modules of Python, of ecsuite and of installed packages are not user files. A run folder has copies of
the user's files, so that the run can be repeated when the originals have changed.
"""

import ast
import builtins
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ecsuite.files.atomic_files import write_atomically
from ecsuite.parts.config import RUN_CONFIG, checked
from ecsuite.runtime.errors import ConfigError, PartError

CODE = "code"
"""Section that a run adds to its config, with SHA-256 by source of foreign parts; also the folder of their copies."""
RUN_FILES = ("log.jsonl", "metadata.json", "corpus.jsonl", CODE)
"""Names of files and folders next to the config of a run."""
TRUSTED = "ECSUITE_TRUSTED_CODE"
"""Environment variable with the SHA-256 sums that the user trusts, for worker processes."""
PREFIX = "ecsuite_part_"
"""Prefix of packages that hold the modules of parts."""
PACKAGE = "__init__.py"
INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders of installed packages."""
STOPS = Path(__file__).parents[1] / "jobs" / "signals.py"
"""File that raises schedulers' stop requests, which are not errors of an interrupted part."""
NO_CODE = ("members",)
"""Keys of configs whose texts with a colon are not code: `runs/a:sender`."""
CLOSE = 0.8
"""Similarity, by `difflib`, above which a name counts as misspelt."""
OURS = __name__.partition(".")[0]
LIBRARIES = (OURS, "torch", "builtins", "abc", "typing")
"""Packages whose classes define the meaning of names."""

_trusted: set[str] = set(os.environ.get(TRUSTED, "").split())
_files: set[str] = set()
"""Paths of files whose errors are user errors."""
_loaded: dict[str, Any] = {}


class UntrustedError(ConfigError):
    """A part from a file that the user has not trusted."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Options of a part without options."""


def is_foreign(kind: str) -> bool:
    """Whether a name refers to a part outside the registries: `./file.py:Class` or `package.module:Class`."""
    source, _, name = kind.partition(",")[0].partition(":")
    return name.isidentifier() and (source.endswith(".py") or "." in source or "/" in source)


def source_of(kind: str) -> str:
    """Text before the colon: a path that ends in `.py`, or the name of a module."""
    return kind.partition(":")[0]


def foreign_kinds(tree: Any) -> set[str]:
    """Names of foreign parts in a config or a section of it, including options after commas."""
    if isinstance(tree, str):
        name, *options = tree.split(",")
        values = [
            value.strip() for key, _, value in (each.partition("=") for each in options) if key.isidentifier()
        ]
        return {each for each in (name, *values) if is_foreign(each)}
    if isinstance(tree, Mapping):
        tree = [value for key, value in tree.items() if key not in NO_CODE]
    inner = tree if isinstance(tree, list | tuple) else ()
    return set[str]().union(*map(foreign_kinds, inner))


def trust(kinds: Iterable[str]) -> None:
    """Allow the import of parts that the user named; unreadable files are reported when they are used."""
    for source in {source_of(each) for kind in kinds for each in (kind, *foreign_kinds(kind))}:
        with suppress(PartError):
            _trusted.add(checksum(source))
    if _trusted:
        os.environ[TRUSTED] = " ".join(sorted(_trusted))


# The files of a part


@dataclass(frozen=True, kw_only=True)
class PartFiles:
    """Files of a part."""

    module: str
    """Name of the part's own module: `noisy`, or `package.noisy` if it has relative imports."""
    files: Mapping[str, tuple[str, bytes]]
    """Path, as shown in messages, and content by module name; the part's own module comes first."""
    is_installed: bool = False
    """Whether the part is a module of an installed package, which Python finds by name."""

    @property
    def path(self) -> str:
        """Path of the part's own file."""
        return self.files[self.module][0]

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal: of a single file, or of the names and sums of all files."""
        sums = {name: sha256(content).hexdigest() for name, (_, content) in self.files.items()}
        if len(sums) == 1:
            return sums[self.module]
        lines = "".join(f"{name} {sums[name]}\n" for name in sorted(sums))
        return sha256(f"{self.module}\n{lines}".encode()).hexdigest()

    def imported(self) -> list[str]:
        """Paths of the other files."""
        return sorted({path for path, _ in self.files.values()} - {self.path})

    def copies(self) -> dict[str, bytes]:
        """Contents by the relative path at which Python finds the module."""
        return {
            name.replace(".", "/") + (f"/{PACKAGE}" if _is_package(path) else ".py"): content
            for name, (path, content) in self.files.items()
        }


def checksum(source: str) -> str:
    """Compute SHA-256 of the file of a part and of the user's files that it imports, in hexadecimal.

    Raises:
        PartError: If the file does not exist.
    """
    return files_of(source).digest


def files_of(source: str) -> PartFiles:
    """Read the files of a part without running them; of an installed package, only the module's own file.

    Raises:
        PartError: If the file does not exist.
    """
    if not source.endswith(".py"):
        origin = file_of(source)
        here, real = Path().resolve(), origin.resolve()
        if not INSTALLED.isdisjoint(real.parts):
            return PartFiles(module=source, files={source: _read(origin)}, is_installed=True)
        source = f"./{real.relative_to(here)}" if real.is_relative_to(here) else str(origin)
    own = _read(source)
    root = folder = Path(source).parent
    package: list[str] = []
    while (root / PACKAGE).is_file() and root.resolve().name:
        package.insert(0, root.resolve().name)
        root = root / ".." if root.name in ("", "..") else root.parent
    is_inside = _is_package(source) or any(level for level, _, _ in _imports(own[1]))
    pieces = [*(package if is_inside else []), *([] if _is_package(source) else [Path(source).stem])]
    files, left = {".".join(pieces): own}, [".".join(pieces)]
    while left:
        name = left.pop()
        for wanted in _imported_modules(name, *files[name]):
            if wanted not in files and (file := _find(wanted.split("."), (folder, root))) is not None:
                files[wanted] = _read(file)
                left.append(wanted)
    return PartFiles(module=".".join(pieces), files=files)


def file_of(source: str) -> Path:
    """Find the file of a path or a module, including the current folder, without importing it.

    Raises:
        PartError: If there is no such file or module.
    """
    if source.endswith(".py"):
        return Path(source)
    top, *inner = source.split(".")
    specs = (finder.find_spec(top, ["", *sys.path]) for finder in sys.meta_path)
    spec = next(filter(None, specs), None)
    for name in inner:
        spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations or [])
    if spec is None or not spec.origin:
        raise PartError(f"{source}: no such module, neither installed nor in this folder")
    return Path(spec.origin)


def _read(file: Path | str) -> tuple[str, bytes]:
    """Read a file; returns its path, as shown in messages, and its content."""
    path = f"./{file}" if isinstance(file, Path) and file.parent == Path() else str(file)
    try:
        return path, Path(path).read_bytes()
    except OSError as error:
        raise PartError(f"{path}: can't be read: {error.strerror}") from None


def _is_package(path: str) -> bool:
    return Path(path).name == PACKAGE


def _imported_modules(name: str, path: str, content: bytes) -> Iterator[str]:
    """Names of modules that the import lines of a module may refer to, and of the packages above them."""
    pieces = name.split(".")
    package = pieces if _is_package(path) else pieces[:-1]
    yield from accumulate(pieces[:-1], "{}.{}".format)
    for level, source, names in _imports(content):
        if level <= len(package) + 1:
            inner = [
                *(package[: len(package) - level + 1] if level else []),
                *filter(None, source.split(".")),
            ]
            yield from accumulate(inner, "{}.{}".format)
            yield from (".".join([*inner, each]) for each in names)


@cache
def _imports(content: bytes) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """Import lines of a file, at any level: level, module and names; empty if it is not Python."""
    found: list[tuple[int, str, tuple[str, ...]]] = []
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # raised at import
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Import):
                found += [(0, alias.name, ()) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append((node.level, node.module or "", tuple(alias.name for alias in node.names)))
    return tuple(found)


def _find(pieces: Sequence[str], beside: Sequence[Path]) -> Path | None:
    """Find the file of a module; None if it is not the user's, or a folder of modules."""
    top, here = pieces[0], Path()
    if top in sys.stdlib_module_names or top == OURS:
        return None

    def file(place: Path, *inner: str) -> Path | None:
        below = place.joinpath(*inner)
        return next((each for each in (below / PACKAGE, below.with_suffix(".py")) if each.is_file()), None)

    places = [place for place in beside if file(place, top)]
    elsewhere = [place for place in sys.path if place and Path(place).resolve() != here.resolve()]
    if not places and ((spec := PathFinder.find_spec(top, elsewhere)) is None or spec.origin is None):
        places = [here] if file(here, top) else [place for place in (*beside, here) if (place / top).is_dir()]
    return next((found for place in places if (found := file(place, *pieces))), None)


# Loading a part


def load(kind: str, word: str, base: type | None, needs: Iterable[str], options: type | None) -> Any:
    """Import the class or function of a foreign part.

    Args:
        kind: Name of the part, such as `./noisy.py:NoisyChannel`.
        word: Noun of the part, for error messages: `channel`.
        base: Required base class; None: any class or function.
        needs: Required attributes.
        options: Required base class of its `Options`, also the default for a part without them; None: any.

    Raises:
        UntrustedError: If the part is not trusted.
        PartError: If the file or the name is missing, can't be imported, is not such a part, or has a name that is
            similar to a name of the base class.
    """
    made = named(kind, word)
    name, is_class = kind.partition(":")[2], isinstance(made, type)
    expected = f"for {'an' if word[0] in 'aeiou' else 'a'} {word}, expected"
    if base is not None and not (is_class and issubclass(made, base)):
        a_class = "a class" if base is object else f"a class that derives from {_name(base)}"
        raise PartError(f"{place_of(kind)}: {name}: {expected} {a_class}; see `ecsuite new {word}`")
    # Every class inherits `__call__` from its metaclass.
    missing = [each for each in needs if not any(each in vars(parent) for parent in made.__mro__)]
    missing += sorted(getattr(made, "__abstractmethods__", ()))
    if missing:
        raise PartError(
            f"{place_of(kind)}: {name}: {expected} {', '.join(missing)}; see `ecsuite new {word}`"
        )
    if is_class and not hasattr(made, "Options"):
        made.Options = options or NoOptions
    if options is not None and not issubclass(made.Options, options):
        raise PartError(f"{place_of(kind)}: {name}: expected Options that derive from {_name(options)}")
    if is_class:
        own = (parent for parent in made.__mro__ if not _is_of(parent, LIBRARIES))
        require_spelling(kind, word, made, [name for parent in own for name in vars(parent)])
    return made


def named(kind: str, word: str = "part") -> Any:
    """Import the class or function of a foreign part without further checks. See `load`."""
    source, _, name = kind.partition(":")
    files = files_of(source)
    if files.digest not in _trusted:
        raise UntrustedError(
            f"{kind}: this {word} is code from a file, which is not run unasked: name it on the command line, or "
            "add --trust-code"
        )
    module = _module(source, files)
    found = getattr(module, name, None)
    if found is None:
        own = [
            key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
        ]
        raise PartError(f"{source}: has no {name}; it has {', '.join(own) or 'no class or function'}")
    if not callable(found):
        raise PartError(f"{kind}: expected a class or a function, got {type(found).__name__}")
    _loaded[found.__qualname__] = found
    return found


def _module(source: str, files: PartFiles) -> ModuleType:
    """Module of a part: an installed module, or a user's module in a package for files of this content."""
    name = files.module
    if not files.is_installed:
        package = f"{PREFIX}{sha256(f'{files.path}:{files.digest}'.encode()).hexdigest()[:16]}"
        name = f"{package}.{files.module}"
        if package not in sys.modules:
            sys.meta_path.append(_Package(package, files))
    _files.update(path for path, _ in files.files.values())
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        raise error_in_part(error) or PartError(f"{source}: {_exception_line(error)}") from None


class _Package(MetaPathFinder, Loader):
    """Importer of the files of a part as modules of a package, so that parts may have modules of equal names.

    It runs the content that was read when the part was requested, and no cached bytecode.
    """

    def __init__(self, name: str, files: PartFiles) -> None:
        self.name, self.tops = name, {module.partition(".")[0] for module in files.files}
        self.files = {f"{name}.{module}": file for module, file in files.files.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a file of the part, or of a folder above one; None for other modules."""
        if fullname in self.files:
            file, _ = self.files[fullname]
            spec = ModuleSpec(fullname, self, origin=file, is_package=_is_package(file))
            spec.has_location = True
            return spec
        is_folder = any(name.startswith(f"{fullname}.") for name in self.files)
        return ModuleSpec(fullname, None, is_package=True) if is_folder else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a file of the part."""
        file, content = self.files[module.__name__]
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self.import_module}
        exec(compile(content, file, "exec", dont_inherit=True), vars(module))

    def import_module(
        self, name: str, names: Any = None, local: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        """`__import__` for the part's files, which finds modules of the part in this package."""
        top = name.partition(".")[0]
        if level or top not in self.tops:
            return __import__(name, names, local, fromlist, level)
        found = __import__(f"{self.name}.{name}", names, local, fromlist)
        return found if fromlist else sys.modules[f"{self.name}.{top}"]


def require_spelling(kind: str, word: str, made: type, names: Iterable[str]) -> None:
    """Reject public names that are similar to names of the base classes: a misspelt method would never be called.

    Args:
        kind: Name of the part, such as `./mine.py:Mine`.
        word: Noun of the part: `task`.
        made: Class of the part.
        names: Names in the bodies of the user's classes, or of attributes of an instance.

    Raises:
        PartError: If there is such a name, as `chioces`.
    """
    ours = [vars(parent) for parent in made.__mro__ if _is_of(parent, (OURS,))]
    functions = [each for body in ours for each in body.values() if isinstance(each, FunctionType)]
    known = {name for parent in made.__mro__ if _is_of(parent, LIBRARIES) for name in vars(parent)}
    known.update(name for each in functions for name in each.__code__.co_names)  # attributes that they set
    hooks = {name for body in ours for name in (*body, *body.get("__annotations__", ()))}
    hooks = {name for name in hooks if not name.startswith("_")} - {"Options"}
    for name in names:
        if name.startswith("_") or name == "Options" or name in known | hooks:
            continue
        if close := get_close_matches(name, sorted(hooks), 1, CLOSE):
            raise PartError(
                f"{place_of(kind, name)}: {made.__name__}: {word}s have no {name}; did you mean {close[0]}? "
                f"For a name of your own, use _{name}"
            )


def _is_of(parent: type, packages: Sequence[str]) -> bool:
    return parent.__module__.partition(".")[0] in packages


def _name(base: type) -> str:
    """Name by which users import a class."""
    return f"{base.__module__}.{base.__qualname__}".replace("torch.nn.modules.module", "torch.nn")


# Errors of a part


def error_in_part(error: BaseException) -> PartError | None:
    """Error in user code as one line with file and line; None for other errors."""
    if isinstance(error, SyntaxError) and error.filename in _files:
        return PartError(f"{error.filename}:{error.lineno}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SystemExit) and frames and Path(frames[-1].filename) == STOPS:
        return None  # a stop request arrived while the part ran
    places = [(frame.filename, frame.lineno or 0) for frame in frames if frame.filename in _files]
    if not places and isinstance(error, TypeError):
        # A part was called with arguments that it does not take: `Mine.forward() takes 2 …`.
        name, called, _ = str(error).partition("() ")
        owner, _, method = name.rpartition(".")
        found = _loaded.get(name) or getattr(_loaded.get(owner), method, None)
        place = _place(found) if called and found is not None else None
        places = [place] if place else []
    if not places or isinstance(error, ConfigError):
        return None
    file, line = places[-1]
    return PartError(f"{file}:{line}: {_exception_line(error)}")


def place_of(kind: str, *methods: str) -> str:
    """File and line of a foreign part: of the first of these methods in its file, else of its beginning."""
    found = named(kind)
    for each in (*(getattr(found, method, None) for method in methods), found):
        if (place := _place(each)) and place[0] in _files:
            return f"{place[0]}:{place[1]}"
    return kind


def _place(found: Any) -> tuple[str, int] | None:
    """File and line of a function, method or class."""
    if code := getattr(inspect.unwrap(found), "__code__", None):
        return code.co_filename, code.co_firstlineno
    with suppress(OSError, TypeError):
        return inspect.getsourcefile(found) or "", inspect.getsourcelines(found)[1]
    return None


def _exception_line(error: BaseException) -> str:
    """Format an exception in one line, with module names as the user knows them."""
    said = re.sub(rf"{PREFIX}[0-9a-f]{{16}}\.", "", " ".join(str(error).split()))
    return f"{type(error).__name__}{': ' if said else ''}{said:.300}"


# Copies in run folders


def keep_copies(folder: Path, code: Mapping[str, str]) -> None:
    """Copy the files of foreign parts, and their imports, into a run folder.

    Args:
        folder: The run folder.
        code: SHA-256 of each part's files, by its path or module.

    Raises:
        PartError: If a file has changed since it was read.
    """
    for source, digest in code.items():
        files = files_of(source)
        if files.digest != digest:
            raise PartError(f"{source}: changed while the run began: start it again")
        for place, content in files.copies().items():
            copy = _copies(folder, digest) / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(copy, content)


def with_sources(
    tree: Mapping[str, Any], folder: Path, note: Callable[[str], None], *, trust_code: bool
) -> dict[str, Any]:
    """Replace the names of foreign parts in the config of a run by files with the same content.

    Args:
        tree: Config, with checksums in its section `code`.
        folder: Run folder with copies.
        note: Called with a line about each file that is used.
        trust_code: Whether to import parts that the user has not named.

    Raises:
        ConfigError: If neither the original nor the copy of a file has the content of the run.
        UntrustedError: If a part may not be imported.
    """
    code = checked(tree.get(CODE, {}), dict[str, str], CODE)
    found, files, unknown = dict[str, str](), dict[str, str](), list[str]()
    for source in sorted({source_of(kind) for kind in foreign_kinds(tree)}):
        file = _with_content(source, code[source], folder) if source in code else source
        read = files_of(file)
        found[source], files[source] = file, ", ".join([file, *read.imported()])
        if read.digest not in _trusted:
            unknown.append(source)
    if unknown and not trust_code:
        raise UntrustedError(
            f"this config would run the code in {', '.join(files[source] for source in unknown)}: read it, and add "
            "--trust-code if you trust it"
        )
    trust(f"{found[source]}:part" for source in unknown)
    for source in sorted(code.keys() & found.keys()):
        is_same = found[source] == source
        why = "unchanged since the run" if is_same else f"the copy, as {source} or its imports have changed"
        note(f"code: {files[source]}, {why}")
    return renamed(tree, found)


def lies_in_run_folder(file: str) -> bool:
    """Whether a config lies in a run folder, possibly written by another person."""
    path = Path(file)
    return path.name == RUN_CONFIG and any((path.parent / name).exists() for name in RUN_FILES)


def renamed(tree: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    """Config without checksums, with other sources, or checksums, in the names of its foreign parts."""

    def inner(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: inner(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [inner(each) for each in value]
        if isinstance(value, str) and is_foreign(value):
            source, colon, rest = value.partition(":")
            return sources.get(source, source) + colon + rest
        return value

    return {key: inner(value) for key, value in tree.items() if key != CODE}


def _with_content(source: str, digest: str, folder: Path) -> str:
    """Path of the original, or of its copy in the run folder, with this content."""
    name = source if source.endswith(".py") else f"{source.rpartition('.')[2]}.py"
    copies = sorted(_copies(folder, digest).rglob(Path(name).name))
    for file in (source, *map(str, copies)):
        with suppress(PartError):
            if checksum(file) == digest:
                return file
    raise ConfigError(
        f"{folder}: the code in {source} is missing: expected a file with SHA-256 {digest}, alone or with the files "
        f"that it imports, at {source} or in {_copies(folder, digest)}"
    )


def _copies(folder: Path, digest: str) -> Path:
    """Folder of the copies of a part's files; files of different parts may have equal names."""
    return folder / CODE / digest[:8]
