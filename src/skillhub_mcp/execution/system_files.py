"""The files of the system that a program needs in order to start: libraries, interpreters, certificates, time zones."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from skillhub_mcp.environment import expand_home

# Programs and what was installed with them. Distributions that keep everything in a store have it there.
PROGRAM_DIRECTORIES = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/nix/store", "/run/current-system/sw", "/gnu/store"),
)

# What libraries read of /etc in order to load, to tell the time, names of users, and certificates.
CONFIGURATION = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives"),
    *("/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf", "/etc/os-release"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/mime.types", "/etc/magic", "/etc/fonts"),
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
    *("/etc/ca-certificates", "/etc/crypto-policies", "/etc/protocols", "/etc/services"),
)
NETWORK_CONFIGURATION = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf")

# Scripts start these by name, and uv looks for a Python on the search path.
_INTERPRETERS = ("python3", "python", "node", "uv")
# What belongs to a Python or Node.js that is installed in a prefix of its own. Not `share`, where programs keep data.
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")


def system_files(program: str, environment: Mapping[str, str], *, network: bool = False) -> tuple[str, ...]:
    """Return what `program`, an absolute path, needs of the system to start in `environment`. Paths may not exist."""
    search_path = environment.get("PATH", "")
    found = [shutil.which(name, path=search_path) for name in _INTERPRETERS]
    programs = dict.fromkeys((program, *filter(None, found), *own_interpreter()))
    home = expand_home("~")
    paths = [*PROGRAM_DIRECTORIES, *CONFIGURATION]
    if network:
        paths += NETWORK_CONFIGURATION
        paths += [environment[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environment.get(name)]
    for path in programs:
        paths += _installation_of(path, home)
    paths.append(uv_pythons(environment))
    return tuple(dict.fromkeys(paths))


def own_interpreter() -> tuple[str, ...]:
    """Return the paths of the Python that this program runs in: as it was started, and the file itself."""
    return tuple(dict.fromkeys((sys.executable, os.path.realpath(sys.executable))))


def uv_pythons(environment: Mapping[str, str]) -> str:
    """Return the directory where uv keeps the Pythons that it has downloaded."""
    named = environment.get("UV_PYTHON_INSTALL_DIR")
    kept = environment.get("XDG_DATA_HOME") or os.path.join(environment.get("HOME") or expand_home("~"), ".local/share")
    return named or os.path.join(kept, "uv", "python")


def _installation_of(program: str, home: str) -> Iterable[str]:
    """Yield the program, each link on the way to it, and what is installed around them."""
    for path in _chain(program):
        if _is_below(path, PROGRAM_DIRECTORIES):
            continue
        yield path
        folder = os.path.dirname(path)
        prefix = os.path.dirname(folder)
        if _is_shim(path):
            yield prefix
        elif os.path.basename(folder) == "bin" and prefix not in ("/", home) and _is_python(prefix):
            yield from (os.path.join(prefix, part) for part in _PREFIX_PARTS)
            base = _base_of(prefix)
            if base:
                yield from (os.path.join(base, part) for part in _PREFIX_PARTS)


def _chain(path: str) -> list[str]:
    """Return a path and where each of its links leads, the directory's links resolved."""
    chain: list[str] = []
    while path not in chain:
        chain.append(path)
        if os.path.islink(path):
            path = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(path)), os.readlink(path)))
    real = os.path.realpath(path)
    return chain if real in chain else [*chain, real]


def _is_python(prefix: str) -> bool:
    # Not pathlib, which raises for a directory that may not be entered.
    parts = os.path.join(glob.escape(prefix), "lib*", "python3*", "os.py")
    return os.path.exists(os.path.join(prefix, "pyvenv.cfg")) or bool(glob.glob(parts))


def _is_shim(path: str) -> bool:
    """Whether it is one of pyenv's scripts, which find out the version and start the Python of that name."""
    folder = os.path.dirname(path)
    pyenv = os.path.join(os.path.dirname(folder), "libexec", "pyenv")
    return os.path.basename(folder) == "shims" and os.path.exists(pyenv)


def _base_of(environment: str) -> str:
    """Return the prefix of the Python that a virtual environment is of, or nothing."""
    try:
        lines = Path(environment, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "home":
            return os.path.dirname(os.path.realpath(value.strip()))
    return ""


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in directories)
