"""Parts from users' own files: `./noisy.py:NoisyChannel` or `package.module:Class`, wherever a name may stand.

Nothing is imported unless its content was trusted before: `trust` is called with names that the user gave on the
command line, in a YAML file that the user named, or in a call from Python, and with no others. A part is known by the
SHA-256 of its files, so the same content is the same part wherever it lies.
"""

import ast
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ecsuite.parts.own_code_files import PartFiles, UserFile, module_files, part_files
from ecsuite.runtime.errors import ConfigError, PartError

CODE = "code"
"""The section that a run adds to its config, SHA-256 by source of foreign parts; also the folder of their copies."""

TRUSTED = "ECSUITE_TRUSTED_CODE"
"""The environment variable by which worker processes know what the user trusts: SHA-256 sums."""

PREFIX = "ecsuite_part_"
"""How the names of packages begin that hold the modules of parts."""

STOPS = Path(__file__).parents[1] / "jobs" / "signals.py"
"""Where the requests of schedulers to stop are raised, which are not errors of a part that they interrupt."""

_trusted: set[str] = set(os.environ.get(TRUSTED, "").split())
_files: set[str] = set()
"""The paths of files whose errors are the user's."""
_loaded: dict[str, Any] = {}


class UntrustedError(ConfigError):
    """A part from a file that nobody asked to run."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a part that declares none."""


def is_foreign(kind: str) -> bool:
    """Whether a name is that of a part outside the registries: `./file.py:Class` or `package.module:Class`."""
    source, _, name = kind.partition(",")[0].partition(":")
    return name.isidentifier() and (source.endswith(".py") or "." in source or "/" in source)


def source_of(kind: str) -> str:
    """What stands before the colon: a path that ends in `.py`, or the name of a module."""
    return kind.partition(":")[0]


NO_CODE = ("members",)
"""Keys of configs whose texts with a colon are no code: `runs/a:sender`."""


def foreign_kinds(tree: Any) -> set[str]:
    """The names of foreign parts in a config or a section of it, and among options after commas."""
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
    """Allow the import of these parts, which the user named; a file that can't be read is refused when it is used."""
    for source in {source_of(each) for kind in kinds for each in (kind, *foreign_kinds(kind))}:
        with suppress(PartError):
            _trusted.add(checksum(source))
    if _trusted:
        os.environ[TRUSTED] = " ".join(sorted(_trusted))


def is_trusted(source: str) -> bool:
    """Whether the files of a part, as they are now, may be imported."""
    return checksum(source) in _trusted


def checksum(source: str) -> str:
    """SHA-256 of the file of a part and of the user's files that it imports, in hexadecimal.

    Raises:
        PartError: If there is no such file.
    """
    return files_of(source).digest


def files_of(source: str) -> PartFiles:
    """The files of a part; of a module of an installed package its own alone.

    Raises:
        PartError: If there is no such file.
    """
    is_path = source.endswith(".py")
    return part_files(source) if is_path else module_files(source, file_of(source))


def file_of(source: str) -> Path:
    """The file of a path or of a module, which is found, also in the current folder, but not imported.

    Raises:
        PartError: If there is none.
    """
    if source.endswith(".py"):
        return Path(source)
    top, *inner = source.split(".")
    specs = (finder.find_spec(top, ["", *sys.path]) for finder in sys.meta_path)
    spec = next(filter(None, specs), None)
    for name in inner:
        spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations or [])
    if spec is None or not spec.origin:
        raise PartError(f"{source}: there is no such module, neither installed nor in this folder")
    return Path(spec.origin)


def load(kind: str, word: str, base: type | None, needs: Iterable[str], options: type | None) -> Any:
    """The class or function of a foreign part, imported now.

    Args:
        kind: Its name, such as `./noisy.py:NoisyChannel`.
        word: What the part is, for messages: `channel`.
        base: The class from which it must derive; None: any class or function.
        needs: Attributes that it must have.
        options: The class from which its `Options` must derive, or which it gets if it has none; None: any.

    Raises:
        UntrustedError: If nobody asked for it.
        PartError: If the file or the name is not there, can't be imported, or is not such a part.
    """
    made = named(kind, word)
    name, is_class = kind.partition(":")[2], isinstance(made, type)
    if base is not None and not (is_class and issubclass(made, base)):
        expected = "a class" if base is object else f"a class that derives from {_name(base)}"
        raise PartError(f"{place_of(kind)}: {name}: {_for(word)} {expected}; see `ecsuite new {word}`")
    # Every class has `__call__` of its metaclass.
    missing = [each for each in needs if not any(each in vars(parent) for parent in made.__mro__)]
    missing += sorted(getattr(made, "__abstractmethods__", ()))
    if missing:
        raise PartError(
            f"{place_of(kind)}: {name}: {_for(word)} {', '.join(missing)}; see `ecsuite new {word}`"
        )
    if is_class and not hasattr(made, "Options"):
        made.Options = options or NoOptions
    if options is not None and not issubclass(made.Options, options):
        raise PartError(f"{place_of(kind)}: {name}: expected Options that derive from {_name(options)}")
    return made


def named(kind: str, word: str = "part") -> Any:
    """What a foreign part names, as it is in its file. See `load`."""
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


def error_in_part(error: BaseException) -> PartError | None:
    """The error of a user's own part as one line with file and line; None if it came from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename in _files:
        return PartError(f"{error.filename}:{error.lineno}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SystemExit) and frames and Path(frames[-1].filename) == STOPS:
        return None  # a request to stop came while the part ran
    places = [(frame.filename, frame.lineno or 0) for frame in frames if frame.filename in _files]
    if not places and isinstance(error, TypeError):
        places = _called(str(error))
    if not places or isinstance(error, ConfigError):
        return None
    file, line = places[-1]
    return PartError(f"{file}:{line}: {_said(error)}")


def place_of(kind: str, *methods: str) -> str:
    """File and line of a foreign part: of the first of these methods that its file has, else of its beginning."""
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


def _for(word: str) -> str:
    """The beginning of what a part must be."""
    return f"for {'an' if word[0] in 'aeiou' else 'a'} {word}, expected"


def _name(base: type) -> str:
    """The name by which users import a class."""
    return f"{base.__module__}.{base.__qualname__}".replace("torch.nn.modules.module", "torch.nn")


def _called(message: str) -> list[tuple[str, int]]:
    """File and line of the part that was called with arguments that it does not take: `Mine.forward() takes 2 …`."""
    name, called, _ = message.partition("() ")
    owner, _, method = name.rpartition(".")
    found = _loaded.get(name) or getattr(_loaded.get(owner), method, None)
    place = _place(found) if called and found is not None else None
    return [place] if place else []


def _module(source: str, files: PartFiles) -> ModuleType:
    """The module of a part: an installed one as Python knows it, a user's in a package for files of this content."""
    name = files.module
    if not files.is_installed:
        package = f"{PREFIX}{sha256(f'{files.own.path}:{files.digest}'.encode()).hexdigest()[:16]}"
        name = f"{package}.{files.module}"
        if package not in sys.modules:
            sys.meta_path.append(_Package(package, files.files))
    _files.update(file.path for file in files.files.values())
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        raise error_in_part(error) or PartError(f"{source}: {_said(error)}") from None


class _Package(MetaPathFinder, Loader):
    """The files of a part as modules of a package, so that two parts may have modules of the same name.

    What is run is the content that was read when the part was asked for, and no bytecode that lies beside a file.
    """

    def __init__(self, name: str, files: Mapping[str, UserFile]) -> None:
        self.name, self.tops = name, {module.partition(".")[0] for module in files}
        self.files = {f"{name}.{module}": file for module, file in files.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How a file of the part is loaded, or a folder above one; None for all others."""
        if file := self.files.get(fullname):
            spec = ModuleSpec(fullname, self, origin=file.path, is_package=file.is_package)
            spec.has_location = True
            return spec
        is_folder = any(name.startswith(f"{fullname}.") for name in self.files)
        return ModuleSpec(fullname, None, is_package=True) if is_folder else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a file; its imports of files of the part are of this package."""
        file = self.files[module.__name__]
        tree = ast.parse(file.content, file.path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                node.module = self.inner(str(node.module))
            elif isinstance(node, ast.Import):
                node.names = [alias for imported in node.names for alias in self.aliases(imported)]
        code = compile(ast.fix_missing_locations(tree), file.path, "exec", dont_inherit=True)
        exec(code, vars(module))

    def inner(self, name: str) -> str:
        """The name that a module has here: in this package, if it is of the part."""
        return f"{self.name}.{name}" if name.partition(".")[0] in self.tops else name

    def aliases(self, imported: ast.alias) -> list[ast.alias]:
        """What to import for `import a.b as c`, or for `import a.b`, which gives the name `a`."""
        name, top = self.inner(imported.name), imported.name.partition(".")[0]
        if imported.asname or name == imported.name:
            return [ast.alias(name, imported.asname)]
        return [ast.alias(name, top), ast.alias(self.inner(top), top)]


def _said(error: BaseException) -> str:
    """An exception in a line, with the names of modules as the user knows them."""
    said = re.sub(rf"{PREFIX}[0-9a-f]{{16}}\.", "", " ".join(str(error).split()))
    return f"{type(error).__name__}{': ' if said else ''}{said:.300}"
