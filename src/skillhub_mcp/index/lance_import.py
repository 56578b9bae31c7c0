"""Importing LanceDB without what no table here needs of it, which is most of the import.

1. The packages of its REST service (a client, 150 models, an interface made of those) are initialised when somebody
   uses something of them.
2. LanceDB takes some names of that interface, for annotations and for connections to such a service. While it is
   imported, it gets stand-ins, which turn into what has the name when they are used.
3. Its shared libraries are loaded before it, which other threads need not wait for.
4. Before Python 3.12 it has each method that overrides another checked against that one, by a package of its own. That
   is a check for LanceDB's authors.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from skillhub_mcp.garbage import garbage_collection_off

_INTERFACE = "lance_namespace"
_CLIENT = "lance_namespace_urllib3_client"
_MODELS = f"{_CLIENT}.models"
_CHECKS = "overrides"
# Of those that importing it loads, the ones that take longest, with what they are linked to.
_LIBRARIES = (("pyarrow", "lib"), ("pyarrow", "_dataset"), ("pyarrow", "_dataset_parquet"), ("lancedb", "_lancedb"))


def import_lancedb() -> Any:
    """Return the module `lancedb`."""
    if "lancedb" not in sys.modules:
        _put_off(_CLIENT)
        _put_off(_MODELS)
        # Of what a server has loaded by then, going through all of it takes a quarter of the import.
        with garbage_collection_off(), _put_off_by_name(_INTERFACE), _without_checks():
            _load_libraries()
            import lancedb

            if gc.get_freeze_count():
                # A process that has so many entries that they are left out leaves this out, too: it stays for as long,
                # and the next search would wait while all of it is gone through.
                gc.freeze()
    import lancedb

    return lancedb


def _load_libraries() -> None:
    """Load the shared libraries of Arrow and LanceDB while other threads go on: during an import they would wait.

    Where that fails, importing says why.
    """
    if os.name != "posix":
        return
    import ctypes

    load = ctypes.CDLL(None).dlopen
    load.restype, load.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    for package, module in _LIBRARIES:
        found = importlib.util.find_spec(package)
        places = None if found is None else found.submodule_search_locations
        spec = PathFinder.find_spec(f"{package}.{module}", places)
        if spec is not None and spec.origin is not None:
            load(os.fsencode(spec.origin), sys.getdlopenflags())


class _StandIn:
    """Stands for what has a name in a module that is not initialised yet, and is that in any use but its identity."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._find()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._find())

    def __mro_entries__(self, _: tuple[object, ...]) -> tuple[Any, ...]:
        return (self._find(),)


def _put_off(package: str) -> ModuleType | None:
    """Have a package initialised when somebody asks for what only its initialisation makes, not when it is imported.

    Returns the package, or None where it is initialised already, or is not there.
    """
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None or spec.loader is None:
        return None
    loader, module = spec.loader, importlib.util.module_from_spec(spec)

    def made(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = made
    sys.modules[package] = module
    return module


@contextlib.contextmanager
def _put_off_by_name(package: str) -> Iterator[None]:
    """Have also who takes names of a package meanwhile not initialise it: stand-ins are returned for them."""
    module = _put_off(package)
    if module is None:
        yield
        return
    made = vars(module)["__getattr__"]

    @cache
    def stand_in(name: str) -> _StandIn:
        return _StandIn(lambda: getattr(module, name))

    def named(name: str) -> Any:
        return made(name) if name.startswith("__") else stand_in(name)

    vars(module)["__getattr__"] = named
    try:
        yield
    finally:
        if vars(module).get("__getattr__") is named:
            vars(module)["__getattr__"] = made


@contextlib.contextmanager
def _without_checks() -> Iterator[None]:
    """Have methods marked as overriding others, meanwhile, and not checked."""
    known = sys.modules.get(_CHECKS)
    unchecked = ModuleType(_CHECKS)
    vars(unchecked).update(override=lambda method: method, EnforceOverrides=object)
    sys.modules[_CHECKS] = unchecked
    try:
        yield
    finally:
        if known is None:
            del sys.modules[_CHECKS]
        else:
            sys.modules[_CHECKS] = known
