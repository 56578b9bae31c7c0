"""How each skill is published to hosts that read skills natively."""

from __future__ import annotations

from skillhub_mcp.bootstrap.server import make_publisher
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.publishing.publisher import Publication
from skillhub_mcp.skills.problems import Problem


def check_published(installation: Installation) -> CheckResult:
    """Return what was adapted to be published, and warnings about what cannot be. Nothing where no rules are known."""
    snapshot = installation.view.snapshot
    publisher = make_publisher(installation.settings, installation.hub)
    try:
        published = list(publisher.publications())
    except PolicyUnreadable:
        published = []
    withheld = tuple(
        Problem(
            one.skill.directory,
            f"not published to hosts that read skills natively: {one.withheld}",
            "correct that for their sake; the tools serve it as it is",
        )
        for one in published
        # Of a root that is away, its own problem says why nothing in it can be read.
        if one.withheld and snapshot.unavailable_root(one.skill) is None
    )
    return CheckResult(
        warnings=withheld,
        details=_details(published),
        facts={
            "published": [
                {
                    "name": one.skill.name,
                    "path": one.skill.directory,
                    "uri": one.uri,
                    "changes": list(one.changes),
                    "withheld": one.withheld,
                }
                for one in published
            ]
        },
    )


def _details(published: list[Publication]) -> tuple[str, ...]:
    adapted = [one for one in published if one.changes and not one.withheld]
    withheld = sum(1 for one in published if one.withheld)
    lines = [f"natively  {len(published) - withheld:,} published, {len(adapted):,} adapted, {withheld:,} withheld"]
    if adapted:
        lines.append("  Published in the specification's form (the files themselves are unchanged):")
        for one in adapted:
            lines.append(f"    {one.uri}")
            lines += [f"        {change}" for change in one.changes]
    return tuple(lines)


CHECK = Check("published", check_published)
