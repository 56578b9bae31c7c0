"""What is mounted where, for `bwrap`."""

from __future__ import annotations

from pathlib import Path

from skillhub_mcp.execution.sandbox.bubblewrap import Kind, arguments, mounts
from skillhub_mcp.execution.sandbox.model import Bubblewrap, Confinement


def told(confinement: Confinement, *system: str) -> list[tuple[str, str, str]]:
    names = {Kind.READABLE: "readable", Kind.WRITABLE: "writable", Kind.HIDDEN: "hidden"}
    return [(mount.target, mount.source, names[mount.kind]) for mount in mounts(confinement, system)]


def test_of_two_paths_the_inner_one_decides(tmp_path: Path) -> None:
    root, skill, output = tmp_path / "root", tmp_path / "root" / "skill", tmp_path / "root" / "skill" / "output"
    output.mkdir(parents=True)
    (root / "other").mkdir()
    confinement = Confinement(readable=(str(skill),), writable=(str(output),), hidden=(str(root), str(tmp_path / "no")))
    assert told(confinement, str(tmp_path)) == [
        (str(tmp_path), str(tmp_path), "readable"),
        (str(root), str(root), "hidden"),
        (str(skill), str(skill), "readable"),
        (str(output), str(output), "writable"),
    ]


def test_what_is_not_readable_needs_no_hiding_and_what_is_there_no_second_mount(tmp_path: Path) -> None:
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "secrets").mkdir()
    usr = str(tmp_path / "usr")
    assert told(Confinement(hidden=(str(tmp_path / "secrets"),)), usr, f"{usr}/lib") == [(usr, usr, "readable")]


def test_a_path_through_links_is_there_by_both_and_hidden_by_both(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "secret").mkdir(parents=True)
    link.symlink_to(real)
    assert told(Confinement(readable=(str(link),), hidden=(str(real / "secret"),))) == [
        (str(link), str(real), "readable"),
        (str(real), str(real), "readable"),
        (str(link / "secret"), str(real / "secret"), "hidden"),
        (str(real / "secret"), str(real / "secret"), "hidden"),
    ]


def test_options_that_a_version_does_not_know_are_not_used(tmp_path: Path) -> None:
    def words(*options: str, network: bool = False) -> tuple[str, ...]:
        known = Bubblewrap("/usr/bin/bwrap", frozenset(options))
        return arguments(known, Confinement(network=network), (), cwd=str(tmp_path), temporary_bytes=9)

    old, new = words(), words("--disable-userns", "--size", "--remount-ro")
    assert {"--disable-userns", "--size", "--remount-ro"}.isdisjoint(old)
    assert {"--disable-userns", "--size", "--remount-ro"} <= set(new)
    assert {"--unshare-all", "--die-with-parent", "--new-session"} <= set(old)
    assert "--share-net" not in new
    assert "--share-net" in words(network=True)
