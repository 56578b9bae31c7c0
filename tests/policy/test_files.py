"""Files of rules and choices: read when they change, written in one step, never over what is not understood."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.index.test_bad_databases import mounted

from skillhub_mcp.errors import PolicyUnreadable, PolicyUnwritable
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.choices import Choices
from skillhub_mcp.policy.files import (
    PolicyFile,
    add_rule,
    change_choices,
    change_reviews,
    change_roots,
    change_rules,
    change_tokens,
    change_trust,
    choices_file,
    reviews_file,
    roots_file,
    rules_file,
    tokens_file,
    trust_file,
)
from skillhub_mcp.policy.rules import Decision, ListedRule, PermissionRule, Rules

RULE = PermissionRule("skill_load", "pdf")
WHAT = "Your permissions.json"


def test_a_file_that_is_not_there_holds_nothing_unless_it_is_needed(tmp_path: Path) -> None:
    path = str(tmp_path / "no" / "rules.json")
    assert rules_file(path, what=WHAT, tools=TOOL_ACTIONS).read() is None
    with pytest.raises(PolicyUnreadable, match="does not exist"):
        rules_file(path, what=WHAT, tools=TOOL_ACTIONS, required=True).read()


def test_a_change_is_seen_and_without_one_the_same_value_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text('{"permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    file = rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS)
    first = file.read()
    assert first is file.read()
    add_rule(str(path), "deny", RULE, what=WHAT, tools=TOOL_ACTIONS)
    changed = file.read()
    assert changed is not None
    assert changed.deny == (PermissionRule("skill_load"), RULE)
    path.unlink()
    assert file.read() is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe", "it is not UTF-8"), (b"{", "line 1 is not JSON"), (b" " * (4 * 1024 * 1024 + 1), "it is over")],
)
def test_a_file_that_cannot_be_used_is_named_and_refused_every_time(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "rules.json"
    path.write_bytes(content)
    file = rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS)
    for _ in range(2):
        with pytest.raises(PolicyUnreadable) as caught:
            file.read()
        assert caught.value.message.startswith(f"{WHAT} cannot be used: {reason}")
        assert caught.value.path == str(path)
        # The path is for the server's owner: a client over HTTP gets none.
        assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("odd", ["directory", "pipe", "loop", "link to nothing"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "rules.json"
    if odd == "directory":
        path.mkdir()
    elif odd == "pipe":
        os.mkfifo(path)
    else:
        # What is gone from behind a link may have forbidden something.
        path.symlink_to(path if odd == "loop" else tmp_path / "unmounted" / "rules.json")
    with pytest.raises(PolicyUnreadable):
        rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS).read()


def test_a_rule_is_added_once_and_leaves_everything_else_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rules.json"
    add_rule(str(path), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700
    # A first answer that is remembered puts nothing else behind consent.
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "permissions": {"others": "allow", "allow": [{"tool": "skill_load", "skill_name": "pdf"}]}
    }
    path.write_text('{"model": "m", "permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    add_rule(str(path), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    add_rule(str(path), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    kept = json.loads(path.read_text(encoding="utf-8"))
    denied = {"deny": [{"tool": "skill_load"}], "others": "confirm"}
    assert kept == {"model": "m", "permissions": {**denied, "allow": [RULE.as_json()]}}
    assert change_rules(str(path), what=WHAT, tools=TOOL_ACTIONS, forget=[RULE]) == (ListedRule("allow", RULE),)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept == {"model": "m", "permissions": denied}


def test_a_rule_takes_the_place_of_those_about_the_same_and_of_no_others(tmp_path: Path) -> None:
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
    replaced = change_rules(str(path), what=WHAT, tools=TOOL_ACTIONS, put=allowed)
    assert replaced == (ListedRule("deny", other_spelling), ListedRule("confirm", RULE))
    kept = rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS).read()
    assert kept == Rules((running, every, PermissionRule("skill_load", "csv")), (RULE,))
    assert change_rules(str(path), what=WHAT, tools=TOOL_ACTIONS, put=allowed, others=Decision.ALLOW) == ()
    kept = rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS).read()
    assert kept is not None
    assert (kept.others, kept.allow) == (Decision.ALLOW, (RULE,))
    assert change_rules(str(path), what=WHAT, tools=TOOL_ACTIONS, forget=[every]) == (ListedRule("deny", every),)
    # A new file beside another of the person's changes nothing for what neither names.
    new = tmp_path / "new.json"
    change_rules(str(new), what=WHAT, tools=TOOL_ACTIONS, put=[ListedRule("deny", RULE)])
    assert rules_file(str(new), what=WHAT, tools=TOOL_ACTIONS).read() == Rules((RULE,), others=Decision.ALLOW)
    # A file that does not say so goes on to mean that the others need consent.
    new.write_text('{"permissions": {}}', encoding="utf-8")
    change_rules(str(new), what=WHAT, tools=TOOL_ACTIONS, put=[ListedRule("deny", RULE)])
    assert rules_file(str(new), what=WHAT, tools=TOOL_ACTIONS).read() == Rules((RULE,))


def test_a_file_that_is_not_understood_is_not_written_over(tmp_path: Path) -> None:
    for name, change in (
        ("rules.json", lambda path: add_rule(path, "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)),
        ("choices.json", lambda path: change_choices(path, lambda one: one.switched("a", on=False))),
    ):
        path = tmp_path / name
        path.write_text("{ half", encoding="utf-8")
        with pytest.raises(PolicyUnreadable):
            change(str(path))
        assert path.read_text(encoding="utf-8") == "{ half"


def test_a_link_stays_a_link_when_what_it_leads_to_is_changed(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"permissions": {}}', encoding="utf-8")
    link = tmp_path / "rules.json"
    link.symlink_to(real)
    add_rule(str(link), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    assert link.is_symlink()
    assert "pdf" in real.read_text(encoding="utf-8")


def test_a_written_file_is_its_owners_alone_whatever_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text('{"permissions": {}}', encoding="utf-8")
    path.chmod(0o644)
    add_rule(str(path), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    change_choices(str(tmp_path / "choices.json"), lambda choices: choices.switched("a", on=False))
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("rules.json", "choices.json")] == [0o600] * 2


def test_no_change_is_lost_when_many_change_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "choices.json")

    def switch(number: int) -> None:
        change_choices(path, lambda choices: choices.switched(f"skill-{number}", on=False))

    threads = [threading.Thread(target=switch, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = choices_file(path).read()
    assert kept == Choices(user={f"skill-{number}": False for number in range(12)})
    assert sorted(os.listdir(tmp_path)) == ["choices.json", "choices.json.lock"]


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(PolicyUnwritable, match="Not a directory"):
        change_choices(str(tmp_path / "file" / "choices.json"), lambda choices: choices)


# Root is refused nothing, so this runs as nobody, who may not read every Python: a first run imports what is needed.
AS_NOBODY = """
import os, sys
from skillhub_mcp.cli.main import run
run(["token", "new", "first", "--file", sys.argv.pop(1)])
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that everybody may enter. Each new session of pytest closes the one that `tmp_path` is in."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made).resolve()
        directory.chmod(0o755)
        yield directory


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
@pytest.mark.parametrize(
    ("place", "culprit", "cause", "hint"),
    [
        ("closed/t.json", "closed", "Permission denied", "its directory must be writable for you"),
        ("closed/below/t.json", "closed/below", "Permission denied", "its directory must be writable for you"),
        ("open", "open", "Is a directory", "a directory has the place of the file; name a file in it"),
        ("file/t.json", "file", "Not a directory", "a part of its path is a file; name a file in a directory"),
    ],
)
def test_a_token_that_cannot_be_written_says_at_once_what_prevents_it(
    open_directory: Path, place: str, culprit: str, cause: str, hint: str
) -> None:
    (open_directory / "open").mkdir(mode=0o777)
    (open_directory / "closed").mkdir()
    (open_directory / "closed").chmod(0o555)
    (open_directory / "file").write_text("", encoding="utf-8")
    arguments = [sys.executable, "-c", AS_NOBODY, str(open_directory / "first.json")]
    done = subprocess.run(
        [*arguments, "token", "new", "ci", "--file", str(open_directory / place)],
        env={**os.environ, "HOME": str(open_directory)},
        capture_output=True,
        text=True,
        check=False,
        # Waiting for a lock that nobody holds takes ten seconds.
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"\nerror: The file of tokens cannot be written: {cause} ({open_directory / culprit})\n\nhint: {hint}\n"
    )
    assert {file.name for file in open_directory.rglob("*")} == {
        *("open", "closed", "file"),
        *("first.json", "first.json.lock"),
    }


def test_a_full_disk_is_named_and_the_file_stays_as_it_was(tmp_path: Path) -> None:
    with mounted("-t", "tmpfs", "-o", "size=32k", "tmpfs", at=tmp_path / "small"):
        small = tmp_path / "small" / "rules.json"
        small.write_text('{"permissions": {}}', encoding="utf-8")
        with contextlib.suppress(OSError), open(tmp_path / "small" / "rest", "wb", buffering=0) as rest:
            while True:
                rest.write(b"x" * 1024)
        with pytest.raises(PolicyUnwritable, match="No space left on device") as caught:
            add_rule(str(small), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
        assert caught.value.path == str(small)
        assert (caught.value.hint or "").startswith("free some space")
        assert small.read_text(encoding="utf-8") == '{"permissions": {}}'


CHANGES: dict[str, Callable[[str], object]] = {
    "a rule": lambda path: add_rule(path, "allow", RULE, what=WHAT, tools=TOOL_ACTIONS),
    "choices": lambda path: change_choices(path, lambda choices: choices.switched("pdf", on=False)),
    "roots": lambda path: change_roots(path, lambda record: record),
    "trust": lambda path: change_trust(path, lambda record: record),
    "tokens": lambda path: change_tokens(path, lambda tokens: tokens),
    "reviews": lambda path: change_reviews(path, lambda reviews: reviews),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_in_a_directory_that_others_may_write_nothing_is_changed(
    open_directory: Path, change: Callable[[str], object]
) -> None:
    hub = open_directory / "hub"
    hub.mkdir()
    hub.chmod(0o777)
    with pytest.raises(PolicyUnwritable, match="others may write to a directory that it is in") as refused:
        change(str(hub / "file.json"))
    assert refused.value.path == str(hub)
    assert refused.value.hint == f"nothing was changed; run chmod go-w {hub}"
    with pytest.raises(PolicyUnwritable):
        change(str(hub / "new" / "file.json"))
    assert list(hub.iterdir()) == []
    hub.chmod(0o755)
    change(str(hub / "file.json"))


def test_a_lock_that_is_really_held_is_said_to_be_anothers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillhub_mcp.policy.files._LOCK_SECONDS", 0.1)
    path = str(tmp_path / "rules.json")
    with FileLock(f"{path}.lock"), pytest.raises(PolicyUnwritable, match="another process has locked it") as caught:
        add_rule(path, "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    assert caught.value.hint == "nothing was changed; try again"


def test_what_trying_again_does_not_help_against_is_not_said_to_help() -> None:
    # As below /proc, where nothing can be created.
    error = PolicyUnwritable("The file", path="/proc", reason="No such file or directory", number=errno.ENOENT)
    assert error.hint == "name a file elsewhere"


def test_a_file_that_somebody_else_may_write_is_not_used_until_nobody_may(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"permissions": {"deny": [{"tool": "skill_load"}]}}', encoding="utf-8")
    rules = rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS)
    in_force = rules.read()
    path.chmod(0o666)
    with pytest.raises(PolicyUnreadable, match=r"others may write it \(mode 0666\)") as refused:
        rules.read()
    assert str(tmp_path) not in f"{refused.value.message} {refused.value.hint}"
    assert refused.value.path == str(path)
    with pytest.raises(PolicyUnreadable):
        add_rule(str(path), "allow", RULE, what=WHAT, tools=TOOL_ACTIONS)
    path.chmod(0o644)
    assert rules.read() == in_force
    # A project's file is anybody's: it only denies, and only its own skills.
    path.chmod(0o666)
    assert rules_file(str(path), what=WHAT, tools=TOOL_ACTIONS, within=str(tmp_path)).read() == in_force


OTHERS = (choices_file, tokens_file, roots_file, trust_file, reviews_file)


@pytest.mark.parametrize("read", OTHERS)
def test_so_are_the_other_files_of_the_persons_word(read: Callable[[str], PolicyFile[Any]], tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o602)
    with pytest.raises(PolicyUnreadable, match="others may write it"):
        read(str(path)).read()


@pytest.mark.parametrize(
    "read", [choices_file, tokens_file, roots_file, trust_file, partial(rules_file, what=WHAT, tools=TOOL_ACTIONS)]
)
@pytest.mark.parametrize(
    ("content", "reason"), [("[" * 100_000, "too deep"), ('{"format": ' + "9" * 5_000 + "}", "too long")]
)
def test_what_python_cannot_hold_is_refused_like_anything_else(
    read: Callable[[str], PolicyFile[Any]], content: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(content, encoding="utf-8")
    with pytest.raises(PolicyUnreadable, match=reason):
        read(str(tmp_path / "own.json")).read()


def test_what_is_written_is_the_persons_alone_with_its_directory_whatever_the_umask(tmp_path: Path) -> None:
    own = tmp_path / "home" / ".skillhub"
    before = os.umask(0)
    try:
        add_rule(str(own / "permissions.json"), "deny", RULE, what=WHAT, tools=TOOL_ACTIONS)
        change_choices(str(own / "choices.json"), lambda choices: choices)
    finally:
        os.umask(before)
    made = [own.parent, own, *own.iterdir()]
    assert {path.name for path in made} >= {"permissions.json", "choices.json"}
    assert [path for path in made if path.stat().st_mode & 0o077] == []
