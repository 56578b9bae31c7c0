"""Opening any kind of source as a tree, including another hub."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.library.archives.archives import SKILL, pack_tar, pack_zip
from tests.library.sources.lying_server import lying_site, whole
from tests.server.bearers import add_token
from tests.server.connections import listening

from skillhub_mcp.errors import ArchiveRefused, SkillNotFound, SourceUnreachable
from skillhub_mcp.library.sources.opening import OpenOptions, open_source
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.tree import Bounds
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.locks.file_digests import content_digest


def paths(typed: str, options: OpenOptions) -> list[str]:
    tree = open_source(parse_source(typed, insecure=options.insecure), options)
    try:
        return [entry.path for entry in tree.entries]
    finally:
        tree.close()


def test_each_kind_of_source_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = OpenOptions(str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "tree.skill").mkdir()
    (tmp_path / "tree.skill" / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "a.zip").write_bytes(pack_zip({"SKILL.md": SKILL}))
    (tmp_path / "packed").write_bytes(pack_tar({"SKILL.md": SKILL}, mode="w:gz"))
    # Names do not matter: a directory named like an archive, and an archive without an extension.
    for typed in ("./tree.skill", "~/tree.skill", str(tmp_path / "a.zip"), "./packed"):
        assert paths(typed, here) == ["SKILL.md"], typed
    with lying_site() as site:
        site.answers["/skill"] = whole(pack_zip({"pdf/SKILL.md": SKILL}))
        assert paths(f"{site.url}/skill", here) == ["pdf/SKILL.md"]
        site.answers["/skill"] = whole(pack_zip({"../SKILL.md": SKILL}))
        with pytest.raises(ArchiveRefused):
            paths(f"{site.url}/skill", here)
        with pytest.raises(SourceUnreachable, match="100 bytes in all"):
            paths(f"{site.url}/skill", OpenOptions(str(tmp_path), bounds=Bounds(fetched_bytes=100)))
    for missing in ("./none", "./none.zip"):
        with pytest.raises(SourceUnreachable):
            paths(missing, here)


@pytest.mark.slow
def test_published_skills_install_with_the_same_digest(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    pdf = write_skill("pdf", files={"scripts/run.sh": b"echo\r\n", "assets/\u00fc.bin": b"\0\xff"})
    (pdf / "scripts" / "run.sh").chmod(0o755)
    write_skill("notes")
    tokens = tmp_path / "tokens.json"
    token = add_token(tokens, "team")
    environment = {**hub_environment, "SKILLHUB_WELL_KNOWN": "1", "SKILLHUB_TOKENS_FILE": str(tokens)}
    with listening(environment) as url:
        host = url.removeprefix("http://").removesuffix("/mcp")
        with pytest.raises(SourceUnreachable, match="requires a token"):
            paths(f"http://{host}", OpenOptions(str(tmp_path)))
        options = OpenOptions(str(tmp_path), tokens={host: token})
        tree = open_source(parse_source(f"http://{host}"), options)
        with pytest.raises(SkillNotFound):
            open_source(parse_source(f"http://{host}", skills=["pdg"]), options)
    try:
        assert [entry.path for entry in tree.entries if entry.executable] == ["pdf/scripts/run.sh"]
        (tmp_path / "new").mkdir()
        unpacked = unpack_skill(tree, "pdf", str(tmp_path / "new"))
        assert b"".join(tree.read("notes/SKILL.md")).startswith(b"---\nname: notes\n")
    finally:
        tree.close()
    assert content_digest({path: file.digest for path, file in unpacked.files.items()}) == content_digest(digests(pdf))


def digests(directory: Path) -> Mapping[str, str]:
    """SHA-256 of each file below a directory, by path with `/`."""
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }
