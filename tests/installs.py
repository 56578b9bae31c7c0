"""Install what conformance tests need from npm and PyPI, once for all checkouts.

The cache is CONFORMANCE_CACHE, else `skillhub-conformance` in XDG_CACHE_HOME or ~/.cache. If something cannot be
installed, tests are skipped with the reason; with SKILLHUB_REQUIRE_CONFORMANCE=1, as in the gate, they fail.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock

# Copied on import: tests change HOME, where npm and pip are configured.
_ENVIRONMENT = dict(os.environ)
_CACHE = Path(
    _ENVIRONMENT.get("CONFORMANCE_CACHE")
    or Path(_ENVIRONMENT.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skillhub-conformance"
)
_REQUIRED = _ENVIRONMENT.get("SKILLHUB_REQUIRE_CONFORMANCE") == "1"

# The suite needs this major version; machines with an older one get it from npm.
_NODE_MAJOR, _NODE = 22, "22.23.3"


@functools.cache
def node() -> Path:
    """Return a node that is new enough, or skip the test."""
    on_path = shutil.which("node")
    if on_path is not None:
        shown = subprocess.run([on_path, "--version"], capture_output=True, text=True, encoding="utf-8", check=False)
        found = re.match(r"v(\d+)\.", shown.stdout)
        if found is not None and int(found[1]) >= _NODE_MAJOR:
            return Path(on_path)
    system = {"Windows": "win"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    name = f"node-{system}-{machine}"
    modules = _npm("node", f'{{"private": true, "dependencies": {{"{name}": "{_NODE}"}}}}')
    return modules / name / "bin" / ("node.exe" if system == "win" else "node")


@functools.cache
def npm_packages(manifest: Path) -> Path:
    """Return the `node_modules` with the packages that `manifest`, a package.json, pins, or skip the test."""
    return _npm(manifest.parent.name, manifest.read_text(encoding="utf-8"))


@functools.cache
def python_with(requirements: Path, *, at_least: tuple[int, int] = (3, 10)) -> Path:
    """Return the Python of an environment with the packages that `requirements` pins, or skip the test."""
    if sys.version_info < at_least:
        # Not a failure of the gate: nothing is missing on this machine.
        pytest.skip(f"{requirements.stem} needs Python {at_least[0]}.{at_least[1]}")
    folder = _CACHE / f"python{sys.version_info.major}.{sys.version_info.minor}" / requirements.stem
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def install() -> None:
        uv = _uv()
        if uv is None:
            _run([sys.executable, "-m", "venv", str(folder)])
            _run([str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)])
        else:
            _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
            _run([uv, "pip", "install", "--quiet", "--python", str(python), "--requirement", str(requirements)])

    _install_once(folder, requirements.read_text(encoding="utf-8"), install)
    return python


def uv() -> tuple[str, dict[str, str]]:
    """Return uv and the environment that configures it, or skip the test."""
    found = _uv()
    if found is None:
        _unavailable("uv is not installed here")
    return found, dict(_ENVIRONMENT)


def uv_project(project: Path) -> tuple[str, dict[str, str]]:
    """Install the requirements of the uv project in a directory, or skip the test.

    Return uv, and an environment in which it runs the project offline.
    """
    found, environment = uv()
    _run([found, "sync", "--quiet", "--python", sys.executable], cwd=project)
    return found, {**environment, "UV_OFFLINE": "1", "UV_PYTHON": sys.executable}


def built_wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project in `folder` with its own build backend, or skip the test."""
    found, _ = uv()
    _run([found, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(project)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def output_of(command: Sequence[str], environment: Mapping[str, str], *, cwd: Path | None = None) -> str:
    """Return the output of an installed program, which must succeed."""
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def _uv() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def _npm(name: str, manifest: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        _unavailable("npm is not installed here")
    folder = _CACHE / "npm" / name

    def install() -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(manifest, encoding="utf-8")
        _run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)

    _install_once(folder, manifest, install)
    return folder / "node_modules"


def _install_once(folder: Path, pinned: str, install: Callable[[], None]) -> None:
    """Install into `folder`, unless exactly what is `pinned` is there; one process at a time."""
    mark = folder / ".installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not mark.exists() or mark.read_text(encoding="utf-8") != pinned:
            shutil.rmtree(folder, ignore_errors=True)
            install()
            mark.write_text(pinned, encoding="utf-8")


def _run(command: Sequence[str], *, cwd: Path | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        _unavailable(f"{Path(command[0]).name} could not install: {done.stderr.strip()[-500:]}")


def _unavailable(reason: str) -> NoReturn:
    if _REQUIRED:
        pytest.fail(f"SKILLHUB_REQUIRE_CONFORMANCE=1, and {reason}")
    pytest.skip(reason)
