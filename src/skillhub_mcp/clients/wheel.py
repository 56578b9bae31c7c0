"""Make a wheel of this installation from the files that it runs from, without a build tool (docs/decisions/0020)."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from skillhub_mcp._util.zip_archive import ArchivedFile, archive
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.roots import builtin_directory

DISTRIBUTION = "skillhub-mcp"

_PACKAGE = "skillhub_mcp"
_EXAMPLES = "example_skills"
# The other files of a dist-info say where and how it was installed.
_KEPT_METADATA = ("METADATA", "entry_points.txt", "licenses")
_TAGS = "py3-none-any"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel: the program's `version`, the wheel's own, the required Python, the file name and the bytes.

    `own_version` has a local label, such as `0.1.0+bundle.x5f0c…`, which no package index accepts.
    """

    version: str
    own_version: str
    requires_python: str
    file_name: str
    content: bytes


def own_wheel() -> Wheel:
    """Return the wheel of this installation; the same files give the same bytes. Raises SkillHubError, OSError."""
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError as error:
        hint = "install SkillHub with pip or uv from a checkout, and run its own command"
        raise SkillHubError(f"{DISTRIBUTION} is not installed", hint=hint) from error
    # An installation from a bundle has a label already.
    version = installed.version.partition("+")[0]
    # In a checkout the examples are elsewhere.
    files = {f"{_PACKAGE}/{name}": file for name, file in _files_below(Path(__file__).parents[1], leave_out=_EXAMPLES)}
    examples = _files_below(Path(builtin_directory()))
    files |= {f"{_PACKAGE}/{_EXAMPLES}/{name}": file for name, file in examples}
    return make_wheel(files, _metadata_files(installed), version)


def make_wheel(package: Mapping[str, ArchivedFile], metadata: Mapping[str, ArchivedFile], version: str) -> Wheel:
    """Return the wheel of the files of a `package` and of the `metadata` in its dist-info, without the README."""
    about = metadata["METADATA"].content.partition(b"\n\n")[0].rstrip() + b"\n"
    unlabelled = {**package, **metadata, "METADATA": _with_version(about, version)}
    digest = hashlib.sha256(archive(unlabelled, compressed=False)).hexdigest()
    label = f"{version}+bundle.x{digest[:12]}"
    info = f"{_PACKAGE}-{label}.dist-info"
    files = {**package, **{f"{info}/{name}": file for name, file in metadata.items()}}
    files[f"{info}/METADATA"] = _with_version(about, label)
    files[f"{info}/WHEEL"] = ArchivedFile(
        f"Wheel-Version: 1.0\nGenerator: {DISTRIBUTION} {version}\nRoot-Is-Purelib: true\nTag: {_TAGS}\n".encode()
    )
    record = f"{info}/RECORD"
    lines = [f"{name},{_record_hash(file.content)},{len(file.content)}" for name, file in sorted(files.items())]
    files[record] = ArchivedFile("".join(f"{line}\n" for line in (*lines, f"{record},,")).encode())
    python = re.search(rb"(?m)^Requires-Python: (.*)$", about)
    return Wheel(
        version=version,
        own_version=label,
        requires_python="" if python is None else python[1].decode().strip(),
        file_name=f"{_PACKAGE}-{label}-{_TAGS}.whl",
        # The bundle compresses it.
        content=archive(files, compressed=False),
    )


def _with_version(about: bytes, version: str) -> ArchivedFile:
    return ArchivedFile(re.sub(rb"(?m)^Version: .*$", f"Version: {version}".encode(), about, count=1))


def _files_below(directory: Path, *, leave_out: str = "") -> Iterator[tuple[str, ArchivedFile]]:
    for folder, folders, names in os.walk(directory):
        at_top = Path(folder) == directory
        folders[:] = [one for one in folders if _belongs(one) and not (at_top and one == leave_out)]
        for name in names:
            path = Path(folder, name)
            if _belongs(name):
                yield path.relative_to(directory).as_posix(), _read(path)


def _belongs(name: str) -> bool:
    return not name.startswith(".") and name != "__pycache__" and not name.endswith((".pyc", "~"))


def _metadata_files(installed: Distribution) -> dict[str, ArchivedFile]:
    files = {}
    for listed in installed.files or ():
        head, _, rest = listed.as_posix().partition("/")
        if head.endswith(".dist-info") and rest.partition("/")[0] in _KEPT_METADATA:
            files[rest] = _read(Path(str(listed.locate())))
    if "METADATA" not in files:
        hint = "install SkillHub again with pip or uv"
        raise SkillHubError(f"The installation of {DISTRIBUTION} does not list its files (RECORD)", hint=hint)
    return files


def _read(path: Path) -> ArchivedFile:
    with open(path, "rb") as file:
        return ArchivedFile(file.read(), executable=bool(os.fstat(file.fileno()).st_mode & 0o100))


def _record_hash(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
