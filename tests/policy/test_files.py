"""Policy files: read after a change, written atomically, and never overwritten if invalid."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.index.test_bad_databases import mounted

from skillhub_mcp.errors import PolicyUnreadable, PolicyUnwritable
from skillhub_mcp.policy.choices import Choices
from skillhub_mcp.policy.files import (
    CHOICES,
    PROJECT_RULES,
    REVIEWS,
    ROOTS,
    RULES,
    TOKENS,
    TRUST,
    PolicyFile,
    change_rules,
)
from skillhub_mcp.policy.rules import Decision, ListedRule, PermissionRule, Rules

RULE = PermissionRule("skill_load", "pdf")


def test_a_missing_file_is_an_error_only_if_required(tmp_path: Path) -> None:
    path = str(tmp_path / "no" / "rules.json")
    assert RULES.file(path).read() is None
    with pytest.raises(PolicyUnreadable, match="does not exist"):
        RULES.file(path, required=True).read()


def test_a_file_is_parsed_again_only_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text('{"permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    file = RULES.file(str(path))
    first = file.read()
    assert first is file.read()
    change_rules(str(path), put=[ListedRule("deny", RULE)])
    changed = file.read()
    assert changed is not None
    assert changed.deny == (PermissionRule("skill_load"), RULE)
    path.unlink()
    assert file.read() is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe", "it is not UTF-8"), (b"{", "line 1 is not JSON"), (b" " * (4 * 1024 * 1024 + 1), "it is over")],
)
def test_an_unusable_file_is_an_error_on_every_read(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "rules.json"
    path.write_bytes(content)
    file = RULES.file(str(path))
    for _ in range(2):
        with pytest.raises(PolicyUnreadable) as caught:
            file.read()
        assert caught.value.message.startswith(f"Your permissions.json cannot be used: {reason}")
        assert caught.value.path == str(path)
        # Clients over HTTP get the message, but not the path.
        assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("odd", ["directory", "pipe", "loop", "link to nothing"])
def test_directories_pipes_and_broken_links_are_rejected(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "rules.json"
    if odd == "directory":
        path.mkdir()
    elif odd == "pipe":
        os.mkfifo(path)
    else:
        # The missing target may have held denials.
        path.symlink_to(path if odd == "loop" else tmp_path / "unmounted" / "rules.json")
    with pytest.raises(PolicyUnreadable):
        RULES.file(str(path)).read()


def test_adding_a_rule_keeps_the_rest_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rules.json"
    change_rules(str(path), put=[ListedRule("allow", RULE)])
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700
    # A first remembered answer leaves other skills allowed.
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "permissions": {"others": "allow", "allow": [{"tool": "skill_load", "skill_name": "pdf"}]}
    }
    path.write_text('{"model": "m", "permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    change_rules(str(path), put=[ListedRule("allow", RULE)])
    change_rules(str(path), put=[ListedRule("allow", RULE)])
    kept = json.loads(path.read_text(encoding="utf-8"))
    denied = {"deny": [{"tool": "skill_load"}], "others": "confirm"}
    assert kept == {"model": "m", "permissions": {**denied, "allow": [RULE.as_json()]}}
    assert change_rules(str(path), forget=[RULE]) == (ListedRule("allow", RULE),)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept == {"model": "m", "permissions": denied}


def test_a_rule_replaces_those_for_the_same_action_and_skill(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    other_spelling, running, every = (
        PermissionRule("load_skill", "pdf"),
        PermissionRule("run_skill_command", "pdf"),
        PermissionRule("skill_load"),
    )
    lists = {"deny": [other_spelling, running, every, PermissionRule("skill_load", "csv")], "confirm": [RULE]}
    written = {verdict: [rule.as_json() for rule in rules] for verdict, rules in lists.items()}
    path.write_text(json.dumps({"permissions": written}), encoding="utf-8")
    allowed = [ListedRule("allow", RULE)]
    replaced = change_rules(str(path), put=allowed)
    assert replaced == (ListedRule("deny", other_spelling), ListedRule("confirm", RULE))
    assert RULES.file(str(path)).read() == Rules((running, every, PermissionRule("skill_load", "csv")), (RULE,))
    assert change_rules(str(path), put=allowed, others=Decision.ALLOW) == ()
    kept = RULES.file(str(path)).read()
    assert kept is not None
    assert (kept.others, kept.allow) == (Decision.ALLOW, (RULE,))
    assert change_rules(str(path), forget=[every]) == (ListedRule("deny", every),)
    # In a new file, skills without a rule stay allowed.
    new = tmp_path / "new.json"
    change_rules(str(new), put=[ListedRule("deny", RULE)])
    assert RULES.file(str(new)).read() == Rules((RULE,), others=Decision.ALLOW)
    # In a file without `others`, they still need consent.
    new.write_text('{"permissions": {}}', encoding="utf-8")
    change_rules(str(new), put=[ListedRule("deny", RULE)])
    assert RULES.file(str(new)).read() == Rules((RULE,))


def test_an_invalid_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    path.write_text("{ half", encoding="utf-8")
    with pytest.raises(PolicyUnreadable):
        CHOICES.change(str(path), lambda one: one.switched("a", on=False))
    assert path.read_text(encoding="utf-8") == "{ half"


def test_concurrent_changes_are_all_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "choices.json")

    def switch(number: int) -> None:
        CHOICES.change(path, lambda choices: choices.switched(f"skill-{number}", on=False))

    threads = [threading.Thread(target=switch, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = CHOICES.file(path).read()
    assert kept == Choices(user={f"skill-{number}": False for number in range(12)})
    assert sorted(os.listdir(tmp_path)) == ["choices.json", "choices.json.lock"]


# Root may write everywhere, so this runs as nobody. A first run imports the modules that nobody may not read.
AS_NOBODY = """
import os, sys
from skillhub_mcp.cli.main import run
first, *places = sys.argv[1:]
run(["token", "new", "first", "--file", first])
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
for place in places:
    print("exit", run(["token", "new", "ci", "--file", place]), file=sys.stderr)
"""


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user may enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made).resolve()
        directory.chmod(0o755)
        yield directory


WRITABLE = "make its directory writable for you, or name a file elsewhere"
UNWRITABLE = (
    ("closed/t.json", "closed", "Permission denied", WRITABLE),
    ("closed/below/t.json", "closed/below", "Permission denied", WRITABLE),
    ("file/t.json", "file", "Not a directory", WRITABLE),
)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
def test_an_unwritable_file_of_tokens_is_reported_at_once(open_directory: Path) -> None:
    (open_directory / "closed").mkdir()
    (open_directory / "closed").chmod(0o555)
    (open_directory / "file").write_text("", encoding="utf-8")
    places = [str(open_directory / place) for place, *_ in UNWRITABLE]
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(open_directory / "first.json"), *places],
        env={**os.environ, "HOME": str(open_directory)},
        capture_output=True,
        text=True,
        check=True,
        # Waiting for a lock takes ten seconds.
        timeout=60,
    )
    *reports, rest = done.stderr.split("exit 1\n")
    assert rest == ""
    for report, (_, culprit, cause, hint) in zip(reports, UNWRITABLE, strict=True):
        path = open_directory / culprit
        assert report.endswith(f"error: The file of tokens cannot be written: {cause} ({path})\n\nhint: {hint}\n")
    assert {file.name for file in open_directory.rglob("*")} == {
        *("closed", "file", "first.json", "first.json.lock"),
    }


def test_a_full_disk_leaves_the_file_unchanged(tmp_path: Path) -> None:
    with mounted("-t", "tmpfs", "-o", "size=32k", "tmpfs", at=tmp_path / "small"):
        small = tmp_path / "small" / "rules.json"
        small.write_text('{"permissions": {}}', encoding="utf-8")
        with contextlib.suppress(OSError), open(tmp_path / "small" / "rest", "wb", buffering=0) as rest:
            while True:
                rest.write(b"x" * 1024)
        with pytest.raises(PolicyUnwritable, match="No space left on device") as caught:
            change_rules(str(small), put=[ListedRule("allow", RULE)])
        assert caught.value.path == str(small)
        assert (caught.value.hint or "").startswith("free some space")
        assert small.read_text(encoding="utf-8") == '{"permissions": {}}'


def test_files_in_a_directory_that_others_may_write_are_not_changed(open_directory: Path) -> None:
    hub = open_directory / "hub"
    hub.mkdir()
    hub.chmod(0o777)
    with pytest.raises(PolicyUnwritable, match="others may write to a directory that it is in") as refused:
        change_rules(str(hub / "file.json"), put=[ListedRule("allow", RULE)])
    assert refused.value.path == str(hub)
    assert refused.value.hint == f"nothing was changed; run chmod go-w {hub}"
    assert list(hub.iterdir()) == []


def test_a_held_lock_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillhub_mcp.policy.files._LOCK_SECONDS", 0.1)
    path = str(tmp_path / "rules.json")
    with FileLock(f"{path}.lock"), pytest.raises(PolicyUnwritable, match="another process has locked it") as caught:
        change_rules(path, put=[ListedRule("allow", RULE)])
    assert caught.value.hint == "nothing was changed; try again"


def test_rules_that_others_may_write_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    rules = RULES.file(str(path))
    in_force = rules.read()
    path.chmod(0o666)
    with pytest.raises(PolicyUnreadable, match=r"others may write it \(mode 0666\)") as refused:
        rules.read()
    assert str(tmp_path) not in f"{refused.value.message} {refused.value.hint}"
    assert refused.value.path == str(path)
    with pytest.raises(PolicyUnreadable):
        change_rules(str(path), put=[ListedRule("allow", RULE)])
    path.chmod(0o644)
    assert rules.read() == in_force
    # A project's rules only deny, and only its own skills.
    path.chmod(0o666)
    assert PROJECT_RULES.file(str(path), within=str(tmp_path)).read() == in_force


OTHERS = (CHOICES.file, TOKENS.file, ROOTS.file, TRUST.file, REVIEWS.file)


@pytest.mark.parametrize("read", OTHERS)
def test_other_policy_files_that_others_may_write_are_rejected(
    read: Callable[[str], PolicyFile[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "own.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o602)
    with pytest.raises(PolicyUnreadable, match="others may write it"):
        read(str(path)).read()


@pytest.mark.parametrize("read", [CHOICES.file, TOKENS.file, ROOTS.file, TRUST.file, RULES.file])
@pytest.mark.parametrize(
    ("content", "reason"), [("[" * 100_000, "too deep"), ('{"format": ' + "9" * 5_000 + "}", "too long")]
)
def test_deep_nesting_and_huge_numbers_are_rejected(
    read: Callable[[str], PolicyFile[Any]], content: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(content, encoding="utf-8")
    with pytest.raises(PolicyUnreadable, match=reason):
        read(str(tmp_path / "own.json")).read()


def test_new_files_and_directories_are_private_whatever_the_umask(tmp_path: Path) -> None:
    own = tmp_path / "home" / ".skillhub"
    before = os.umask(0)
    try:
        change_rules(str(own / "permissions.json"), put=[ListedRule("deny", RULE)])
        CHOICES.change(str(own / "choices.json"), lambda choices: choices)
    finally:
        os.umask(before)
    made = [own.parent, own, *own.iterdir()]
    assert {path.name for path in made} >= {"permissions.json", "choices.json"}
    assert [path for path in made if path.stat().st_mode & 0o077] == []
