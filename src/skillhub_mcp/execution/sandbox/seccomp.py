"""The filter of system calls, as the kernel reads it: a program of classic BPF (seccomp(2), `SECCOMP_SET_MODE_FILTER`).

It is a list of what is refused, because a list of what is allowed would break programs with each new C library. What it
refuses has no use for a script, and has been a way out of containers, or a way to reach what other means of the sandbox
do not cover. The numbers of the calls are the kernel's, which never change.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from dataclasses import dataclass

# include/uapi/linux/audit.h and the tables of system calls of both architectures.
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x4000_0000

# fmt: off
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # name: x86_64, aarch64
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chmod": (90, None), "chown": (92, None),
    "chroot": (161, 51), "clone": (56, 220), "clone3": (435, 435), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "fchown": (93, 55), "fchownat": (260, 54), "fcntl": (72, 25), "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None), "init_module": (175, 105),
    "inotify_add_watch": (254, 27), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "ioctl": (16, 29), "ioperm": (173, None), "iopl": (172, None),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "kill": (62, 129), "lchown": (94, None), "lremovexattr": (198, 15), "lsetxattr": (189, 6),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "migrate_pages": (256, 238),
    "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "move_pages": (279, 239), "mq_open": (240, 180), "msgctl": (71, 187), "msgget": (68, 186), "msgrcv": (70, 188),
    "msgsnd": (69, 189), "name_to_handle_at": (303, 264), "nfsservctl": (180, 42), "open": (2, None),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "openat": (257, 56), "openat2": (437, 437),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41), "prlimit64": (302, 261), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "removexattr": (197, 14), "removexattrat": (466, 466),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "setns": (308, 268), "setpriority": (141, 140), "setxattr": (188, 5),
    "setxattrat": (463, 463), "shmat": (30, 196), "shmctl": (31, 195), "shmget": (29, 194), "socket": (41, 198),
    "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224), "sysfs": (139, None), "syslog": (103, 116),
    "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45), "umount2": (166, 39), "unshare": (272, 97),
    "uselib": (134, None), "userfaultfd": (323, 282), "utime": (132, None), "utimensat": (280, 88),
    "utimes": (235, None), "vhangup": (153, 58),
}
# fmt: on

_REFUSED = (
    # Keys of the kernel's key ring belong to the user, not to the process.
    *("add_key", "keyctl", "request_key"),
    # Other processes' memory and descriptors.
    *("kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "process_mrelease"),
    # Large parts of the kernel that scripts do not need, where most escapes of the last years began.
    *("bpf", "io_uring_enter", "io_uring_register", "io_uring_setup", "perf_event_open", "userfaultfd"),
    *("fanotify_init", "name_to_handle_at", "open_by_handle_at"),
    # Mounts, namespaces, and the machine itself.
    *("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree"),
    *("open_tree_attr", "pivot_root", "setns", "umount2", "unshare"),
    *("acct", "delete_module", "finit_module", "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load"),
    *("migrate_pages", "move_pages", "nfsservctl", "quotactl", "quotactl_fd", "reboot", "swapoff", "swapon", "sysfs"),
    *("syslog", "uselib", "vhangup"),
    # Memory that no limit counts: System V's and queues', which also lead to other programs by their numbers alone.
    *("shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open"),
)
# Memory that no limit counts, for which programs have another way.
_UNKNOWN = ("memfd_create", "memfd_secret")

# clone(2)'s CLONE_NEW*: another way to unshare.
_NAMESPACE_FLAGS = 0x7E02_0000
# Typing into the terminal that the program was started from (ioctl_tty(2)): TIOCSTI, TIOCLINUX.
_TYPING = (0x5412, 0x541C)

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
# The types of pairs whose ends cannot be turned to another address: SOCK_STREAM and SOCK_SEQPACKET.
_FIXED_PAIRS, _SOCKET_TYPE = (1, 5), 0xF
# Of open(2)'s flags, O_ACCMODE and O_TRUNC, and what Landlock decides about itself: no truncation, or with writing.
_OPENING, _OPENED_RIGHTLY = 0x203, (0, 1, 2, 3, 0x201, 0x202)

_CHANGING_MODES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "fchownat", "lchown"),
    *("utime", "utimes", "futimesat", "utimensat"),
)
_CHANGING_ATTRIBUTES = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
_SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_SIGNALLING = ("tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
# fcntl(2)'s F_SETOWN and F_SETOWN_EX, ioctl(2)'s FIOSETOWN and SIOCSPGRP: who gets a descriptor's signals.
_OWNERS_BY_FCNTL, _OWNERS_BY_IOCTL = (8, 15), (0x8901, 0x8902)
# fcntl(2)'s F_SETLEASE: whoever opens such a file, also one that may only be read here, waits most of a minute.
_LEASING = (1024,)
# A file's flags, version, project, seal and key (ioctl_iflags(2), fs-verity), by a descriptor that may only read.
_CHANGING_FLAGS = (0x4008_6602, 0x4004_6602, 0x4008_7602, 0x4004_7602, 0x401C_5820, 0x4080_6685, 0x800C_6613)

_RET_ALLOW, _RET_KILL, _RET_ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# The fields of struct seccomp_data; of an argument its lower half, on little-endian machines.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


@dataclass(frozen=True, slots=True)
class Calls:
    """What a filter refuses besides what every filter does.

    `families` are the kinds of sockets that may be made. Without namespaces of its own a program shares the kernel's
    tables with the user's other programs: `shared_files` has changes of modes, owners and times do nothing, because
    Landlock does not cover them, and `shared_kernel` refuses what sets other programs' priorities. `shared_signals`
    refuses signals to them, which newer Landlocks cover, and `truncation` what an older one lets be done to a file that
    may be read only.
    """

    families: tuple[int, ...]
    shared_files: bool = False
    shared_kernel: bool = False
    shared_signals: bool = False
    truncation: bool = False


def supports(machine: str) -> bool:
    """Whether a filter can be made for this architecture (`os.uname().machine`)."""
    return machine in _ARCHITECTURES


def program(machine: str, calls: Calls) -> bytes:
    """Return the filter for an architecture. Raises KeyError for one that `supports` does not know."""
    column = tuple(_ARCHITECTURES).index(machine)

    def number(name: str) -> int | None:
        return _NUMBERS[name][column]

    code = _Code()
    code.load(_ARCHITECTURE)
    code.unless_equal_return(_ARCHITECTURES[machine], _RET_KILL)
    code.load(_NUMBER)
    if machine == "x86_64":
        code.if_at_least_return(_X32_BIT, _error(errno.ENOSYS))
    # The C library then uses clone, whose flags a filter can read.
    code.if_equal_return(number("clone3"), _error(errno.ENOSYS))
    code.refuse(map(number, _REFUSED), errno.EPERM)
    code.refuse(map(number, _UNKNOWN), errno.ENOSYS)
    if calls.shared_files:
        # Success without effect: a refusal would end `shutil.copy` and `tar`, for no gain.
        code.refuse(map(number, _CHANGING_MODES), 0)
        code.refuse(map(number, (*_CHANGING_ATTRIBUTES, "file_setattr")), errno.ENOTSUP)
        code.refuse([number("inotify_add_watch")], errno.EPERM)
    if calls.truncation:
        code.refuse([number("truncate")], errno.EPERM)
        code.refuse([number("openat2")], errno.ENOSYS)  # its flags are out of a filter's sight
        code.refuse_argument(number("open"), 1, errno.EPERM, only=_OPENED_RIGHTLY, mask=_OPENING)
        code.refuse_argument(number("openat"), 2, errno.EPERM, only=_OPENED_RIGHTLY, mask=_OPENING)
    if calls.shared_kernel:
        for name in _SCHEDULING:
            code.refuse_argument(number(name), 0, errno.EPERM, only=(0,))
        for name in ("setpriority", "ioprio_set"):
            code.refuse_argument(number(name), 1, errno.EPERM, only=(0,))
    if calls.shared_signals:
        code.refuse(map(number, _SIGNALLING), errno.EPERM)
        # One's own group is one's own session's; every other number could be anybody's.
        code.refuse_argument(number("kill"), 0, errno.EPERM, only=(0,))
    code.refuse_argument(number("prlimit64"), 0, errno.EPERM, only=(0,))
    code.refuse_argument(number("socket"), 0, errno.EAFNOSUPPORT, only=calls.families)
    if AF_UNIX not in calls.families:
        code.refuse_argument(number("socketpair"), 1, errno.EPERM, only=_FIXED_PAIRS, mask=_SOCKET_TYPE)
    owners_by_fcntl, owners_by_ioctl = (_OWNERS_BY_FCNTL, _OWNERS_BY_IOCTL) if calls.shared_signals else ((), ())
    code.refuse_argument(number("fcntl"), 1, errno.EPERM, none_of=(*_LEASING, *owners_by_fcntl))
    changing = _CHANGING_FLAGS if calls.shared_files else ()
    code.refuse_argument(number("ioctl"), 1, errno.EPERM, none_of=(*_TYPING, *owners_by_ioctl, *changing))
    code.refuse_flags(number("clone"), _NAMESPACE_FLAGS, errno.EPERM)
    code.end(_RET_ALLOW)
    return code.bytes()


def _error(number: int) -> int:
    return _RET_ERRNO | number


class _Code:
    """Instructions in their order. Each check jumps over its own few, so that no jump is too far for its byte."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, int, int]] = []

    def load(self, offset: int) -> None:
        self._instructions.append((_LOAD, 0, 0, offset))

    def end(self, value: int) -> None:
        self._instructions.append((_RETURN, 0, 0, value))

    def if_equal_return(self, value: int | None, result: int) -> None:
        if value is not None:
            self._instructions.append((_JUMP_EQUAL, 0, 1, value))
            self.end(result)

    def unless_equal_return(self, value: int, result: int) -> None:
        self._instructions.append((_JUMP_EQUAL, 1, 0, value))
        self.end(result)

    def if_at_least_return(self, value: int, result: int) -> None:
        self._instructions.append((_JUMP_AT_LEAST, 0, 1, value))
        self.end(result)

    def refuse(self, numbers: Iterable[int | None], error: int) -> None:
        for number in numbers:
            self.if_equal_return(number, _error(error))

    def refuse_argument(
        self,
        number: int | None,
        position: int,
        error: int,
        *,
        only: tuple[int, ...] | None = None,
        none_of: tuple[int, ...] = (),
        mask: int = 0xFFFF_FFFF,
    ) -> None:
        """Refuse a call whose argument is none of `only`, or one of `none_of`. Of it the bits of `mask` count."""
        if number is None:
            return
        values = none_of if only is None else only
        found, otherwise = (_error(error), _RET_ALLOW) if only is None else (_RET_ALLOW, _error(error))
        self._instructions.append((_JUMP_EQUAL, 0, 2 * len(values) + 3, number))
        self.load(_ARGUMENTS + 8 * position)
        self._instructions.append((_AND, 0, 0, mask))
        for value in values:
            self.if_equal_return(value, found)
        self.end(otherwise)

    def refuse_flags(self, number: int | None, flags: int, error: int) -> None:
        """Refuse a call whose first argument has one of the flags."""
        if number is not None:
            self._instructions.append((_JUMP_EQUAL, 0, 4, number))
            self.load(_ARGUMENTS)
            self._instructions.append((_JUMP_ANY_BIT, 0, 1, flags))
            self.end(_error(error))
            self.end(_RET_ALLOW)

    def bytes(self) -> bytes:
        return b"".join(struct.pack("=HBBI", *instruction) for instruction in self._instructions)
