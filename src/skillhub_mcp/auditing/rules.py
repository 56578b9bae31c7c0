"""The table of the audit's rules: id, severity, what is found, how to mend it, and where the pattern was published.

Wording and severity only: `phrases`, `commands`, `characters`, `hidden`, `blobs`, `header`, `entries` and `names` find.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# Counts up when a rule or a pattern changes, so that what was found by the rules before is looked at again.
RULES_VERSION = 4


class Risk(str, Enum):
    """How serious a finding is, the worst first.

    `critical` has hardly an honest explanation, `high` has one that a person should have heard, `medium` and `low` are
    for reviewers.
    """

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """The place in the order of severity, 0 for the worst."""
        return _RANKS[self]

    def eased(self) -> Risk:
        """Return the next lower severity."""
        return list(Risk)[min(self.rank + 1, len(_RANKS) - 1)]


_RANKS = {risk: rank for rank, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True)
class AuditRule:
    """One thing that the audit looks for. `severity` is the worst that it reports, `source` where it was published."""

    id: str
    severity: Risk
    finds: str
    fix: str
    source: str


_CRITICAL, _HIGH, _MEDIUM, _LOW = Risk

_WILD = "arXiv:2602.06547"
_TOXIC = "arXiv:2605.28588"
_HAVOC = "ClawHavoc campaign, January 2026"
_TROJAN = "Trojan Source, CVE-2021-42574"
_TAGS = "ASCII smuggling, Embrace The Red, 2024"
_INDIRECT = "OWASP LLM01:2025"
_TAXONOMY = "arXiv:2604.02837"
_VULNERABLE = "arXiv:2601.10338"
_ATTACK = "MITRE ATT&CK"
_CONFUSABLE = "Unicode UTS #39"
_REMOVE = "remove it, or ask the author what it is for"

AUDIT_RULES: dict[str, AuditRule] = {
    rule.id: rule
    for rule in (
        AuditRule(
            "hidden-tags",
            _CRITICAL,
            "text in Unicode tag characters, which nobody sees and models read",
            _REMOVE,
            _TAGS,
        ),
        AuditRule(
            "hidden-selectors", _CRITICAL, "runs of variation selectors, which can carry bytes unseen", _REMOVE, _TAGS
        ),
        AuditRule(
            "hidden-zero-width",
            _HIGH,
            "zero-width characters inside words, or runs of them",
            "remove them: 'skillhub show' prints them as escapes",
            _TAGS,
        ),
        AuditRule(
            "hidden-bidi",
            _HIGH,
            "bidirectional controls, which show text in another order than a model reads it",
            "remove them: 'skillhub show' prints them as escapes",
            _TROJAN,
        ),
        AuditRule(
            "hidden-comment",
            _CRITICAL,
            "instructions or commands in a comment, or in text styled to be invisible",
            "say in the open what an agent is to do, or remove it",
            _INDIRECT,
        ),
        AuditRule(
            "override-instructions",
            _CRITICAL,
            "a demand to ignore or outrank the instructions of the user, the system or the developer",
            _REMOVE,
            _INDIRECT,
        ),
        AuditRule("override-safety", _CRITICAL, "a demand to drop safety rules or refusals", _REMOVE, _TOXIC),
        AuditRule(
            "override-role",
            _HIGH,
            "text that imitates a system message, or the host's own markup",
            "remove the markup; a skill speaks as a skill",
            _TAXONOMY,
        ),
        AuditRule("secrecy", _CRITICAL, "a demand to keep something from the user", _REMOVE, _WILD),
        AuditRule(
            "download-run",
            _CRITICAL,
            "a download that is executed unseen",
            "name a package of a package manager, or ship the script and its checksum with the skill",
            _HAVOC,
        ),
        AuditRule(
            "prerequisite",
            _CRITICAL,
            "a prerequisite in the manner of known campaigns: locked archives, paste sites, protection turned off",
            _REMOVE,
            _HAVOC,
        ),
        AuditRule(
            "remote-instructions",
            _HIGH,
            "instructions that are fetched when the skill is used, and can change after any review",
            "put the instructions into the skill's own files",
            _TOXIC,
        ),
        AuditRule(
            "credential-access",
            _CRITICAL,
            "keys, tokens or passwords that are read, or sent on",
            "let the user pass the one credential that is needed, by its documented variable",
            _WILD,
        ),
        AuditRule("wallet-access", _HIGH, "wallets, recovery phrases or payment addresses", _REMOVE, _HAVOC),
        AuditRule("miner", _CRITICAL, "a miner of crypto currency", _REMOVE, f"{_ATTACK} T1496"),
        AuditRule(
            "exfiltration",
            _CRITICAL,
            "data that is sent out: the conversation, the environment, files; or a service made to catch such data",
            "remove it, or say in the description what is sent where, and why",
            _VULNERABLE,
        ),
        AuditRule(
            "encoded-run",
            _CRITICAL,
            "encoded code that is executed, or encoded instructions that are to be followed",
            "write it in clear",
            _WILD,
        ),
        AuditRule(
            "encoded-text",
            _HIGH,
            "an encoded text that is hostile once decoded, or that cannot be read",
            "write it in clear, or ship the file that it stands for",
            _TOXIC,
        ),
        AuditRule("reverse-shell", _CRITICAL, "a shell that is opened to another machine", _REMOVE, f"{_ATTACK} T1059"),
        AuditRule(
            "persistence",
            _HIGH,
            "something that starts again later: cron, login scripts, services, git hooks, authorized keys",
            "leave it to the user, in a step of its own",
            f"{_ATTACK} T1053, T1546",
        ),
        AuditRule(
            "agent-tampering",
            _HIGH,
            "changes to the agent itself: its memory, settings, hooks, servers or other skills",
            "ask the user to make the change",
            _WILD,
        ),
        AuditRule(
            "safety-off",
            _HIGH,
            "confirmations, sandboxes, signatures or certificate checks that are turned off",
            "leave them on, or ask the user",
            _TAXONOMY,
        ),
        AuditRule(
            "destructive",
            _HIGH,
            "commands that destroy what cannot be restored",
            "name what is removed, and ask",
            _TOXIC,
        ),
        AuditRule(
            "supply-chain",
            _HIGH,
            "packages from an address instead of a registry, or without a check of who signed them",
            "install a pinned version from the registry",
            _TOXIC,
        ),
        AuditRule(
            "tools-broad",
            _MEDIUM,
            "allowed-tools that allow everything, or every shell command",
            "name the tools and commands that the skill needs: Bash(git log:*)",
            _TAXONOMY,
        ),
        AuditRule(
            "hooks",
            _HIGH,
            "hooks in the frontmatter, or commands that run while the skill is loaded",
            "install hooks yourself, after reading them",
            _WILD,
        ),
        AuditRule(
            "pinned-imperative",
            _HIGH,
            "a description that gives orders, above all of a skill that is always applied",
            "describe what the skill does and when to use it",
            "MCP tool poisoning, Invariant Labs, 2025",
        ),
        AuditRule(
            "file-link-out", _HIGH, "a link that leads out of the skill", "copy the file into the skill", "CWE-59"
        ),
        AuditRule(
            "file-hard-link",
            _HIGH,
            "a file that has another name elsewhere, such as a private file outside the skill",
            "replace it by a copy: cp FILE COPY && mv COPY FILE",
            "CWE-62",
        ),
        AuditRule(
            "file-binary",
            _CRITICAL,
            "a compiled program, or a program or script under the name of something else",
            "ship sources, or name a package",
            _TOXIC,
        ),
        AuditRule(
            "file-hidden",
            _MEDIUM,
            "a script whose name begins with a dot",
            "give it a name that a listing shows",
            _WILD,
        ),
        AuditRule(
            "install-script",
            _HIGH,
            "a package file that runs commands when the package is installed",
            "remove the script: the skill can say what to run",
            _TOXIC,
        ),
        AuditRule(
            "name-look-alike",
            _HIGH,
            "a name that looks like another skill's, or mixes scripts, by characters that look alike",
            "rename it, or remove the one that you did not mean",
            _CONFUSABLE,
        ),
        AuditRule(
            "name-near",
            _MEDIUM,
            "a name that is one letter away from a skill's of another source",
            "rename it, or remove the one that you did not mean",
            "typosquatting, ClawHub, 2026",
        ),
        AuditRule(
            "name-shadowed",
            _LOW,
            "a name that a skill of another source has as well",
            "load it as name@source, or rename one of the two",
            _TAXONOMY,
        ),
        AuditRule(
            "not-read",
            _HIGH,
            "a part of the skill that was not read: too large, too many, too deep, installed packages, or unreadable",
            "read it yourself",
            "-",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One finding: the rule, its severity here, what was found, the file below the skill, and the 1-based line."""

    rule: str
    severity: Risk
    message: str
    path: str = "SKILL.md"
    line: int | None = None

    @property
    def place(self) -> str:
        """The file, and the line where there is one."""
        return f"{self.path}:{self.line}" if self.line else self.path


def found(
    rule: str, message: str, *, path: str = "SKILL.md", line: int | None = None, severity: Risk | None = None
) -> AuditFinding:
    """Return a finding of `rule`; `severity` where it is less than the rule's."""
    return AuditFinding(rule, severity or AUDIT_RULES[rule].severity, message, path, line)
