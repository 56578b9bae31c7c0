"""The cost of adding a skill, in function calls and modules."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from types import FrameType

from tests.library.roots import skills_in, write_skill

import skillhub_mcp
from skillhub_mcp.library.candidates import candidates, chosen
from skillhub_mcp.library.install import InstallOptions, install, install_name, prepare
from skillhub_mcp.library.sources.opening import OpenOptions, absolute, open_source
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.sources.upstream import incoming_of

MOST_CALLS, MOST_MODULES = 1_500, 50


def add(source: Path, root: Path, look: Path) -> None:
    asked, options, lock = parse_source(str(source)), OpenOptions(str(source)), str(root / "skills-lock.json")
    with closing(open_source(asked, options)) as tree:
        found = chosen(candidates(tree, name=source.name), [])
        whence = absolute(asked, options)
        incoming = [incoming_of(one, tree, whence, install_name(one)) for one in found]
        install(str(root), lock, prepare(str(root), lock, incoming, InstallOptions(), str(look)).proposals)


def test_adding_a_small_skill_takes_few_calls_and_modules(tmp_path: Path) -> None:
    program = os.path.dirname(skillhub_mcp.__file__)
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(program) and frame.f_code.co_name != "<module>":
            calls[frame.f_code.co_filename] += 1

    write_skill(tmp_path / "source" / "pdf", "Reads PDF forms.")
    looks = [tmp_path / name for name in ("warm", "look")]
    for look in looks:
        look.mkdir()
    # Compiling and importing happen once and do not count.
    add(tmp_path / "source", tmp_path / "other", looks[0])
    sys.setprofile(count)
    try:
        add(tmp_path / "source", tmp_path / "root", looks[1])
    finally:
        sys.setprofile(None)
    assert list(skills_in(tmp_path / "root")) == ["pdf"]
    assert calls.total() <= MOST_CALLS, calls.most_common(10)
    assert len(calls) <= MOST_MODULES, sorted(calls)
