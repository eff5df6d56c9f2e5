"""Which names in a pickle mean that it was made to run something.

Safety does not rest on this list: nothing a pickle names is ever imported or called (see
:mod:`nht_theory.checkpoints.pickle_machine`). It decides what is *reported* as unsafe, so that a
user learns of a file that would have attacked another reader.
"""

from __future__ import annotations

from nht_theory.checkpoints.pickle_values import Symbol
from nht_theory.errors import UnsafeFileError

_MODULE_NAMES = """
os posix nt sys subprocess importlib runpy pickle _pickle marshal code codeop ctypes _ctypes shutil
socket _socket pty pdb bdb timeit trace profile cProfile doctest webbrowser urllib http ftplib
smtplib telnetlib asyncio threading _thread signal multiprocessing concurrent pip setuptools
distutils venv ensurepip zipimport pkgutil pydoc io _io tempfile glob popen2 dill joblib cffi
operator _operator gc inspect sqlite3 types _winapi _osx_support _aix_support idlelib lib2to3
numpy.testing numpy.f2py numpy.distutils torch.hub torch.jit torch.utils.cpp_extension
torch.utils.bottleneck torch.utils.collect_env torch._inductor torch._dynamo
cloudpickle.cloudpickle cloudpickle.cloudpickle_fast
"""
_BUILTIN_NAMES = """
eval exec execfile compile open __import__ getattr setattr delattr input apply breakpoint globals
locals vars memoryview type super
"""
_MODULES = frozenset(_MODULE_NAMES.split())
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_FUNCTIONS = frozenset(
    {
        ("torch", "load"),
        ("torch.serialization", "load"),
        ("numpy", "load"),
        ("numpy", "fromfile"),
        ("numpy", "save"),
        ("numpy.lib.npyio", "load"),
        ("pandas.io.pickle", "read_pickle"),
        ("functools", "reduce"),
    }
)
_BUILTIN_MODULES = ("builtins", "__builtin__", "__builtins__")
_HARMLESS = frozenset(
    {
        # Written by ordinary training scripts as settings, and inert here.
        ("operator", "itemgetter"),
        ("types", "SimpleNamespace"),
        ("io", "BytesIO"),
        ("_io", "BytesIO"),
        ("copyreg", "__newobj__"),
    }
)


def refuse_dangerous(symbol: Symbol, source: object) -> None:
    """Refuse a file that names something made to execute code.

    Raises:
        UnsafeFileError: naming the symbol.
    """
    module, name = symbol.module, symbol.name
    path = name.split(".")
    if module in _BUILTIN_MODULES:
        dangerous = path[0] in _BUILTINS
    else:
        parts = module.split(".")
        prefixes = {".".join(parts[: i + 1]) for i in range(len(parts))}
        dangerous = bool(prefixes & _MODULES) or (module, name) in _FUNCTIONS
    # A module reached through another one ("torch.serialization", "os.system"), or the innards
    # of a class.
    dangerous = dangerous or any(
        part in _MODULES or (part.startswith("__") and part.endswith("__")) for part in path
    )
    if dangerous and (module, name) not in _HARMLESS:
        raise UnsafeFileError(
            f"the pickle names {symbol}, which runs code when it is loaded; nothing was run",
            source=source,
            remedy="do not load this file with torch.load or pickle; ask for the weights as "
            "safetensors",
        )
