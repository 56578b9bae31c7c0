"""Publishers for tests, built from an environment over real files, as in the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.settings import read_settings

# Names and contents that a transport may corrupt.
FILES: Mapping[str, bytes] = {
    "crlf.txt": b"a\r\nb\r\n",
    "bom.md": b"\xef\xbb\xbf# A\n",
    "nul.txt": b"a\0b",
    "latin.txt": b"\xe4",
    "empty.txt": b"",
    "every byte.bin": bytes(range(256)),
    "docs/100% #1?.txt": b"signs",
    "docs/deep/Übersicht 概要.md": "ü".encode(),
    "logo.svg": b"<svg/>",
    "script.py": b"print()",
    "LICENSE": b"MIT",
    "nested/SKILL.md": b"---\nname: nested\ndescription: Is no skill here.\n---\n",
}


@contextmanager
def publishing(environment: Mapping[str, str]) -> Iterator[tuple[Publisher, SkillHub]]:
    """Yield the publisher for `environment` and its hub, which finds new skills when it is refreshed."""
    settings, _ = read_settings(environment)
    hub = make_hub(settings)
    try:
        yield Publisher(hub, serve_dotfiles=settings.disclosure.serve_dotfiles, files_of=hub.files_of), hub
    finally:
        hub.close()
