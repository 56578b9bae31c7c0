"""What users agreed to, as several worker processes of one server share it."""

from __future__ import annotations

from pathlib import Path

from skillhub_mcp.policy.access import Grant
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.server.middleware.agreements import SharedAgreements

KEY = ("handle", "h", "ada")
GRANTED = frozenset({Grant(Action.LOAD, "/skills/é"), Grant(Action.RUN, "/skills/b", "sha256:0", packages=True)})


def test_another_worker_finds_what_was_agreed_to_in_that_session(tmp_path: Path) -> None:
    one, other = (SharedAgreements(str(tmp_path), b"key") for _ in range(2))
    assert other.find(KEY) == frozenset()
    one.record(KEY, [Grant(Action.LOAD, "/skills/a")])
    one.record(KEY, GRANTED)
    assert other.find(KEY) == GRANTED
    assert other.find(("handle", "h", "bob")) == other.find(("handle", "h")) == frozenset()


def test_what_no_worker_of_this_server_wrote_is_no_agreement(tmp_path: Path) -> None:
    SharedAgreements(str(tmp_path), b"key").record(KEY, GRANTED)
    # A later server has another secret.
    assert SharedAgreements(str(tmp_path), b"other key").find(KEY) == frozenset()
    same = SharedAgreements(str(tmp_path), b"key")
    (file,) = tmp_path.iterdir()
    kept = file.read_bytes()
    for changed in (kept.replace(b"skills/b", b"skills/c"), kept[:-1], kept[:10], b""):
        file.write_bytes(changed)
        assert same.find(KEY) == frozenset()
    # One session's file in the place of another's.
    same.record(("handle", "x", "bob"), [])
    (place,) = (path for path in tmp_path.iterdir() if path != file)
    place.write_bytes(kept)
    assert same.find(("handle", "x", "bob")) == frozenset()
