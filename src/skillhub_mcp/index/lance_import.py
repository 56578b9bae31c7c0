"""Importing LanceDB without the client of its REST service, which is half of the import and used by no table here."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

# Its initialisation makes every call of that service; LanceDB asks for the models alone, which are modules below it.
_CLIENT = "lance_namespace_urllib3_client"


def import_lancedb() -> Any:
    """Return the module `lancedb`."""
    _put_off(_CLIENT)
    import lancedb

    return lancedb


def _put_off(package: str) -> None:
    """Have a package initialised when somebody asks for what only its initialisation makes, not when it is imported."""
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None or spec.loader is None:
        return
    loader, module = spec.loader, importlib.util.module_from_spec(spec)

    def made(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = made
    sys.modules[package] = module
