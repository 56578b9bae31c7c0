"""What a skill's directory holds besides text: links, hard links, compiled programs, hidden scripts. Pure."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.auditing.rules import AuditFinding, Risk, found


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One entry below a skill: path, kind, number of names, first 16 bytes and the target of a link."""

    path: str
    kind: Literal["file", "link", "other"] = "file"
    target: str = ""
    names: int = 1
    executable: bool = False
    start: bytes = b""


_PROGRAMS = (
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"\xce\xfa\xed\xfe", "a macOS program"),
    (b"\xca\xfe\xba\xbe", "a macOS program or Java class"),
    (b"\xfe\xed\xfa\xcf", "a macOS program"),
)
# Endings of programs and libraries; a program under any other ending pretends.
_ADMITTED = frozenset(
    ("", ".exe", ".dll", ".so", ".dylib", ".bin", ".node", ".pyd", ".class", ".o", ".a", ".com", ".sys", ".elf", ".scr")
)
SCRIPTS = frozenset(
    (".sh", ".bash", ".zsh", ".fish", ".php", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".cmd")
)
_WINDOWS_SCRIPTS = frozenset((".scr", ".vbs", ".hta", ".lnk", ".jse", ".wsf"))
_BYTECODE = frozenset((".pyc", ".pyo"))
_FLAGS = 4
MEDIA = frozenset(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4",
     ".wav", ".zip", ".gz", ".tgz", ".xz", ".7z", ".rar", ".docx", ".xlsx", ".pptx", ".parquet", ".pyc")
)  # fmt: skip
# Endings of files that are not run.
_NO_SCRIPTS = MEDIA | {".svg", ".csv", ".json", ".css"}
_INSTALLS = ("preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare")
_REACHES_OUT = re.compile(
    r"(?i)\b(?:curl|wget|nc|iwr|base64|bash -c|sh -c|eval|powershell|node -e|python3? -c)\b|https?://"
)


def entry_findings(entry: SkillEntry) -> Iterator[AuditFinding]:
    """Report what one entry is that a skill of text and scripts does not need."""
    if entry.kind == "link":
        if leaves(entry.path, entry.target):
            yield found("file-link-out", f"a link to {entry.target!r}", path=entry.path)
        return
    if entry.kind == "other":
        yield found("not-read", "neither a file nor a directory", path=entry.path)
        return
    if entry.names > 1:
        yield found("file-hard-link", f"a file with {entry.names:,} names", path=entry.path)
    ending = posixpath.splitext(entry.path)[1].lower()
    program = next((what for magic, what in _PROGRAMS if entry.start.startswith(magic)), "")
    if program:
        severity = Risk.HIGH if ending in _ADMITTED else None
        yield found("file-binary", program, path=entry.path, severity=severity)
    elif ending in _WINDOWS_SCRIPTS:
        yield found("file-binary", f"a file that Windows runs ({ending})", path=entry.path, severity=Risk.HIGH)
    elif ending in _BYTECODE:
        yield from _bytecode(entry)
    elif entry.start.startswith(b"#!") and ending in _NO_SCRIPTS:
        yield found("file-binary", f"a script that is called {ending}", path=entry.path)
    hidden = any(part.startswith(".") for part in entry.path.split("/"))
    script = ending in SCRIPTS or entry.start.startswith(b"#!")
    if hidden and script and ".github/" not in entry.path:
        severity = Risk.HIGH if entry.executable else None
        yield found("file-hidden", "a script with a hidden name", path=entry.path, severity=severity)


def _bytecode(entry: SkillEntry) -> Iterator[AuditFinding]:
    if "__pycache__" not in entry.path.split("/")[:-1]:
        yield found("file-binary", "compiled Python in the place of a source", path=entry.path, severity=Risk.HIGH)
    # PEP 552: Python writes the source's time and size there, unless asked for a hash.
    elif len(entry.start) > _FLAGS and entry.start[_FLAGS] & 1:
        message = "compiled Python that runs whatever its source says"
        yield found("file-binary", message, path=entry.path, severity=Risk.HIGH)


def leaves(path: str, target: str) -> bool:
    """Whether a link at `path` below a skill leads out of it."""
    if target.startswith(("/", "~")) or re.match(r"[A-Za-z]:|\\\\", target):
        return True
    led = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.replace("\\", "/")))
    return led == ".." or led.startswith("../")


def package_findings(path: str, text: str) -> Iterator[AuditFinding]:
    """Report what a `package.json` runs when it is installed."""
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    if not isinstance(scripts, dict):
        return
    for name in _INSTALLS:
        command = scripts.get(name)
        if isinstance(command, str) and command:
            severity = None if _REACHES_OUT.search(command[:4_096]) else Risk.LOW
            yield found("install-script", f"{name}: {command[:60]!r}", path=path, severity=severity)
