"""Mentions of skills in a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SkillWriter

from skillhub_mcp.disclosure.mentions import Mentionable, Unresolved, resolve_mentions
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan


def skill(name: str, place: str | None = None, *, enabled: bool = True, awaits_trust: bool = False) -> Mentionable:
    return Mentionable(name, place or f"/skills/{name}", name, enabled=enabled, awaits_trust=awaits_trust)


ALPHA, BETA, OTHER_BETA = skill("alpha-skill"), skill("beta", "/a/beta"), skill("beta", "/b/beta")
SKILLS = [
    ALPHA,
    BETA,
    OTHER_BETA,
    skill("off", enabled=False),
    skill("日本語"),
    skill("3d-print"),
    skill("path"),
    skill("PATH"),
]


def found(text: str, skills: list[Mentionable] | None = None, cwd: str = "/work") -> list[str]:
    return [one.directory for one in resolve_mentions(text, SKILLS if skills is None else skills, cwd=cwd).skills]


@pytest.mark.acceptance("S0-80")
@pytest.mark.parametrize(
    "text",
    [
        "$alpha-skill",
        "use $alpha-skill.",
        "($alpha-skill)",
        "$alpha-skill, please",
        "'$alpha-skill'",
        "$alpha-skill: do it",
        "a\n$alpha-skill\nb",
        "use $alpha-skill and $alpha-skill",
        "これは$alpha-skillを使って",
        "日本語で$alpha-skill。",
    ],
)
def test_a_whole_token_mentions_a_skill_once(text: str) -> None:
    assert found(text) == ["/skills/alpha-skill"]


@pytest.mark.acceptance("S0-80")
@pytest.mark.parametrize(
    "text",
    [
        "$alpha-skillx",
        "$alpha-skill-2",
        "$alpha_skill",
        "alpha-skill",
        "\\$alpha-skill",
        "$$alpha-skill",
        "a$alpha-skill",
    ],
)
def test_other_text_is_not_a_mention(text: str) -> None:
    assert found(text) == []


@pytest.mark.acceptance("S0-80")
@pytest.mark.parametrize("text", ["$PATH", "$HOME", "$XDG_CONFIG_HOME", "echo $PATH:$HOME", "${PATH}", "$1", "$"])
def test_environment_variables_are_not_mentions(text: str) -> None:
    resolution = resolve_mentions(text, SKILLS, cwd="/work")
    assert (resolution.skills, resolution.unresolved) == ((), ())


@pytest.mark.acceptance("S0-80")
def test_names_of_any_script_and_aliases_are_resolved() -> None:
    assert found("$日本語 を使って") == ["/skills/日本語"]
    assert found("$3d-print it") == ["/skills/3d-print"]
    assert found("$pdf処理を", [skill("pdf処理を"), skill("pdf")]) == ["/skills/pdf処理を"]
    assert found("$pdf-tools", [skill("PDF Tools", "/s/pdf")]) == ["/s/pdf"]


@pytest.mark.acceptance("S0-81")
def test_an_ambiguous_name_is_unresolved_with_candidates() -> None:
    resolution = resolve_mentions("$beta", SKILLS, cwd="/work")
    assert resolution.skills == ()
    assert resolution.unresolved == (Unresolved("$beta", "ambiguous", ("/a/beta", "/b/beta")),)


@pytest.mark.parametrize("theirs", ["deploy", "Deploy"])
def test_an_untrusted_skill_does_not_make_a_name_ambiguous(theirs: str) -> None:
    brought = skill(theirs, "/repo/deploy", awaits_trust=True)
    assert found("$deploy", [brought, skill("deploy")]) == ["/skills/deploy"]
    assert found("$deploy", [brought, skill("deploy", enabled=False)]) == []
    assert found("$deploy", [brought]) == ["/repo/deploy"]


@pytest.mark.acceptance("S0-81")
@pytest.mark.parametrize(
    "text",
    [
        "[$beta](/b/beta)",
        "[$beta](/b/beta/SKILL.md)",
        "[$beta](../b/beta/SKILL.md) and $beta again",
        "$beta, I mean /b/beta/SKILL.md",
        "see `/b/beta/SKILL.md`.",
        "[$anything](</b/beta>)",
    ],
)
def test_a_path_takes_precedence_over_names(text: str) -> None:
    assert found(text) == ["/b/beta"]


@pytest.mark.acceptance("S0-80", "S0-81")
def test_a_linked_path_may_contain_parentheses() -> None:
    skills = [skill("beta", "/work/(scratch)"), BETA]
    assert found("[$beta]((scratch))", skills) == ["/work/(scratch)"]
    assert found("[beta]((scratch))", skills) == []
    assert found("[beta](/a/beta)") == []


@pytest.mark.acceptance("S0-81")
def test_a_missing_path_does_not_fall_back_to_the_name() -> None:
    resolution = resolve_mentions("[$alpha-skill](/gone)", SKILLS, cwd="/work")
    assert resolution.skills == ()
    assert resolution.unresolved == (Unresolved("[$alpha-skill](/gone)", "unknown"),)


@pytest.mark.acceptance("S0-82")
def test_a_disabled_skill_is_unresolved() -> None:
    for text in ("$off", "[$off](/skills/off)"):
        resolution = resolve_mentions(text, SKILLS, cwd="/work")
        assert resolution.skills == ()
        assert resolution.unresolved == (Unresolved(text, "off", ("/skills/off",)),)
    # With one of two namesakes disabled, the name means the other.
    assert found("$beta", [BETA, skill("beta", "/b/beta", enabled=False)]) == ["/a/beta"]


def test_an_unknown_name_has_suggestions() -> None:
    (unresolved,) = resolve_mentions("$alpha-skil", SKILLS, cwd="/work").unresolved
    assert unresolved == Unresolved("$alpha-skil", "unknown", ("alpha-skill",))


def test_a_symlink_resolves_to_the_same_skill(tmp_path: Path) -> None:
    real = tmp_path.resolve() / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert found("[$x](link)", [skill("x", str(real))], cwd=str(tmp_path)) == [str(real)]


def test_a_skill_below_a_linked_root_is_found_by_both_paths(tmp_path: Path, write_skill: SkillWriter) -> None:
    real = write_skill("x", root=tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    snapshot = scan(make_roots([str(tmp_path / "link")]), memory={}).snapshot
    (only,) = snapshot.skills
    assert only.directory == str(tmp_path / "link" / "x")
    assert Names(snapshot).find(str(real)) is Names(snapshot).find(only.directory) is only
    mentionable = [Mentionable(only.name, only.directory, only.name, real_directory=snapshot.real_directory(only))]
    for path in (only.directory, str(real / "SKILL.md")):
        assert found(f"[$x]({path})", mentionable) == [only.directory]


def test_skills_are_in_the_order_of_the_text() -> None:
    assert found("/a/beta/SKILL.md then $alpha-skill") == ["/a/beta", "/skills/alpha-skill"]


@given(st.text(alphabet="$[]()ab-/SKILL.md ~\\`", max_size=200))
def test_any_text_resolves_deterministically(text: str) -> None:
    assert resolve_mentions(text, SKILLS, cwd="/work") == resolve_mentions(text, SKILLS, cwd="/work")


@pytest.mark.parametrize("text", ["[$x](" * 20_000, "$a" * 50_000, "/" * 100_000, "a/SKILL.md" * 10_000, "(" * 100_000])
def test_a_long_hostile_text_takes_linear_time(text: str) -> None:
    assert resolve_mentions(text, [ALPHA], cwd="/work").skills == ()


def test_disabled_skills_are_not_suggested() -> None:
    one, other = skill("invoices"), skill("invoice", enabled=False)
    (unresolved,) = resolve_mentions("$invoicez", [one, other], cwd="/work").unresolved
    assert unresolved == Unresolved("$invoicez", "unknown", ("invoices",))


def test_a_repeated_unknown_name_keeps_its_suggestions() -> None:
    """Names are looked for a few times only: after that, no more is offered."""
    many = " ".join(f"$nothing-like-{number}" for number in range(10))
    resolution = resolve_mentions(f"$alpha-skil {many} $alpha-skil", SKILLS, cwd="/work")
    assert resolution.unresolved[0] == Unresolved("$alpha-skil", "unknown", ("alpha-skill",))
    assert len(resolution.unresolved) == 11
