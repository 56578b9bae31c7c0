"""Published skills over HTTP: access, caching and rate limits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import httpx2
import pytest
from tests.conftest import SkillWriter, own_file
from tests.server.bearers import add_token
from tests.server.connections import listening

pytestmark = pytest.mark.slow

TOP = "/.well-known/agent-skills"
INDEX = f"{TOP}/index.json"


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    write_skill("pdf", "Reads and fills PDF forms.", files={"scripts/fill.py": "print()\n"})
    write_skill("notes", "Keeps \u2028notes.</skill>")
    return {**hub_environment, "SKILLHUB_WELL_KNOWN": "1"}


def ask(url: str, path: str, method: str = "GET", **headers: str) -> httpx2.Response:
    return httpx2.request(method, url.removesuffix("/mcp") + path, headers=headers, timeout=30)


def test_artifacts_match_the_index(environment: dict[str, str]) -> None:
    with listening(environment) as url:
        index = ask(url, INDEX)
        skills = {one["name"]: one for one in index.json()["skills"]}
        assert {name: (one["type"], one["url"]) for name, one in skills.items()} == {
            "notes": ("skill-md", "notes/SKILL.md"),
            "pdf": ("archive", "pdf.zip"),
        }
        for one in skills.values():
            artifact = ask(url, f"{TOP}/{one['url']}")
            assert one["digest"] == f"sha256:{hashlib.sha256(artifact.content).hexdigest()}"
            assert artifact.headers["etag"] == f'"{one["digest"]}"'
            assert artifact.headers["cache-control"] == "private, no-cache"
            # A cached copy is not sent again, and HEAD gets only headers.
            again = ask(url, f"{TOP}/{one['url']}", **{"if-none-match": f'W/"other", "{one["digest"]}"'})
            assert (again.status_code, again.content) == (304, b"")
            head = ask(url, f"{TOP}/{one['url']}", "HEAD")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(artifact.content))
        assert ask(url, INDEX, **{"if-none-match": index.headers["etag"]}).status_code == 304
        assert ask(url, f"{TOP}/pdf/SKILL.md").text.startswith("---\nname: pdf\n")
        for path in ("/nope.zip", "/nope/SKILL.md", "/notes.zip", "/pdf/scripts/fill.py", "/..%2fpdf.zip", ""):
            assert ask(url, TOP + path).status_code == 404, path
        assert ask(url, f"{TOP}/pdf.zip", "DELETE").status_code == 405
        # The description is one sanitized line.
        assert "\u2028" not in skills["notes"]["description"]
        assert "</skill>" not in skills["notes"]["description"]


def test_each_bearer_gets_their_skills_and_strangers_none(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    all_of_them, notes = add_token(file, "all"), add_token(file, "some", skills=["notes"])
    with listening({**environment, "SKILLHUB_TOKENS_FILE": str(file)}) as url:

        def names(token: str) -> list[str]:
            answer = ask(url, INDEX, authorization=f"Bearer {token}")
            return [one["name"] for one in answer.json()["skills"]]

        assert (names(all_of_them), names(notes)) == (["notes", "pdf"], ["notes"])
        assert ask(url, f"{TOP}/pdf.zip", authorization=f"Bearer {all_of_them}").status_code == 200
        assert ask(url, f"{TOP}/pdf.zip", authorization=f"Bearer {notes}").status_code == 404
        for path in (INDEX, f"{TOP}/pdf.zip", f"{TOP}/pdf/SKILL.md", f"{TOP}/nope.zip"):
            refused = ask(url, path)
            assert (refused.status_code, refused.json()["error"]) == (401, "token_required")


def test_publishing_obeys_hosts_hooks_and_rate_limits(environment: dict[str, str], tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.json"
    command = {"type": "command", "command": "exit 2"}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "read_skill_file", "hooks": [command]}]}}))
    hooks.chmod(0o600)
    with listening({**environment, "SKILLHUB_HOOKS": str(hooks), "SKILLHUB_RATE_LIMIT": "6"}) as url:
        assert ask(url, INDEX, host="evil.example").status_code == 421
        assert ask(url, INDEX, origin="https://evil.example").status_code == 403
        blocked = ask(url, f"{TOP}/pdf.zip")
        assert (blocked.status_code, blocked.json()["error"]) == (403, "blocked_by_hook")
        assert [ask(url, INDEX).status_code for _ in range(8)][-1] == 429


def test_the_audit_records_who_installed_what(environment: dict[str, str], tmp_path: Path) -> None:
    file, audit = tmp_path / "tokens.json", tmp_path / "audit.jsonl"
    audited = {**environment, "SKILLHUB_AUDIT_LOG": str(audit)}
    token = add_token(file, "ann")
    with listening({**audited, "SKILLHUB_TOKENS_FILE": str(file)}) as url:
        ask(url, f"{TOP}/pdf.zip", authorization=f"Bearer {token}")
    with listening(audited) as url:
        ask(url, f"{TOP}/notes/SKILL.md")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["act"], line["skill"], line["who"], line["transport"]) for line in lines] == [
        ("load", "pdf", "ann", "http"),
        ("read", "pdf", "ann", "http"),
        ("load", "notes", "anonymous", "http"),
    ]


def test_unreadable_rules_block_every_skill_and_are_reported(environment: dict[str, str]) -> None:
    rules = own_file("permissions.json")
    rules.write_text("{")
    with listening(environment) as url:
        for path in (INDEX, f"{TOP}/pdf.zip"):
            answer = ask(url, path)
            assert (answer.status_code, answer.json()["error"]) == (503, "policy_unreadable")
            assert str(rules.parent) not in answer.text
