"""Two servers with one file of tokens, two tokens and two libraries: what one does, the other is not asked about."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import add_token, bearer, knock
from tests.server.connections import listening
from tests.server.sessions import command

pytestmark = pytest.mark.slow


async def names(url: str, token: str, mode: str) -> tuple[list[str], str | None]:
    """What a bearer finds, and how loading `gamma` ends for them."""
    async with bearer(url, token, mode) as hub:
        listed = (await hub.call("search_skills", query="")).json["skills"]
        return [skill["name"] for skill in listed], (await hub.call("load_skill", skill_name="gamma")).code


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_tokens_at_two_servers_get_their_own_of_each_library(
    mode: str, hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    for root, of_root in (("a", ("alpha", "gamma")), ("b", ("beta", "gamma"))):
        for name in of_root:
            write_skill(name, f"Does {name} in {root}.", root=tmp_path / root)
    tokens = tmp_path / "tokens.json"
    one, two = add_token(tokens, "one", skills=["alpha", "beta"]), add_token(tokens, "two", skills=["gamma"])
    shared = {**hub_environment, "SKILLHUB_TOKENS_FILE": str(tokens)}

    async def both(urls: list[str], secret: str) -> list[tuple[list[str], str | None]]:
        return [*await asyncio.gather(*(names(url, secret, mode) for url in urls))]

    with (
        listening({**shared, "SKILLS_DIR": str(tmp_path / "a")}) as first,
        listening({**shared, "SKILLS_DIR": str(tmp_path / "b")}) as second,
    ):
        urls = [first, second]
        assert asyncio.run(both(urls, one)) == [(["alpha"], "SKILL_NOT_FOUND"), (["beta"], "SKILL_NOT_FOUND")]
        assert asyncio.run(both(urls, two)) == [(["gamma"], None), (["gamma"], None)]
        # A choice is its person's, and every server of theirs follows; a token that is taken back opens neither.
        command({**shared, "SKILLS_DIR": str(tmp_path / "a")}, "disable", "gamma")
        assert asyncio.run(both(urls, two)) == [([], "SKILL_DISABLED"), ([], "SKILL_DISABLED")]
        command(shared, "token", "revoke", "one")
        assert [knock(url, one).status_code for url in urls] == [401, 401]
        assert [knock(url, two).status_code for url in urls] == [200, 200]
