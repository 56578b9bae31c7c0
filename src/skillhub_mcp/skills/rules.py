"""What can be wrong with a SKILL.md, as a table: one rule, its severity, its sentence, and what mends it.

This module decides wording and severity only; `frontmatter`, `reading`, `admission` and `validation` find the
breaches, and `admission` decides which of them keep a skill out (DECISIONS 11: loading is lenient).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """How bad a breach is: an `error` breaks what the rule's `origin` demands, a `note` is only worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class RuleSource(str, Enum):
    """Who asks for a rule: the Agent Skills specification, one of the seeds' stricter readers, or experience."""

    SPECIFICATION = "specification"
    REGISTRY = "registry"
    CODELIA = "codelia"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class SkillRule:
    """One thing that a SKILL.md should keep to.

    `refuses` means that a breach cannot be served around. `severity` is what loading reports; `strictly` is the
    verdict of `skillhub validate` and of strict loading, where that is another (DECISIONS 11 and 12).
    """

    id: str
    severity: Severity
    sentence: str
    mend: str
    refuses: bool = False
    strictly: Severity | None = None
    origin: RuleSource = RuleSource.SPECIFICATION

    @property
    def verdict(self) -> Severity:
        """How bad a breach is to a strict reader."""
        return self.strictly or self.severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One breach of one rule. `line` is 1-based within SKILL.md, where a line can be named."""

    rule: str
    severity: Severity
    message: str
    hint: str
    line: int | None = None


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES: dict[str, SkillRule] = {
    rule.id: rule
    for rule in (
        SkillRule("file-missing", _ERROR, "there is a SKILL.md", "name a skill's directory, or add one", refuses=True),
        SkillRule("file-unreadable", _ERROR, "SKILL.md can be read", "check the file's permissions", refuses=True),
        SkillRule(
            "file-too-large",
            _ERROR,
            "SKILL.md is at most 16 MiB",
            "move detail into references/",
            refuses=True,
        ),
        SkillRule("file-binary", _ERROR, "SKILL.md is text", "save it as UTF-8 text", refuses=True),
        SkillRule("file-encoding", _WARNING, "SKILL.md is UTF-8", "save it as UTF-8"),
        SkillRule(
            "frontmatter-missing",
            _ERROR,
            "SKILL.md begins with a line of three hyphens",
            "begin the file with ---, name and description, and a closing ---",
            refuses=True,
        ),
        SkillRule(
            "frontmatter-unclosed",
            _ERROR,
            "the frontmatter is closed by a line of three hyphens within 64 KiB",
            "close it with a line that is exactly ---",
            refuses=True,
        ),
        SkillRule(
            "frontmatter-late",
            _WARNING,
            "nothing stands before the frontmatter",
            "remove the blank lines",
            strictly=_ERROR,
        ),
        SkillRule("yaml-invalid", _ERROR, "the frontmatter is YAML", "mend the YAML at the line named", refuses=True),
        SkillRule(
            "yaml-repaired",
            _ERROR,
            "the frontmatter is YAML as written",
            "quote values that hold ': ' or ' #'",
        ),
        SkillRule(
            "yaml-not-mapping",
            _ERROR,
            "the frontmatter is a map of keys",
            "write 'key: value' lines",
            refuses=True,
        ),
        SkillRule("yaml-too-complex", _ERROR, "the frontmatter stays small and flat", "flatten it", refuses=True),
        SkillRule("yaml-alias", _WARNING, "the frontmatter has no YAML aliases", "write the value out"),
        SkillRule(
            "yaml-duplicate-key",
            _WARNING,
            "each key stands once",
            "remove one; the last one counts",
            strictly=_ERROR,
        ),
        SkillRule("name-missing", _ERROR, "there is a name", "add name: the directory's name is used meanwhile"),
        SkillRule(
            "name-unusable",
            _ERROR,
            "the name is at most 256 characters of text",
            "shorten the name",
            refuses=True,
        ),
        SkillRule(
            "name-form",
            _ERROR,
            "the name is 1-64 lower-case letters, digits and single hyphens",
            "rename the skill; meanwhile it answers to its safe alias too",
        ),
        SkillRule(
            "name-directory",
            _NOTE,
            "the name equals the directory's name",
            "rename one of the two",
            strictly=_ERROR,
        ),
        SkillRule("description-missing", _ERROR, "there is a description", "say what it does and when", refuses=True),
        SkillRule("description-length", _ERROR, "the description is at most 1,024 characters", "shorten it"),
        SkillRule("compatibility-length", _ERROR, "the compatibility is at most 500 characters", "shorten it"),
        SkillRule(
            "key-unknown",
            _ERROR,
            "only name, description, license, compatibility, metadata and allowed-tools stand at the top",
            "move it under metadata",
        ),
        SkillRule("key-type", _ERROR, "each key has its specified type", "use the type the specification names"),
        SkillRule(
            "metadata-nested",
            _WARNING,
            "metadata maps text to text",
            'write it flat: skillhub.category: "x", skillhub.tags: "a, b"',
        ),
        SkillRule(
            "registry-markup",
            _NOTE,
            "no value of the frontmatter holds < or >",
            "write it without angle brackets: a strict registry refuses it",
            origin=RuleSource.REGISTRY,
        ),
        SkillRule(
            "registry-lines",
            _NOTE,
            "the frontmatter is at most 200 lines",
            "move detail into the body",
            origin=RuleSource.REGISTRY,
        ),
        SkillRule(
            "registry-line-length",
            _NOTE,
            "a line of the frontmatter, but for the description's, is at most 500 characters",
            "shorten or fold the line",
            origin=RuleSource.REGISTRY,
        ),
        SkillRule(
            "name-ascii",
            _NOTE,
            "the name is written in a-z, 0-9 and hyphens",
            "rename the skill: Codelia's tools leave it out",
            origin=RuleSource.CODELIA,
        ),
        SkillRule(
            "body-lines",
            _WARNING,
            "the body is at most 500 lines",
            "move detail into files below references/",
            origin=RuleSource.ADVICE,
        ),
        SkillRule(
            "body-tokens",
            _WARNING,
            "the body is at most about 5,000 tokens",
            "move detail into files below references/",
            origin=RuleSource.ADVICE,
        ),
        SkillRule(
            "description-when",
            _NOTE,
            "the description says when to use the skill",
            "add a sentence such as 'Use when ...': agents choose by it",
            origin=RuleSource.ADVICE,
        ),
        SkillRule(
            "reference-missing",
            _WARNING,
            "each file that the body names is there",
            "add the file, or mend its path",
            origin=RuleSource.ADVICE,
        ),
        SkillRule(
            "file-unreferenced",
            _NOTE,
            "the body names each file of the skill",
            "say in the body when to read it, or remove it",
            origin=RuleSource.ADVICE,
        ),
    )
}


def breach(rule_id: str, what: str, *, line: int | None = None) -> Diagnostic:
    """Return the diagnostic for a breach of `rule_id`; `what` says what was found instead."""
    rule = RULES[rule_id]
    return Diagnostic(rule=rule.id, severity=rule.severity, message=what, hint=rule.mend, line=line)
