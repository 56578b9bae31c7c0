"""Everything that users see has a verdict for the next release, and docs/inventory.md shows it."""

from __future__ import annotations

import pytest
from docs import inventory
from docs.inventory import Verdict, decide

KEEP, DROP = Verdict("keep", "", "needed"), Verdict("drop", "41", "no leases")


def test_the_page_is_up_to_date_and_every_item_has_a_verdict() -> None:
    assert inventory.PAGE.read_text(encoding="utf-8") == inventory.page(), "run python docs/inventory.py"


def test_what_is_kept_fits_the_bounds_of_settings_and_methods() -> None:
    found = inventory.inventory()
    kept = {group: [item for item, one in rows.items() if one.kind == "keep"] for group, rows in found.items()}
    assert len(kept["settings"]) <= 70
    assert sum(item.startswith("SkillHub.") for item in kept["python"]) <= 20


@pytest.mark.parametrize(
    ("group", "some"),
    [
        ("commands", {"search", "token new"}),
        ("options", {"--json", "publish --keep"}),
        ("settings", {"SKILLS_DIR"}),
        ("errors", {"SKILL_NOT_FOUND"}),
        ("routes", {"/", "/mcp", "/healthz", "/metrics", "/.well-known/oauth-protected-resource/mcp"}),
        ("security", {"secrets beside a skill", "YAML bombs, huge or broken SKILL.md"}),
        ("python", {"make_hub", "SkillHub.search"}),
    ],
)
def test_items_of_every_group_are_found(group: str, some: set[str]) -> None:
    assert some <= inventory.inventory()[group].keys()


def test_the_longest_verdict_that_matches_decides() -> None:
    verdicts = {"*": KEEP, "publish *": DROP, "publish --keep": KEEP}
    assert decide("options", ["list --all", "publish --wait", "publish --keep"], verdicts) == {
        "list --all": KEEP,
        "publish --wait": DROP,
        "publish --keep": KEEP,
    }


def test_an_item_without_a_verdict_is_named() -> None:
    with pytest.raises(ValueError, match="'publish --wait' has no verdict"):
        decide("options", ["publish --wait"], {"publish --keep": KEEP})


def test_a_verdict_that_decides_nothing_is_named() -> None:
    with pytest.raises(ValueError, match="'LEASE_LOST' decides no item"):
        decide("errors", ["CONFLICT"], {"*": KEEP, "LEASE_LOST": DROP})
