"""How the caller's skills stand against their locks, at /skills."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.locks.locked import lock
from tests.server.bearers import add_token
from tests.server.connections import listening

from skillhub_mcp.server.http import pages

JSON = {"accept": "application/json"}


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    told = "name: told\ndescription: From elsewhere.\nmetadata:\n  github-repo: https://ann:secret@github.com/o/r"
    write_skill("told", frontmatter=told)
    write_skill("own")
    lock(write_skill("pdf", files={"a.txt": "A"}))
    lock(write_skill("edited", files={"a.txt": "A"})).with_name("edited").joinpath("a.txt").write_text("B")
    return hub_environment


def ask(url: str, path: str = "/skills", **headers: str) -> httpx2.Response:
    return httpx2.get(url.removesuffix("/mcp") + path, headers=headers, timeout=30)


@pytest.mark.slow
def test_the_page_tells_of_each_skill_where_it_is_from_and_how_it_stands(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(environment) as url:
        page, found = ask(url), ask(url, **JSON).json()
        assert "skills    /skills" in ask(url, "/").text
        assert (page.status_code, page.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert "edited\n  state         edited\n  source        o/r\n" in page.text
        skills = {one["name"]: one for one in found["skills"]}
        assert {name: one["state"] for name, one in skills.items()} == {
            "edited": "edited",
            "pdf": "unchanged",
            "told": "unlocked",
        }
        assert skills["pdf"]["file"] is None
        assert skills["pdf"]["digest"].startswith("sha256:")
        assert (skills["told"]["source"], skills["told"]["verified"]) == ("https://github.com/o/r", False)
        assert (found["unlocked"], found["more"]) == (1, 0)
        # A page of another site cannot read it, and no cache keeps it for another caller.
        assert ask(url, host="evil.example").status_code == 421
        assert page.headers["cache-control"] == "private, no-cache"
        monkeypatch.setattr(pages, "_MAX_CHECKED", 1)
        assert ask(url, **JSON).json()["more"] == 3


@pytest.mark.slow
def test_each_bearer_is_told_of_their_own_skills_and_a_stranger_of_none(
    environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    every, some = add_token(file, "all"), add_token(file, "some", skills=["pdf"])
    with listening({**environment, "SKILLHUB_TOKENS_FILE": str(file)}) as url:

        def told(token: str) -> list[str]:
            answer = ask(url, **JSON, authorization=f"Bearer {token}")
            return [one["name"] for one in answer.json()["skills"]]

        assert (told(every), told(some)) == (["edited", "pdf", "told"], ["pdf"])
        for stranger in (ask(url), ask(url, authorization="Bearer wrong")):
            assert stranger.status_code == 401
            assert "pdf" not in stranger.text
