"""The sandbox of a skill's command: bubblewrap, which shows a program only what it may use.

Processes, network, users and shared memory are namespaces of their own, so whatever the command started ends with it.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.skills.roots import is_at_or_below

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

_PYTHON = os.path.realpath(sys.executable)
# Scripts start these by name, and uv looks for a Python on the search path.
_INTERPRETERS = ("python3", "python", "node", "uv")
# What belongs to a Python or Node.js that is installed in a prefix of its own. Not `share`, where programs keep data.
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")


def system_files(program: str, environment: Mapping[str, str], *, network: bool = False) -> tuple[str, ...]:
    """Return what `program`, an absolute path, needs of the system to start in `environment`. Paths may not exist."""
    found = [shutil.which(name, path=environment.get("PATH", "")) for name in _INTERPRETERS]
    home = expand_home("~")
    paths = [*PROGRAM_DIRECTORIES, *CONFIGURATION]
    if network:
        paths += NETWORK_CONFIGURATION
        paths += [environment[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environment.get(name)]
    for path in (program, *filter(None, found), sys.executable):
        paths += _installation_of(path, home)
    paths.append(uv_pythons(environment))
    return tuple(dict.fromkeys(paths))


def uv_pythons(environment: Mapping[str, str]) -> str:
    """Return the directory where uv keeps the Pythons that it has downloaded."""
    named = environment.get("UV_PYTHON_INSTALL_DIR")
    kept = environment.get("XDG_DATA_HOME") or os.path.join(environment.get("HOME") or expand_home("~"), ".local/share")
    return named or os.path.join(kept, "uv", "python")


def _installation_of(program: str, home: str) -> Iterable[str]:
    """Yield the program, each link on the way to it, and what is installed around them."""
    for path in _chain(program):
        if any(is_at_or_below(path, one) for one in PROGRAM_DIRECTORIES):
            continue
        yield path
        folder = os.path.dirname(path)
        prefix = os.path.dirname(folder)
        if _is_shim(path):
            yield prefix
        elif os.path.basename(folder) == "bin" and prefix not in ("/", home) and _is_python(prefix):
            yield from (os.path.join(prefix, part) for part in _PREFIX_PARTS)


def _chain(path: str) -> list[str]:
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


# Paths in the sandbox, where no other process sees them.
TEMPORARY = "/tmp"  # noqa: S108
HOME = "/tmp/home"  # noqa: S108

# How bwrap mounts one path.
READABLE, WRITABLE, HIDDEN = "--ro-bind-try", "--bind-try", "--tmpfs"

# Limits of each process of a command, by the names of Python's `resource`. RLIMIT_DATA and not RLIMIT_AS: Node.js
# reserves far more addresses than it ever uses. RLIMIT_NPROC counts the sandbox's processes (Linux 5.14 and newer, and
# not for root).
LIMITS = {
    "RLIMIT_CPU": 300,  # seconds
    "RLIMIT_DATA": 2 << 30,  # bytes
    "RLIMIT_FSIZE": 256 << 20,  # bytes
    "RLIMIT_NOFILE": 1024,
    "RLIMIT_NPROC": 128,
    "RLIMIT_CORE": 0,
}
_TEMPORARY_BYTES = 2 << 30

# Options that older versions lack: --disable-userns came with 0.8, --size with 0.7.
_OPTIONAL = ("--disable-userns", "--size")
_OF_THE_USER = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR", "HOME")
_TRIED_SECONDS = 10.0
_SHOWN_CHARACTERS = 300
_STATUS_BYTES = 4096

# Runs in the sandbox: sets the limits, closes inherited descriptors, and becomes the command.
_START = f"""
import os, resource, sys
for name, most in {LIMITS!r}.items():
    which = getattr(resource, name)
    hard = resource.getrlimit(which)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (most, most))
os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may touch besides the system's programs and a temporary directory of its own: absolute paths.

    If one path lies in another, the inner one decides: a readable skill in a hidden root is read, and a hidden
    directory in a readable one is not. `hidden` matters only below what is readable. `opened` are further writable
    directories by their descriptors: another command may put a link in the place of one at any time.
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    opened: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands are confined: by the `bwrap` at that path and with these optional options, or not at all (`OFF`)."""

    bwrap: str = ""
    options: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return "bubblewrap" if self.bwrap else "off"


OFF = Sandbox()


@cache
def find_sandbox(setting: str) -> Sandbox:
    """Return the sandbox for `SKILLHUB_SANDBOX`, tried once. Raises SandboxUnavailable in the system's words."""
    if setting == "off":
        return OFF
    if sys.platform != "linux":
        raise SandboxUnavailable(f"bubblewrap needs Linux, and this is {sys.platform}")
    # Clients start servers with short search paths; only absolute entries, so that no file of a project is found.
    path = shutil.which("bwrap", path=os.pathsep.join((absolute_path_entries(os.environ.get("PATH", "")), os.defpath)))
    if path is None:
        raise SandboxUnavailable("bwrap is not installed", hint="install the package bubblewrap")
    if not os.access(_PYTHON, os.X_OK):
        hint = "run the server with a Python that its user may read"
        raise SandboxUnavailable(f"{_PYTHON} cannot be executed: permission denied", hint=hint)
    try:
        shown = _output_of((path, "--help"))
        sandbox = Sandbox(path, frozenset(option for option in _OPTIONAL if f"{option} " in shown))
        with launched(
            ("/bin/sh", "-c", ":"), cwd="/", environment={}, sandbox=sandbox, confinement=Confinement()
        ) as run:
            said = _output_of(run.argv, run.descriptors)
            if run.exit_code() == 0:
                return sandbox
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    raise SandboxUnavailable(" ".join(said.split())[:_SHOWN_CHARACTERS] or f"{path} failed without a message")


def _output_of(argv: Sequence[str], descriptors: tuple[int, ...] = ()) -> str:
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIED_SECONDS, check=False, pass_fds=descriptors
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start, with the descriptors that it inherits."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...]
    _status: int

    def exit_code(self) -> int | None:
        """Return the command's exit code, 128 + N for signal N; None if it was never started or was killed."""
        try:
            lines = os.read(self._status, _STATUS_BYTES).splitlines()
        except BlockingIOError:
            return None
        return next((code for line in lines if (code := json.loads(line).get("exit-code")) is not None), None)


@contextmanager
def launched(
    argv: Sequence[str], *, cwd: str, environment: Mapping[str, str], sandbox: Sandbox, confinement: Confinement
) -> Iterator[Launch]:
    """Yield how to start `argv`, an absolute path and its arguments, in the directory `cwd`, confined."""
    status, writing = os.pipe()
    try:
        os.set_blocking(status, False)
        system = system_files(argv[0], environment, network=confinement.network)
        wrapper = _arguments(sandbox, confinement, system, cwd=os.path.realpath(cwd))
        # Without the user's site directories and variables: nothing of theirs runs before the limits are set.
        start = (_PYTHON, "-I", "-S", "-B", "-c", _START)
        yield Launch(
            (*wrapper, "--json-status-fd", str(writing), "--", *start, *argv),
            _inner_environment(environment, confinement),
            (writing, *confinement.opened.values()),
            status,
        )
    finally:
        os.close(status)
        os.close(writing)


def _inner_environment(environment: Mapping[str, str], confinement: Confinement) -> Mapping[str, str]:
    """Return the environment of a confined command: a home of its own, and a uv that stays where it is."""
    kept = {name: value for name, value in environment.items() if name not in _OF_THE_USER}
    if kept.get("UV_CACHE_DIR") not in confinement.writable:
        kept["UV_CACHE_DIR"] = os.path.join(HOME, ".cache", "uv")
    kept |= {"HOME": HOME, "TMPDIR": TEMPORARY, "UV_PYTHON_INSTALL_DIR": uv_pythons(environment)}
    if not confinement.network:
        kept |= {"UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    return kept


class Mount(NamedTuple):
    """One mount, by the option of bwrap: `source`, on this machine, at `target`, in the sandbox."""

    target: str
    source: str
    option: str


def _arguments(sandbox: Sandbox, confinement: Confinement, system: Sequence[str], *, cwd: str) -> tuple[str, ...]:
    """Return bwrap's command line up to its status descriptor."""
    sized = ("--size", str(_TEMPORARY_BYTES)) if "--size" in sandbox.options else ()
    words = [sandbox.bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL"]
    if confinement.network:
        words.append("--share-net")
    if "--disable-userns" in sandbox.options:
        words.append("--disable-userns")
    words += ["--proc", "/proc", "--dev", "/dev", *sized, "--tmpfs", "/dev/shm"]  # noqa: S108
    words += [*sized, "--tmpfs", TEMPORARY, "--dir", HOME]
    hidden: list[str] = []
    for target, source, option in mounts(confinement, system):
        if option != HIDDEN:
            words += [option, source, target]
        elif os.path.isdir(source):
            words += [HIDDEN, target]
            hidden.append(target)
        else:
            words += ["--ro-bind", "/dev/null", target]
    # Also /proc: root may change the kernel's settings that its user owns, even without capabilities.
    for target in (*hidden, "/dev", "/proc", "/"):
        words += ["--remount-ro", target]
    return (*words, "--chdir", cwd)


def mounts(confinement: Confinement, system: Sequence[str]) -> tuple[Mount, ...]:
    """Return what is mounted, outer paths first, so that of two paths the inner one decides."""
    wanted = [(path, os.path.realpath(path), READABLE) for path in (*system, *confinement.readable)]
    wanted += [(path, os.path.realpath(path), WRITABLE) for path in confinement.writable]
    shown = {real: Mount(real, real, option) for _, real, option in wanted if os.path.exists(real)}
    # If a path leads through links, it is there by that path too: programs are given it.
    for path, real, option in wanted:
        named = os.path.abspath(path)
        if real in shown and not any(is_at_or_below(named, target) for target in shown):
            shown[named] = Mount(named, real, option)
    for path, descriptor in confinement.opened.items():
        shown[path] = Mount(path, f"/proc/self/fd/{descriptor}", WRITABLE)
    masked: dict[str, Mount] = {}
    for path in confinement.hidden:
        real = os.path.realpath(path)
        for mount in shown.values():
            if real != mount.source and is_at_or_below(real, mount.source) and os.path.exists(real):
                target = os.path.normpath(os.path.join(mount.target, os.path.relpath(real, mount.source)))
                masked[target] = Mount(target, real, HIDDEN)
    return tuple(sorted((masked | shown).values(), key=lambda mount: (mount.target.count("/"), mount.target)))
