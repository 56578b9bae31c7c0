"""What a script declares in its PEP 723 block: which Python and which packages, and nothing about where they come from.

A skill names packages; the person who runs it, or their company, says in uv's own settings which index has them. So a
block that names sources of its own is refused: leaving them out would fetch other packages of the same names.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.errors import PackagesUnavailable
from skillhub_mcp.foreign_toml import BadToml, read_toml

# PEP 723 does not say where the block stands; in practice it is near the top.
_HEAD_BYTES = 256 * 1024
_BLOCK_CHARACTERS = 8 * 1024
_LOCK_BYTES = 4 * 1024 * 1024
_MAX_PACKAGES = 256
_MAX_LOCKED = 2_048

_OPENING = "# /// script"
_CLOSING = "# ///"
# A name, extras and versions as PEP 508 has them, without an address; what follows the semicolon is a marker.
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,127} ?(\[[A-Za-z0-9._, -]{0,200}\])?[<>=!~0-9A-Za-z.*+,() -]{0,200}"
)
_MARKER = re.compile(r"[A-Za-z0-9_.<>=!~'\"() ,+-]{1,500}")
_PYTHONS = re.compile(r"[<>=!~0-9.*, ]{1,100}")
_VERSION = re.compile(r"[0-9A-Za-z.!+_-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LOCKED_FIELD = re.compile(r'(name|version)\s*=\s*"([^"]*)"\s*')
_DATE = re.compile(r"[0-9A-Za-z:+.-]{1,40}")


@dataclass(frozen=True, slots=True)
class ScriptNeeds:
    """The packages of a script, in the order of its block, and the versions that its lock file settles.

    `python` is the range of versions, empty for any. Packages newer than `exclude_newer`, a date, are left out.
    """

    packages: tuple[str, ...]
    python: str = ""
    locked: tuple[str, ...] = ()
    exclude_newer: str = ""

    @property
    def key(self) -> str:
        """What two scripts have in common that can use the same environment, in hexadecimal digits."""
        content = json.dumps([1, sorted(self.packages), self.python, sorted(self.locked), self.exclude_newer])
        return hashlib.sha256(content.encode()).hexdigest()


def read_needs(script: Path) -> ScriptNeeds | None:
    """Return what a script needs that is not there without fetching; None if it declares no packages.

    Reads the script, and `NAME.lock` beside it as `uv lock --script` writes it. Raises PackagesUnavailable for a block
    that cannot be used.
    """
    try:
        with script.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    block = _block(head.decode("utf-8", "replace"))
    if block is None:
        return None
    needs = _parse(script.name, block)
    if needs is None:
        return None
    try:
        with script.with_name(f"{script.name}.lock").open("rb") as file:
            content = file.read(_LOCK_BYTES + 1)
    except OSError:
        return needs
    if len(content) > _LOCK_BYTES:
        raise PackagesUnavailable(script.name, f"its lock file has more than {_LOCK_BYTES:,} bytes")
    lock = content.decode("utf-8", "replace")
    return ScriptNeeds(needs.packages, needs.python, _locked(script.name, lock), needs.exclude_newer)


def _block(text: str) -> str | None:
    """Return the TOML of the block, as PEP 723 finds it: comment lines up to the last one that is `# ///`."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if _OPENING not in lines:
        return None
    found: list[str] = []
    closed: int | None = None
    for line in lines[lines.index(_OPENING) + 1 :]:
        if line != "#" and not line.startswith("# "):
            break
        if line == _CLOSING:
            closed = len(found)
        found.append(line[2:])
    return None if closed is None else "\n".join(found[:closed])


def _parse(name: str, block: str) -> ScriptNeeds | None:
    try:
        content = read_toml(block, most_characters=_BLOCK_CHARACTERS)
    except BadToml as error:
        raise PackagesUnavailable(name, f"its PEP 723 block cannot be read: {error}") from error
    packages, python = content.get("dependencies", []), content.get("requires-python", "")
    if not isinstance(packages, list) or len(packages) > _MAX_PACKAGES or not isinstance(python, str):
        raise PackagesUnavailable(name, "its PEP 723 block is malformed")
    if not packages:
        return None
    if python and not _PYTHONS.fullmatch(python):
        raise PackagesUnavailable(name, f"requires-python = {python!r} is no range of versions")
    for package in packages:
        _check_requirement(name, package)
    tool = content.get("tool", {})
    uv = tool.get("uv", {}) if isinstance(tool, Mapping) else {}
    date = uv.get("exclude-newer", "") if isinstance(uv, Mapping) else ""
    odd = sorted(set(uv) - {"exclude-newer"}) if isinstance(uv, Mapping) else ["uv"]
    if odd or not isinstance(date, str) or (date and not _DATE.fullmatch(date)):
        what = odd[0] if odd else "exclude-newer"
        raise PackagesUnavailable(
            name,
            f"its block sets tool.uv.{what}; where packages come from is not a skill's to say",
            hint="name the index in your own uv.toml, remove it from the block, or run the script in your terminal",
        )
    return ScriptNeeds(tuple(packages), python, exclude_newer=date)


def _check_requirement(name: str, package: object) -> None:
    wanted, _, marker = package.partition(";") if isinstance(package, str) else ("", "", "")
    if not _REQUIREMENT.fullmatch(wanted.strip()) or (marker and not _MARKER.fullmatch(marker)):
        raise PackagesUnavailable(
            name,
            f"{package!r} is not a name and versions of a package in an index",
            hint="addresses and paths are not fetched: name the package, or run the script in your terminal",
        )


def _locked(name: str, lock: str) -> tuple[str, ...]:
    """Return `NAME==VERSION` of each package in a lock file. Where they come from is left out.

    Reads the lines that uv writes: a TOML parser needs many seconds for a large file.
    """
    packages: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for line in lock.splitlines():
        if line.startswith("["):
            # The other tables belong to a package or to the whole file.
            fields = {}
            if line.rstrip() == "[[package]]":
                packages.append(fields)
        elif field := _LOCKED_FIELD.fullmatch(line):
            fields.setdefault(*field.groups())
    if len(packages) > _MAX_LOCKED:
        raise PackagesUnavailable(name, f"its lock file has more than {_MAX_LOCKED:,} packages")
    if not packages or not all(_NAME.fullmatch(one.get("name", "")) for one in packages):
        raise PackagesUnavailable(name, "its lock file is malformed", hint="uv lock --script writes it")
    return tuple(f"{one['name']}=={one['version']}" for one in packages if _VERSION.fullmatch(one.get("version", "")))
