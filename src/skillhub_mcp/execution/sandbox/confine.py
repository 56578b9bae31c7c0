"""The program that confines itself, starts the command, and ends with it.

It runs as `python -I -S confine.py PLAN COMMAND…`, by its path and without SkillHub, in the sandbox or on its way in.
PLAN is the object that `launch` writes, marshalled, in hexadecimal digits. Each command pays for what is imported here:
json, typing, contextlib and signal would double the time until it starts.

To the descriptor `status` it writes lines: `begun`, then one of `errno N` (the command could not be started), `exit N`
and `signal N`. When nobody holds the other end of the descriptor `control`, the server is gone or no longer wants the
command: everything is killed, also what left its session, and the private directory is removed.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SIGKILL, _SIGPIPE, _SIGSTOP, _SIGXFSZ = 9, 13, 19, 25

# include/uapi/linux/prctl.h and seccomp.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 28, 36, 38
_SECCOMP_MODE_FILTER = 2
_SECBITS_NO_ROOT_LOCKED = 0x3
_MOST_CAPABILITIES = 64

# include/uapi/linux/sched.h: mounts, System V objects, host name, users, processes, network.
_NEW_NAMESPACES = 0x0002_0000 | 0x0800_0000 | 0x0400_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000
_NEW_NETWORK = 0x4000_0000

# System calls whose numbers all architectures share.
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 442, 444, 445, 446
_CAPSET = {"x86_64": 126, "aarch64": 91}
_MS_BIND, _MS_PRIVATE, _MS_RECURSIVE, _MS_NOSUID_NODEV = 0x1000, 1 << 18, 0x4000, 0x2 | 0x4
# Where programs keep memory and semaphores that they share: in a namespace of its own each run has its own.
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1

# include/uapi/linux/landlock.h: what may be done with a file, with what is in a directory, and since which version.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_LAST_RIGHT = {1: 12, 2: 13, 3: 14, 4: 14}
_NEWEST_RIGHT = 15
_NET_RIGHTS, _SCOPES = 0x3, 0x3
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_RULE_PATH_BENEATH = 1

_CANNOT_START = 127
_CANNOT_CONFINE = 126
_LOOK_AGAIN = 20  # milliseconds
# inode(7): the kind of a file in its mode.
_FORMAT, _DIRECTORY = 0o170000, 0o040000


def main() -> int:
    """Do what the plan says; the exit code is the command's, or 128 and more for a signal, as in a shell."""
    plan: dict[str, Any] = marshal.loads(bytes.fromhex(sys.argv[1]))  # noqa: S302 - our own server's
    command = sys.argv[2:]
    os.set_inheritable(plan["status"], False)
    if plan["control"] is None:
        return _run(plan, command)
    os.set_inheritable(plan["control"], False)
    return _watch(plan, command)


def _watch(plan: dict[str, Any], command: list[str]) -> int:
    """Run the command in a child, and leave nothing behind: no process, and no private directory."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        os._exit(_confined(lambda: _enter(plan, command)))
    _unseen()
    try:
        _wait_for_end(child, plan["control"])
        _schedule(os.SCHED_FIFO, 1)
        wait_status = _end_all(child)
        _schedule(os.SCHED_OTHER, 0)
        return _code(wait_status)
    finally:
        if plan["private"]:
            remove(plan["private"])


def _enter(plan: dict[str, Any], command: list[str]) -> int:
    """Run the command, as a child of the first process of namespaces of its own where the plan says so."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    os.close(plan["control"])
    if not plan["namespaces"]:
        return _run(plan, command)
    _enter_namespaces(plan)
    first = os.fork()
    if first == 0:
        os._exit(_confined(lambda: _run(plan, command)))
    return _code(_reap_until(first))


def _confined(run: Callable[[], int]) -> int:
    try:
        return run()
    except OSError as error:
        os.write(2, f"the command cannot be confined: {error}\n".encode())
    return _CANNOT_CONFINE


def _run(plan: dict[str, Any], command: list[str]) -> int:
    """Start the command, and return its exit code when it has ended, which it tells on `status` too."""
    status: int = plan["status"]
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        _unseen()
    others = _processes_of_user() if plan["count_processes"] else 0
    os.write(status, b"begun\n")
    child = os.fork()
    if child == 0:
        _become(plan, command, others)
    wait_status = _reap_until(child)
    code = _code(wait_status)
    if os.WIFSIGNALED(wait_status):
        os.write(status, b"signal %d\n" % os.WTERMSIG(wait_status))
    else:
        os.write(status, b"exit %d\n" % code)
    return code


def _code(wait_status: int) -> int:
    if os.WIFSIGNALED(wait_status):
        return 128 + os.WTERMSIG(wait_status)
    return os.WEXITSTATUS(wait_status)


def _unseen() -> None:
    """Keep what this process has open from the command, which has the same user."""
    _prctl(_PR_SET_DUMPABLE, 0)


def _become(plan: dict[str, Any], command: list[str], others: int) -> None:
    """Confine this process and become the command. Never returns."""
    code = _CANNOT_CONFINE
    try:
        if sys.platform == "linux":
            _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
            _prctl(_PR_SET_DUMPABLE, 1)  # its own /proc would be closed to it otherwise
        if plan["filter"]:
            # A group of its own, so that a signal to it does not reach this program.
            os.setsid()
        for number in (_SIGPIPE, _SIGXFSZ):  # Python ignores them, and a command inherits that
            _libc().signal(number, None)
        _limit(plan["limits"], others)
        if plan["landlock"] is None:  # in its new root, where nothing changes any more
            for path, identity in plan["identities"].items():
                _check(os.stat(path, follow_symlinks=False), identity)
        if plan["filter"]:
            _drop_capabilities()
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
            if plan["landlock"]:
                _allow_only(**plan["landlock"], identities=plan["identities"])
            _filter_calls(plan["filter"])
        code = _CANNOT_START
        os.execv(command[0], command)  # noqa: S606 - without a shell on purpose
    except OSError as error:
        if code == _CANNOT_START:
            os.write(plan["status"], b"errno %d\n" % (error.errno or 0))
        else:
            os.write(2, f"the command cannot be confined: {error}\n".encode())
            os.write(plan["status"], b"unconfined\n")
    finally:
        os._exit(code)


# Ending


def _wait_for_end(child: int, control: int) -> None:
    """Wait until `child` has ended, or nobody holds the other end of `control`."""
    ended = _descriptor_of(child)
    waiting = select.poll()
    waiting.register(control, 0)  # POLLHUP is always told
    if ended is not None:
        waiting.register(ended, select.POLLIN)
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if any(descriptor == control for descriptor, _ in waiting.poll(None if ended is not None else _LOOK_AGAIN)):
            return


def _descriptor_of(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # a container's filter that does not know the call
        return None


def _schedule(policy: int, priority: int) -> None:
    """Have this process come before whatever the command has started, or no longer."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError:  # root alone may, and needs it: of others the kernel counts the processes
        return


def _end_all(child: int) -> int:
    """Kill every descendant, and return the wait status of `child`. Orphans are children of this process too."""
    wait_status = 0
    stopped: set[int] = set()
    while True:
        try:
            while True:
                pid, ended = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == child:
                    wait_status = ended
        except ChildProcessError:
            return wait_status
        names = set(os.listdir("/proc"))
        living = _descendants(os.getpid(), names)
        # All are stopped before one is killed, so that none starts another meanwhile.
        if living <= stopped:
            _signal(living, _SIGKILL)
            select.select((), (), (), 0.001)  # a kill takes a moment
        else:
            stopped |= _stopped(living, names)


def _stopped(living: set[int], seen: set[str]) -> set[int]:
    """Stop those, and what they have started since the numbers of `seen` were listed, and return them all.

    Only what is new is looked at: a look at each process takes longer than a fork bomb to start the next ones.
    """
    fresh = living
    found = living | {os.getpid()}
    while fresh:
        _signal(fresh, _SIGSTOP)
        names = set(os.listdir("/proc"))
        parents = {int(name): _parent(name) for name in names - seen if name.isdecimal()}
        seen = seen | names
        fresh = set()
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
            fresh |= more
    return found - {os.getpid()}


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _descendants(root: int, names: set[str]) -> set[int]:
    children: dict[int, list[int]] = {}
    for name in names:
        if name.isdecimal():
            parent = _parent(name)
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    rest = [root]
    while rest:
        fresh = set(children.get(rest.pop(), ())) - found
        found |= fresh
        rest += fresh
    return found


def _parent(name: str) -> int | None:
    """Return the parent of a process of that number, or None where it has ended."""
    try:
        with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return None
    return None if state in b"ZX" else int(parent)


def _reap_until(child: int) -> int:
    """Return the wait status of `child`, and reap what else ends meanwhile."""
    while True:
        pid, wait_status = os.wait()
        if pid == child:
            return wait_status


def remove(directory: str) -> None:
    """Remove a directory with all that is in it, however deep: no path is longer than a step.

    No command may be left that could change it meanwhile. Raises OSError.
    """
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    moved, unknown = 0, os.urandom(8).hex()  # names that no command could have taken
    try:
        while names := os.listdir(top):
            for name in names:
                if _unlinked(name, top):
                    continue
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for below in os.listdir(inner):
                        if not _unlinked(below, inner):
                            moved += 1
                            os.rename(below, f"{unknown}{moved}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(directory)


def _unlinked(name: str, folder: int) -> bool:
    """Remove what is no directory; open a directory that its owner closed, and return False."""
    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & _FORMAT != _DIRECTORY:
        os.unlink(name, dir_fd=folder)
        return True
    os.chmod(name, 0o700, dir_fd=folder)
    return False


# Limits, capabilities, system calls


def _limit(limits: dict[str, int], others: int) -> None:
    for name, wanted in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:  # this system does not count it
            continue
        soft = wanted + others if name == "RLIMIT_NPROC" else wanted
        _, most = resource.getrlimit(kind)
        hard = soft + (name == "RLIMIT_CPU")  # a second between the signal that can be caught and the one that cannot
        hard = hard if most == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(kind, (min(soft, hard), hard))
        except ValueError:  # macOS refuses some
            continue


def _processes_of_user() -> int:
    """Return how many processes and threads the user has: the kernel's limit counts them all."""
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:  # ended since it was listed
                continue
    return count


def _drop_capabilities() -> None:
    """Give up what root could do, for this process and all that it becomes."""
    libc = _libc()
    # Who is not root has none to drop, and is refused.
    for capability in range(_MOST_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3)
    libc.prctl(_PR_SET_SECUREBITS, ctypes.c_ulong(_SECBITS_NO_ROOT_LOCKED), *[ctypes.c_ulong(0)] * 3)
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        header = struct.pack("=Ii", 0x2008_0522, 0)
        _syscall(number, ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter_calls(instructions: bytes) -> None:
    program = _Program(len(instructions) // 8, instructions)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


# Files


def _allow_only(
    abi: int, read: list[str], write: list[str], network: bool, identities: dict[str, tuple[int, int]]
) -> None:
    """Allow no files but those, and no way to other programs, as far as this version of Landlock knows how."""
    handled = (1 << _LAST_RIGHT.get(abi, _NEWEST_RIGHT) + 1) - 1
    net = 0 if network or abi < _NETWORK_SINCE else _NET_RIGHTS
    attributes = struct.pack("=Q", handled)
    if abi >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", net)
    if abi >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = _syscall(_LANDLOCK_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0)
    for path in read:
        _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
    for path in write:
        _allow(ruleset, path, handled & ~_MAKE_DEVICES, identities.get(path))
    _syscall(_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int, identity: tuple[int, int] | None = None) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what is not there is not needed either
        return
    try:
        status = os.fstat(descriptor)
        if identity is not None:
            _check(status, identity)
        if status.st_mode & _FORMAT != _DIRECTORY:
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(_LANDLOCK_ADD, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(descriptor)


def _check(status: os.stat_result, identity: tuple[int, int]) -> None:
    """Refuse what is no longer what it was when the server looked: another command may have put it there."""
    if (status.st_dev, status.st_ino) != tuple(identity):
        raise OSError(0, "the directory to write to has been exchanged meanwhile")


def _enter_namespaces(plan: dict[str, Any]) -> None:
    """Leave the machine's processes, network and writable files, keeping user and group."""
    user, group = os.geteuid(), os.getegid()
    wanted = _NEW_NAMESPACES & ~(_NEW_NETWORK if plan["landlock"]["network"] else 0)
    if _libc().unshare(wanted) != 0:
        raise _error("unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    _mount("", "/", "", _MS_PRIVATE | _MS_RECURSIVE)
    writable: list[str] = plan["landlock"]["write"]
    kept = [path for path in writable if os.path.isdir(path)]
    for path in kept:
        if path == _SHARED_MEMORY:
            _mount("tmpfs", path, "tmpfs", _MS_NOSUID_NODEV, f"size={plan['limits'].get('RLIMIT_DATA', 0)}")
        else:
            _mount(path, path, "", _MS_BIND)
    _make_read_only("/", clear=False)
    for path in kept:
        _make_read_only(path, clear=True)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = [ctypes.c_char_p(os.fsencode(word)) for word in (source, target, kind, options)]
    if _libc().mount(*words[:3], ctypes.c_ulong(flags), words[3]) != 0:
        raise _error("mount", target)


def _make_read_only(path: str, *, clear: bool) -> None:
    """Make all that is mounted below a path read-only, or what is mounted at it writable."""
    change = (0, _MOUNT_ATTR_RDONLY) if clear else (_MOUNT_ATTR_RDONLY, 0)
    attributes = struct.pack("=QQQQ", *change, 0, 0)
    flags = 0 if clear else _AT_RECURSIVE
    name = ctypes.c_char_p(os.fsencode(path))
    _syscall(_MOUNT_SETATTR, _AT_FDCWD, name, flags, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)))


# The C library


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if _libc().prctl(option, *arguments) != 0:
        raise _error("prctl", str(option))


def _syscall(number: int, *values: Any) -> int:
    arguments = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    result = _libc().syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _error("system call", str(number))
    return int(result)


def _error(*words: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{' '.join(words)}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main())
