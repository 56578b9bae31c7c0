"""Collect the commits of a range, grouped by the kind that their subjects name."""

import argparse
import json
import re
import subprocess
import sys

KINDS = {
    "breaking": re.compile(r"^\w+(\([^)]*\))?!:|BREAKING CHANGE", re.M),
    "security": re.compile(r"^(security\b|fix\(security\))|\bCVE-\d{4}-\d+", re.I | re.M),
    "added": re.compile(r"^(feat|add|introduce|support|let|allow)\b", re.I),
    "fixed": re.compile(r"^(fix|mend|repair|stop|prevent|correct|revert)\b", re.I),
    "removed": re.compile(r"^(remove|drop|delete)\b", re.I),
    "unseen": re.compile(r"^(chore|ci|test|tests|refactor|style|build|docs|typo|merge|wip)\b", re.I),
}
PREFIX = re.compile(r"^\w+(\([^)]*\))?!?:\s*")


def kind_of(message):
    """Return the kind of change that a commit message names; anything else is a change."""
    return next((kind for kind, pattern in KINDS.items() if pattern.search(message)), "changed")


def collect(commits, directory):
    """Return the commits of a range as values, newest first."""
    done = subprocess.run(
        ["git", "-C", directory, "log", "--no-merges", "--format=%h%x1f%an%x1f%B%x1e", commits, "--"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "git failed")
    found = []
    for record in done.stdout.split("\x1e"):
        if record.strip():
            short, author, message = record.strip().split("\x1f")
            subject = message.strip().splitlines()[0] if message.strip() else "(no subject)"
            found.append(
                {
                    "kind": kind_of(message.strip()),
                    "commit": short,
                    "author": author,
                    "subject": PREFIX.sub("", subject),
                    "references": re.findall(r"[#!]\d+", message),
                }
            )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", help="a range such as v1.4.0..HEAD")
    parser.add_argument("--repo", default=".", help="the checkout (default: here)")
    parser.add_argument("--json", action="store_true", help="print the commits as JSON")
    args = parser.parse_args()
    try:
        if args.commits.startswith("-"):
            raise ValueError("a range of commits does not begin with a hyphen")
        found = collect(args.commits, args.repo)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return 0
    for kind in ("breaking", "security", "added", "changed", "fixed", "removed", "unseen"):
        own = [commit for commit in found if commit["kind"] == kind]
        if own:
            print(f"{kind} ({len(own)})")
            for commit in own:
                references = " ".join(commit["references"])
                print(
                    f"  {commit['commit']}  {commit['subject']}  ({commit['author']}{', ' + references if references else ''})"
                )
    print(f"{len(found)} commits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
