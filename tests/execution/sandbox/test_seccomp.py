"""The filter of system calls, run by a small interpreter of its instructions, for both architectures."""

from __future__ import annotations

import errno
import struct

import pytest

from skillhub_mcp.execution.sandbox.seccomp import AF_INET, AF_UNIX, Calls, program, supports

ALLOWED, KILLED = 0x7FFF_0000, 0x8000_0000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NARROW = Calls((AF_INET,), shared_files=True, shared_kernel=True, shared_signals=True, truncation=True)
WIDE = Calls((AF_UNIX, AF_INET))


def decide(code: bytes, number: int, arguments: tuple[int, ...] = (), *, architecture: int) -> int:
    """Return what the program answers for a call."""
    six = (*arguments, *[0] * 6)[:6]
    seen = struct.pack("<iIQ6Q", number, architecture, 0, *(value & 0xFFFF_FFFF_FFFF_FFFF for value in six))
    instructions = list(struct.iter_unpack("=HBBI", code))
    position, accumulator = 0, 0
    while True:
        operation, then, otherwise, value = instructions[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", seen, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x06:
            return int(value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}
            position += then if holds[operation] else otherwise


def answers(machine: str, calls: Calls, number: int, *arguments: int) -> int | None:
    """Return the error's number, or None where the call is allowed."""
    answer = decide(program(machine, calls), number, arguments, architecture=AUDIT[machine])
    return None if answer == ALLOWED else answer & 0xFFFF


EVERYWHERE = [
    # call: x86_64, aarch64, arguments, error
    pytest.param(0, 63, (), None, id="read"),
    pytest.param(59, 221, (), None, id="execve"),
    pytest.param(250, 219, (), errno.EPERM, id="keyctl"),
    pytest.param(101, 117, (), errno.EPERM, id="ptrace"),
    pytest.param(323, 282, (), errno.EPERM, id="userfaultfd"),
    pytest.param(321, 280, (), errno.EPERM, id="bpf"),
    pytest.param(425, 425, (), errno.EPERM, id="io_uring_setup"),
    pytest.param(272, 97, (0x1000_0000,), errno.EPERM, id="unshare"),
    pytest.param(165, 40, (), errno.EPERM, id="mount"),
    pytest.param(435, 435, (), errno.ENOSYS, id="clone3"),
    pytest.param(56, 220, (17,), None, id="clone"),
    pytest.param(56, 220, (0x1000_0000 | 17,), errno.EPERM, id="clone into a namespace of users"),
    pytest.param(302, 261, (0,), None, id="prlimit of oneself"),
    pytest.param(302, 261, (77,), errno.EPERM, id="prlimit of another"),
    pytest.param(41, 198, (AF_INET, 1), None, id="a socket of the network"),
    pytest.param(41, 198, (17, 3), errno.EAFNOSUPPORT, id="a socket of raw packets"),
    pytest.param(41, 198, (38, 5), errno.EAFNOSUPPORT, id="a socket of the kernel's ciphers"),
    pytest.param(16, 29, (0, 0x5412), errno.EPERM, id="typing into the terminal"),
    pytest.param(16, 29, (0, 0x5413), None, id="asking for the terminal's size"),
    pytest.param(29, 194, (), errno.EPERM, id="memory of System V"),
    pytest.param(319, 279, (), errno.ENOSYS, id="files of memory only"),
    pytest.param(72, 25, (1, 1024, 1), errno.EPERM, id="a lease, for which others have to wait"),
    pytest.param(72, 25, (1, 4), None, id="a descriptor's flags"),
]
NARROWLY = [
    pytest.param(62, 129, (1234, 9), errno.EPERM, id="a signal to somebody"),
    pytest.param(62, 129, (0xFFFF_FFFF, 9), errno.EPERM, id="a signal to everybody"),
    pytest.param(62, 129, (0, 15), None, id="a signal to its own group"),
    pytest.param(72, 25, (1, 8, 1234), errno.EPERM, id="a descriptor's signals to somebody"),
    pytest.param(16, 29, (1, 0x4008_6602), errno.EPERM, id="a file's flags"),
    pytest.param(141, 140, (0, 1234), errno.EPERM, id="somebody's priority"),
    pytest.param(203, 122, (1234,), errno.EPERM, id="somebody's processors"),
    pytest.param(203, 122, (0,), None, id="its own processors"),
    pytest.param(41, 198, (AF_UNIX, 1), errno.EAFNOSUPPORT, id="a local socket"),
    pytest.param(53, 199, (AF_UNIX, 1 | 0o2000000), None, id="a pair of streams"),
    pytest.param(53, 199, (AF_UNIX, 2), errno.EPERM, id="a pair that takes addresses"),
    pytest.param(76, 45, (), errno.EPERM, id="truncate"),
    pytest.param(257, 56, (0, 0, 0o1000), errno.EPERM, id="reading with truncation"),
    pytest.param(257, 56, (0, 0, 0o1001), None, id="writing with truncation"),
    pytest.param(257, 56, (0, 0, 0o1003), errno.EPERM, id="neither, with truncation"),
    pytest.param(257, 56, (0, 0, 0o2000000), None, id="reading"),
    pytest.param(268, 53, (), 0, id="a mode that is not changed"),
    pytest.param(188, 5, (), errno.ENOTSUP, id="an attribute"),
]


@pytest.mark.parametrize("calls", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize(("on_x86", "on_arm", "arguments", "expected"), EVERYWHERE)
def test_every_filter_refuses_what_leads_out(
    on_x86: int, on_arm: int, arguments: tuple[int, ...], expected: int | None, calls: Calls
) -> None:
    assert answers("x86_64", calls, on_x86, *arguments) == expected
    assert answers("aarch64", calls, on_arm, *arguments) == expected


@pytest.mark.parametrize(("on_x86", "on_arm", "arguments", "expected"), NARROWLY)
def test_a_filter_stands_in_for_what_the_kernel_does_not_separate(
    on_x86: int, on_arm: int, arguments: tuple[int, ...], expected: int | None
) -> None:
    assert answers("x86_64", NARROW, on_x86, *arguments) == expected
    assert answers("aarch64", NARROW, on_arm, *arguments) == expected
    assert answers("x86_64", WIDE, on_x86, *arguments) is None
    assert answers("aarch64", WIDE, on_arm, *arguments) is None


def test_calls_of_another_architecture_do_not_pass_by() -> None:
    assert decide(program("x86_64", WIDE), 0, architecture=0x4000_0003) == KILLED
    assert answers("x86_64", WIDE, 0x4000_0000 | 101) == errno.ENOSYS


def test_a_filter_is_short_enough_and_an_unknown_architecture_has_none() -> None:
    assert len(program("x86_64", NARROW)) // 8 <= 4096
    assert supports("x86_64")
    assert not supports("riscv64")
