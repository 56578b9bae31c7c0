"""What SkillHub must do: each acceptance row of seed 002 in a sentence. `test_requirements` holds them to tests.

A test proves a row by carrying its id: `@pytest.mark.acceptance("S2-37")`. What is knowingly unproved stands in GAPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REQUIREMENTS: dict[str, str] = {
    # Product and packaging (§1, §7, §9)
    "S2-1": "The package is skillhub-mcp, installs on Python 3.10 and newer, and brings the commands skillhub and "
    "skillhub-mcp.",
    "S2-2": "`initialize` gives the package's version as serverInfo.version, and every other place gives the same.",
    "S2-3": "tools/list shows search_skills, load_skill and read_skill_file, and run_skill_command only when asked.",
    "S2-4": "The whole flow works by tools alone; no resource is needed.",
    "S2-5": "Arguments have the seed's names and the seed's required lists; any further argument is optional.",
    "S2-6": "A failure carries a code for programs, such as SKILL_NOT_FOUND or SKILL_DISABLED, and a sentence.",
    "S2-7": "A skill outside the server's filter is in the index, but cannot be searched, loaded, read or run.",
    # search_skills (§3.2)
    "S2-8": "A question in everyday words finds the fitting skill.",
    "S2-9": "Blanks around a query, and runs of them within, make no difference.",
    "S2-10": "An empty query is an input error that says so, without a traceback.",
    "S2-11": "With an embedding provider vectors are asked first; when it fails, full text answers and no error shows.",
    "S2-12": "With provider none only full text is asked, over name, description, tags and category, never the body.",
    "S2-13": "Tags and category match in any letter case.",
    "S2-14": "The server's filter is applied before the answer: a disabled skill never shows.",
    "S2-15": "limit times four candidates are taken, in descending order of score.",
    "S2-16": "Five hits or fewer are never cut by the threshold.",
    "S2-17": "Of more than five, those below SEARCH_THRESHOLD of the best score are cut, and then the limit applies.",
    "S2-18": "Without a limit, SEARCH_LIMIT holds, which is 10.",
    "S2-19": "The result is a list of name, description, score and an optional category, scores falling within 0 to 1.",
    "S2-20": "A filter never removes a row from the index.",
    "S2-21": "Quotes, operators, emoji and any script in a query do not break the search.",
    # load_skill (§3.3)
    "S2-22": "Loading gives name, instructions and path; the instructions are the body, without frontmatter.",
    "S2-23": "The path is the skill's absolute directory.",
    "S2-24": "An unknown name is SKILL_NOT_FOUND, with the nearest names or the list.",
    "S2-25": "A skill that the filter leaves out is SKILL_DISABLED.",
    "S2-26": "The body is the one that SKILL.md holds at the time of the call.",
    # read_skill_file (§3.4, §6.1)
    "S2-27": "A file below the skill comes as content, encoding utf-8 and truncated false.",
    "S2-28": "An absolute path of any system is an error.",
    "S2-29": "A path that leaves the skill through `..` is an error.",
    "S2-30": "A link that leaves the skill is an error.",
    "S2-31": "A directory whose name merely begins like the skills directory's is out of reach.",
    "S2-32": "A file over MAX_FILE_BYTES is cut at a character's end and marked as truncated.",
    "S2-33": "A missing file, and a directory, is FILE_NOT_FOUND.",
    "S2-34": "A file that is not UTF-8 comes as base64 with its media type.",
    "S2-35": "The server's filter holds for reading files.",
    # run_skill_command (§3.5, §6.2)
    "S2-36": "The tool is off by default, and one documented switch makes it appear.",
    "S2-37": "A command outside ALLOWED_COMMANDS, or named by a path, is COMMAND_NOT_ALLOWED.",
    "S2-38": "python and python3 run through uv where it is installed, else as python3.",
    "S2-39": "A command runs in the skill's directory, from a list of arguments, without a shell.",
    "S2-40": "The result has stdout, stderr, exit_code, timeout and truncated for both outputs.",
    "S2-41": "Output beyond EXEC_MAX_OUTPUT_BYTES is cut and marked.",
    "S2-42": "After EXEC_TIMEOUT_SECONDS the process and its children are killed, and timeout is true.",
    "S2-43": "The server's filter holds for running commands.",
    "S2-44": "Prompt-only, native and dependency skills can each be searched, loaded, read and run.",
    # The index and its life (§4)
    "S2-45": "The table skills has the seed's columns, and no vector column with provider none.",
    "S2-46": "Category and tags are stored in lower case, and tags_text is the tags joined by blanks.",
    "S2-47": "Full text covers name, description, tags_text and category; category and tags have scalar indexes.",
    "S2-48": "index_state.json beside the database holds the hash of all files, the schema and the provider.",
    "S2-49": "Nothing changed means no rebuild at start, and the log or the report shows it.",
    "S2-50": "A change, a missing state, another schema or another provider brings the index up to date.",
    "S2-51": "--reindex forces a rebuild.",
    "S2-52": "--skip-auto-reindex, or its variable, suppresses the check.",
    "S2-53": "A broken SKILL.md does not stop the others from being indexed, and is reported.",
    "S2-54": "Of two skills with one name the same one always wins, and the other is reported.",
    # SKILL.md and layout (§5)
    "S2-55": "<SKILLS_DIR>/<name>/SKILL.md is found, also below a relative SKILLS_DIR.",
    "S2-56": "Keys beyond the specification's are reported; only strict loading refuses them.",
    "S2-57": "allowed-tools is understood as a list and as text, and is shown.",
    "S2-58": "Category, tags and alwaysApply are read from metadata, and a skill without them works.",
    "S2-59": "Skills with alwaysApply can be listed as Core Skills.",
    "S2-60": "The old keys runtime and requires_setup have no effect.",
    "S2-61": "A README.md beside SKILL.md is never part of the instructions.",
    # Privacy, transports, configuration (§6.3, §7, §8)
    "S2-62": "With provider none nothing is sent over a network, neither when indexing nor when searching.",
    "S2-63": "A provider is sent names, descriptions, tags, categories and queries, never a body.",
    "S2-64": "A provider without its key is a clear error at the start.",
    "S2-65": "Over stdio, stdout carries JSON-RPC only, and the log goes to stderr.",
    "S2-66": "--transport http serves POST and GET at /mcp.",
    "S2-67": "GET /healthz answers 200.",
    "S2-68": "Every variable has its stated default and effect, and ~ is expanded.",
    "S2-69": "A value that cannot be used is an error that names the setting and what is allowed.",
    "S2-70": "SKILLHUB_ENABLED_SKILLS serves those names only.",
    "S2-71": "SKILLHUB_ENABLED_CATEGORIES serves those categories only, in any letter case.",
    "S2-72": "Where both are set the names decide alone; where neither is, all skills are served.",
    "S2-73": "Within 0.x a tool's schema changes by optional additions only.",
}

# Rows that no test proves yet, each with the reason.
GAPS: dict[str, str] = {}

TESTS = Path(__file__).parent


def claims() -> dict[str, list[str]]:
    """Return the tests that carry each id, as `file::name`: read from their source, so that a skip hides nothing."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_"):
                for row in _rows(test):
                    found.setdefault(row, []).append(f"{path.relative_to(TESTS).as_posix()}::{test.name}")
    return found


def _rows(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.acceptance":
            for row in decorator.args:
                assert isinstance(row, ast.Constant), f"{test.name}: an id is not written out"
                yield str(row.value)
