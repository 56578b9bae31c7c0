"""The packages that a script declares in its PEP 723 block, read so that the user is asked first."""

from __future__ import annotations

from pathlib import Path

from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.errors import PackagesUnavailable

# PEP 723 does not say where the block stands; in practice it is near the top.
_HEAD_BYTES = 256 * 1024
_BLOCK_CHARACTERS = 8 * 1024
_OPENING, _CLOSING = "# /// script", "# ///"


def declared_packages(script: Path) -> tuple[str, ...]:
    """Return the requirements of a script's PEP 723 block. Raises PackagesUnavailable if the block cannot be used."""
    block = block_of(script)
    if block is None:
        return ()
    try:
        content = read_toml(block, most_characters=_BLOCK_CHARACTERS)
    except BadToml as error:
        raise PackagesUnavailable(script.name, f"its PEP 723 block cannot be read: {error}") from error
    packages, tool = content.get("dependencies", []), content.get("tool", {})
    if not isinstance(packages, list) or not isinstance(tool, dict):
        raise PackagesUnavailable(script.name, "its PEP 723 block is malformed")
    uv = tool.get("uv", {})
    odd = sorted(set(uv) - {"exclude-newer"}) if isinstance(uv, dict) else ["uv"]
    if odd:
        raise PackagesUnavailable(
            script.name,
            f"its block sets tool.uv.{odd[0]}, but the skill does not decide where packages come from",
            hint="remove it from the block and set UV_INDEX_URL for the server, or run the script in your terminal",
        )
    for package in packages:
        if not _is_requirement(package):
            raise PackagesUnavailable(
                script.name,
                f"{package!r} is not a name and versions of a package in an index",
                hint="addresses and paths are not fetched: name the package, or run the script in your terminal",
            )
    return tuple(packages)


def block_of(script: Path) -> str | None:
    """Return the TOML of a script's block, as PEP 723 finds it: comment lines up to the last one that is `# ///`."""
    try:
        with script.open("rb") as file:
            text = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
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


def _is_requirement(package: object) -> bool:
    """Whether it names a package and versions; an address or a path has one of these characters."""
    return (
        isinstance(package, str) and package.isprintable() and not set(package) & set("@/\\") and package[:1].isalnum()
    )
