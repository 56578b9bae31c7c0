"""Importing LanceDB without `lance_namespace`, its client of a REST service, which nothing here uses: most of the time.

LanceDB takes names of it for annotations. While it is imported these are placeholders, which import it if called.
"""

import importlib
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


@cache
def _placeholder(module: str, name: str) -> type:
    def call(_: type, *args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return type(name, (Exception,), {"__new__": call})


class _Deferred(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(self.__name__, name)


class _Finder:
    create_module = staticmethod(lambda spec: _Deferred(spec.name))
    exec_module = staticmethod(lambda _: None)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(name, loader, is_package=True) if name.startswith("lance_namespace") else None


def import_lancedb() -> Any:
    """Return the module `lancedb`."""
    if "lancedb" not in sys.modules and "lance_namespace" not in sys.modules:
        finder: Any = _Finder()
        sys.meta_path.insert(0, finder)
        stale = "lance_namespace"
        try:
            importlib.import_module("lancedb")
        except (ImportError, TypeError):  # another release of it is imported as it is
            stale = "lance"
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.startswith(stale) and one != "lancedb._lancedb"]:
            del sys.modules[name]
    return importlib.import_module("lancedb")
