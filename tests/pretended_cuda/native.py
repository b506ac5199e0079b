"""The compiled part: built by g++ on first use, and kept in the folder for temporary files.

Torch looks for its devices once, when it is imported: this module is imported, and `load` called, before torch.
"""

import ctypes
import hashlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("native.cpp")
TYPES = {"cpu": 0, "cuda": 1, "mps": 13}
"""Torch's numbers of types of devices."""


def missing() -> str | None:
    """Why there can be no pretended device here; None: there can be one."""
    if runpy.run_path(str(_torch() / "version.py"))["cuda"] is not None:
        return "torch's build with CUDA has the real device in place of the pretended one"
    if shutil.which("g++") is None:
        return "g++ is not installed, which compiles tests/pretended_cuda/native.cpp"
    return None


@cache
def load() -> ctypes.CDLL:
    """Register the devices with torch; none is there before `pretend` is called with its number."""
    assert "torch" not in sys.modules, "expected to be called before torch is imported"
    root = _torch()
    version = (root / "version.py").read_bytes()
    key = hashlib.sha256(SOURCE.read_bytes() + version + bytes(root)).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"ecsuite-pretended-{os.getuid()}-{key}.so"
    if not library.is_file():
        # Under a name of its own until it is complete, as several processes may build it at once.
        made = library.with_suffix(f".{os.getpid()}")
        flags = f"-std=c++20 -shared -fPIC -I{root}/include -L{root}/lib -lc10 -ltorch_cpu".split()
        subprocess.run(["g++", str(SOURCE), *flags, "-o", str(made)], check=True)
        made.replace(library)
    for needed in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(root / "lib" / needed), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def _torch() -> Path:
    found = importlib.util.find_spec("torch")
    assert found is not None and found.submodule_search_locations
    return Path(found.submodule_search_locations[0])
