"""The table of rules for a SKILL.md: id, severity, requirement and fix; `admission` decides which exclude a skill."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """How serious a violation is: an `error` violates the rule's `origin`, a `note` is for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class RuleSource(str, Enum):
    """Where a rule comes from: the Agent Skills specification, the registry, the agent-context tools, or practice."""

    SPECIFICATION = "specification"
    REGISTRY = "registry"
    AGENT_CONTEXT = "codelia"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class SkillRule:
    """A requirement for a SKILL.md and the fix. `validate` and strict loading report `strict_severity`."""

    id: str
    severity: Severity
    requirement: str
    fix: str
    refuses: bool = False
    strict_severity: Severity | None = None
    origin: RuleSource = RuleSource.SPECIFICATION

    @property
    def verdict(self) -> Severity:
        """The severity that `skillhub validate` and strict loading report."""
        return self.strict_severity or self.severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One violation of one rule. `line` is the 1-based line in SKILL.md, if known."""

    rule: str
    severity: Severity
    message: str
    hint: str
    line: int | None = None


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# fmt: off
RULES: dict[str, SkillRule] = {
    rule.id: rule
    for rule in (
        SkillRule("file-missing", _ERROR, "SKILL.md exists",
                  "pass the path of a skill directory, or create a SKILL.md there", refuses=True),
        SkillRule("file-unreadable", _ERROR, "SKILL.md is readable",
                  "make it a readable file of its own", refuses=True),
        SkillRule("file-too-large", _ERROR, "SKILL.md is at most 16 MiB",
                  "move details into files under references/", refuses=True),
        SkillRule("file-binary", _ERROR, "SKILL.md is a text file", "save it as UTF-8 text", refuses=True),
        SkillRule("file-name", _WARNING, "the file is named SKILL.md, in these letters",
                  "rename it to SKILL.md; other programs do not find it", strict_severity=_ERROR),
        SkillRule("file-encoding", _WARNING, "SKILL.md is encoded as UTF-8",
                  "save it as UTF-8; 'skillhub validate --fix' does it"),
        SkillRule("file-encoding-unknown", _ERROR, "SKILL.md is encoded as UTF-8, or as UTF-16 with a byte order mark",
                  "convert it: iconv -f ENCODING -t UTF-8 SKILL.md > converted.md", refuses=True),
        SkillRule("file-line-ends", _WARNING, "lines end with a line feed",
                  "save it with LF line ends; 'skillhub validate --fix' does it"),
        SkillRule("frontmatter-missing", _ERROR, "SKILL.md starts with frontmatter",
                  "start the file with ---, name, description and a closing ---", refuses=True),
        SkillRule("frontmatter-unclosed", _ERROR, "a line of three hyphens closes the frontmatter within 64 KiB",
                  "close the frontmatter with a line that is exactly ---", refuses=True),
        SkillRule("frontmatter-late", _WARNING, "the frontmatter starts on the first line",
                  "remove what precedes it, or move it below the frontmatter", strict_severity=_ERROR),
        SkillRule("frontmatter-fence", _WARNING, "the lines around the frontmatter are exactly three hyphens",
                  "replace both lines by ---", strict_severity=_ERROR),
        SkillRule("yaml-invalid", _ERROR, "the frontmatter is valid YAML",
                  "fix the YAML at the reported line", refuses=True),
        SkillRule("yaml-repaired", _ERROR, "the frontmatter is valid YAML without repair",
                  "quote values that contain ': ' or ' #'"),
        SkillRule("yaml-words-lost", _WARNING, "no value loses words to YAML's syntax",
                  "put the whole value in quotes"),
        SkillRule("yaml-not-mapping", _ERROR, "the frontmatter is a mapping", "write 'key: value' lines", refuses=True),
        SkillRule("yaml-too-complex", _ERROR, "the frontmatter stays within the limits on nesting and size",
                  "flatten or shorten it", refuses=True),
        SkillRule("yaml-alias", _WARNING, "the frontmatter uses no YAML aliases", "replace the alias with its value"),
        SkillRule("yaml-duplicate-key", _WARNING, "each key occurs once",
                  "remove the duplicate; the last value is used", strict_severity=_ERROR),
        SkillRule("name-missing", _ERROR, "the name is set", "add a name; until then load_skill takes the directory's"),
        SkillRule("name-unusable", _ERROR, "the name has 1 to 256 characters",
                  "set a name of at most 256 characters", refuses=True),
        SkillRule("name-form", _ERROR, "the name has 1 to 64 lowercase letters, digits and single hyphens",
                  "rename the skill; until then load_skill takes its safe alias, too"),
        SkillRule("name-directory", _NOTE, "the name matches the directory's name",
                  "rename the skill or the directory", strict_severity=_ERROR),
        SkillRule("description-missing", _ERROR, "the description is set",
                  "describe what the skill does and when to use it", refuses=True),
        SkillRule("description-length", _ERROR, "the description has at most 1,024 characters", "shorten it"),
        SkillRule("compatibility-length", _ERROR, "the compatibility has at most 500 characters", "shorten it"),
        SkillRule("key-unknown", _ERROR,
                  "top-level keys are name, description, license, compatibility, metadata and allowed-tools only",
                  "move it under metadata, unless a host of yours reads it where it is; the specification has name, "
                  "description, license, compatibility, metadata and allowed-tools"),
        SkillRule("key-misspelt", _ERROR, "each key is spelt as its readers expect",
                  "correct the spelling; nothing reads the key as it is written"),
        SkillRule("key-extension", _NOTE, "no top-level key is a host's extension of the specification",
                  "keep it for the hosts that it names, which read it nowhere else; others ignore it or refuse "
                  "the skill", strict_severity=_ERROR),
        SkillRule("key-type", _ERROR, "each key has the type that the specification defines", "use the specified type"),
        SkillRule("metadata-nested", _WARNING, "metadata maps strings to strings",
                  'use flat keys: skillhub.category: "x", skillhub.tags: "a, b"'),
        SkillRule("metadata-length", _WARNING, "the category and each tag have at most 256 characters",
                  "shorten it: until then the skill is served without it"),
        SkillRule("registry-markup", _NOTE, "frontmatter values contain no < or >",
                  "remove the angle brackets; a strict registry refuses the skill", origin=RuleSource.REGISTRY),
        SkillRule("registry-lines", _NOTE, "the frontmatter has at most 200 lines",
                  "move details into the body", origin=RuleSource.REGISTRY),
        SkillRule("registry-line-length", _NOTE,
                  "frontmatter lines, except the description's, have at most 500 characters",
                  "shorten or fold the line", origin=RuleSource.REGISTRY),
        SkillRule("name-ascii", _NOTE, "the name uses only a-z, 0-9 and hyphens",
                  "rename the skill; the agent-context tools leave it out", origin=RuleSource.AGENT_CONTEXT),
        SkillRule("body-lines", _WARNING, "the body has at most 500 lines",
                  "move details into files under references/", origin=RuleSource.ADVICE),
        SkillRule("body-tokens", _WARNING, "the body has at most about 5,000 tokens",
                  "move details into files under references/", origin=RuleSource.ADVICE),
        SkillRule("template-left", _ERROR, "no [TODO: ...] of a template is left",
                  "write what stands there, or remove the line", origin=RuleSource.ADVICE),
        SkillRule("description-when", _NOTE, "the description says when to use the skill",
                  "add a sentence such as 'Use when ...'; agents choose skills by their descriptions",
                  origin=RuleSource.ADVICE),
        SkillRule("reference-missing", _WARNING, "every file that the body references exists",
                  "add the file, or fix its path", origin=RuleSource.ADVICE),
        SkillRule("file-unreferenced", _NOTE, "the skill's text mentions every file of the skill",
                  "say in the body when to read it, or remove it", origin=RuleSource.ADVICE),
    )
}
# fmt: on


def violation(rule_id: str, message: str, *, line: int | None = None) -> Diagnostic:
    """Return the diagnostic for a violation of `rule_id`; `message` says what was found instead."""
    rule = RULES[rule_id]
    return Diagnostic(rule=rule.id, severity=rule.severity, message=message, hint=rule.fix, line=line)
