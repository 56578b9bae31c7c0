"""For each rule, a skill that violates it and one that does not: the files of a directory, by relative path."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

Files = dict[str, str | bytes]

WHEN = "Does one thing. Use when that thing is wanted."


@dataclass(frozen=True)
class Fixture:
    """`also` are the rules that cannot but be broken with it; `name` is the directory's name."""

    bad: Files
    good: Files = field(default_factory=lambda: {"SKILL.md": header()})
    also: tuple[str, ...] = ()
    name: str = "one"


def header(lines: str = "", *, name: str = "one", description: str = WHEN, body: str = "# How\n\nDo it.\n") -> str:
    """A SKILL.md that keeps to every rule, with further lines of frontmatter."""
    more = f"{lines}\n" if lines else ""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}"


def write_files(directory: Path, files: Files) -> None:
    """Write files into a directory; `<link>target` is a link."""
    for path, content in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("<link>"):
            file.symlink_to(content.removeprefix("<link>"))
        else:
            file.write_bytes(content.encode() if isinstance(content, str) else content)


FIXTURES: dict[str, Fixture] = {
    "file-missing": Fixture({"README.md": "# No skill\n"}),
    "file-unreadable": Fixture({"SKILL.md": "<link>/etc/passwd"}),
    "file-too-large": Fixture({"SKILL.md": header(body="x" * (16 * 1024 * 1024 + 1))}),
    "file-binary": Fixture({"SKILL.md": header().encode() + b"\x00\x01"}),
    "file-name": Fixture({"skill.md": header()}, {"SKILL.md": header()}),
    "file-encoding": Fixture({"SKILL.md": header(description="Grüße. Use when due.").encode("utf-16")}),
    "file-encoding-unknown": Fixture(
        {"SKILL.md": header(description="会議録作成").encode("euc_jp")},
        {"SKILL.md": header(description="会議録作成. Use when due.")},
    ),
    "file-line-ends": Fixture({"SKILL.md": header().replace("\n", "\r").encode()}),
    "frontmatter-fence": Fixture({"SKILL.md": header().replace("---", "+++")}),
    "frontmatter-missing": Fixture({"SKILL.md": "# One\n\nDo it.\n"}),
    "frontmatter-unclosed": Fixture({"SKILL.md": f"---\nname: one\ndescription: {WHEN}\n\n# How\n"}),
    "frontmatter-late": Fixture({"SKILL.md": "\n\n" + header()}, {"SKILL.md": b"\xef\xbb\xbf" + header().encode()}),
    "yaml-invalid": Fixture({"SKILL.md": "---\nname: one\n'open\n---\n"}),
    "yaml-words-lost": Fixture({"SKILL.md": header(description="Posts to #general. Use when done.")}),
    "yaml-repaired": Fixture({"SKILL.md": header(description="Use when: asked")}),
    "yaml-not-mapping": Fixture({"SKILL.md": "---\n- name\n- description\n---\n"}),
    "yaml-too-complex": Fixture({"SKILL.md": header("metadata: " + "[" * 40 + "]" * 40)}),
    "yaml-alias": Fixture(
        {"SKILL.md": header("license: &l MIT\ncompatibility: *l")}, {"SKILL.md": header("license: MIT")}
    ),
    "yaml-duplicate-key": Fixture({"SKILL.md": header("license: MIT\nlicense: Apache-2.0")}),
    "name-missing": Fixture({"SKILL.md": f"---\ndescription: {WHEN}\n---\nDo it.\n"}),
    "name-unusable": Fixture(
        {"SKILL.md": header(name="x" * 257)}, {"SKILL.md": header(name="one")}, ("name-directory", "name-form")
    ),
    "name-form": Fixture({"SKILL.md": header(name="My_Skill")}, {"SKILL.md": header(name="技能")}, name="My_Skill"),
    "name-directory": Fixture({"SKILL.md": header(name="two")}),
    "description-missing": Fixture({"SKILL.md": "---\nname: one\n---\nDo it.\n"}),
    "description-length": Fixture(
        {"SKILL.md": header(description="Use when " + "x" * 1_016)},
        {"SKILL.md": header(description="Use when " + "x" * 1_015)},
    ),
    "compatibility-length": Fixture(
        {"SKILL.md": header(f"compatibility: {'x' * 501}")}, {"SKILL.md": header(f"compatibility: {'x' * 500}")}
    ),
    "key-unknown": Fixture(
        {"SKILL.md": header("version: 1.0")},
        {
            "SKILL.md": header(
                "license: MIT\ncompatibility: any\nallowed-tools: Bash(git:*) Read\nmetadata:\n  version: 1.0"
            )
        },
    ),
    "key-misspelt": Fixture(
        {"SKILL.md": header("disable_model_invocation: true")}, {"SKILL.md": header("allowed-tools: Read")}
    ),
    "key-extension": Fixture({"SKILL.md": header("disable-model-invocation: true")}),
    "key-type": Fixture(
        {"SKILL.md": header("license:\n  a: b")}, {"SKILL.md": header("allowed-tools:\n  - Read\n  - Bash")}
    ),
    "metadata-length": Fixture(
        {"SKILL.md": header(f"metadata:\n  skillhub.tags: a, {'x' * 257}")},
        {"SKILL.md": header(f"metadata:\n  skillhub.tags: {'a' * 256}, {'x' * 256}")},
    ),
    "metadata-nested": Fixture(
        {"SKILL.md": header("metadata:\n  skillhub:\n    category: docs")},
        {"SKILL.md": header('metadata:\n  skillhub.category: "docs"')},
    ),
    "body-lines": Fixture({"SKILL.md": header(body="a\n" * 501)}, {"SKILL.md": header(body="a\n" * 500)}),
    "body-tokens": Fixture({"SKILL.md": header(body="word " * 4_001)}, {"SKILL.md": header(body="word " * 4_000)}),
    "template-left": Fixture(
        {"SKILL.md": header(body="1. Look.\n2. [TODO: the work.]\n")},
        {"SKILL.md": header(body="1. Look for `[TODO: ...]`.\n```\n[TODO: the work.]\n```\n")},
    ),
    "description-when": Fixture(
        {"SKILL.md": header(description="Paints walls.")},
        {"SKILL.md": header(description="壁を塗る。部屋を直すときに使用。")},
    ),
    "reference-missing": Fixture(
        {"SKILL.md": header(body="See [the guide](references/guide.md) and `scripts/run.py`.\n"), "scripts/a.py": "a"},
        {
            "SKILL.md": header(
                body="See [the guide](references/guide.md#part), `scripts/run.py`, [a page](https://example.com/x.md),\n"
                "[above](#how), `src/main.py`, references/<topic>.md and references/*.md.\n"
                "```\n[in code](no/such/file.md)\n```\n"
            ),
            "references/guide.md": "Guide.\n",
            "scripts/run.py": "",
        },
        ("file-unreferenced",),
    ),
    "file-unreferenced": Fixture(
        {"SKILL.md": header(), "references/guide.md": "Guide.\n"},
        {
            "SKILL.md": header(body="Read references/guide.md, and look into assets/ for pictures.\n"),
            "references/guide.md": "It uses [the other](other.md).\n",
            "references/other.md": "Other.\n",
            "assets/logo.svg": "<svg/>",
            "scripts/__init__.py": "",
            "LICENSE.txt": "MIT",
        },
    ),
}
