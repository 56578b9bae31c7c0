"""The requirements: what SkillHub must do, one sentence for each acceptance row.

A test proves a row by carrying its id: `@pytest.mark.acceptance("S2-37")`. Rows that no test proves yet are in GAPS.
`test_requirements` compares rows and tests.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

# The parts of the requirements, by the prefix of their ids.
PARTS: dict[str, str] = {
    "S0": "The agent-context tools: discovery, search and loading of `.agents/skills`, permissions, mentions, picker",
    "S1": "AGENTS.md: the first load, later paths, reminders",
    "S2": "The product: the three tools, commands, the index, packaging, privacy, settings",
    "S3": "The registry: roots, index, conflicts, refresh, report",
    "S4": "The Skill tool and the small loader",
}

REQUIREMENTS: dict[str, str] = {
    # Types
    "S0-1": "Every listed skill carries id, name, description, path, dir, scope and mtimeMs, with absolute paths.",
    "S0-2": "The id is derived from the canonical path: the same for the same file, another for a skill of the same "
    "name elsewhere.",
    "S0-3": "mtimeMs is a number of milliseconds that changes when SKILL.md is touched.",
    "S0-4": "Load errors are objects of path and message, separate from the skills.",
    "S0-5": "A catalogue has exactly skills, errors and truncated.",
    "S0-6": "A hit has skill, score and a reason that is one of exact_path, exact_name, prefix and token_overlap.",
    "S0-7": "The types are declared once as validated schemas, and a malformed object is refused.",
    # Discovery
    "S0-8": "From a working directory, .agents/skills of every directory from the root down to it is listed as repo.",
    "S0-9": "~/.agents/skills is listed as user.",
    "S0-10": "A skill several directories below .agents/skills is found, to a stated depth.",
    "S0-11": "Nothing else is searched: no .claude/skills, no sibling directory, nothing above the root.",
    "S0-12": "CODELIA_AGENTS_ROOT, or SKILLHUB_PROJECT_ROOT, sets the root and takes precedence over markers.",
    "S0-13": "Otherwise the nearest ancestor with .codelia, .git or .jj, as a file or a directory, is the root.",
    "S0-14": "Without a marker the working directory is the root, and its parents are not searched.",
    "S0-15": "The file is named exactly SKILL.md; a directory without one is neither a skill nor an error.",
    "S0-16": "A missing root or an unreadable directory causes no failure; everything else is listed.",
    # Frontmatter
    "S0-17": "A SKILL.md without frontmatter, or with an unclosed one, is an error with its path.",
    "S0-18": "A name that is missing, empty, too long or not lower-case kebab-case is an error.",
    "S0-19": "-a, a- and a--b are errors.",
    "S0-20": "A description that is missing, blank or over 1,024 characters is an error; exactly 1,024 are accepted.",
    "S0-21": "version, license and metadata are accepted and kept.",
    "S0-22": "A name that differs from the directory's is an error.",
    "S0-23": "CRLF, BOM, block scalars, colons and invalid bytes are parsed or reported, and no other skill is lost.",
    # Duplicates
    "S0-24": "One file that is reachable by two paths is listed once.",
    "S0-25": "Two files with the same name are both listed.",
    "S0-26": "Choosing by that name alone is ambiguous.",
    # Search
    "S0-27": "skill_search takes query, limit and scope.",
    "S0-28": "A query that is a skill's path ranks it first, with reason exact_path.",
    "S0-29": "A query that is a skill's name ranks it first, with reason exact_name.",
    "S0-30": "A query that is the beginning of a name gives reason prefix, and ranks above shared words.",
    "S0-31": "A query that shares words with a name or description gives reason token_overlap, in every script.",
    "S0-32": "Ties are broken by score, then repo before user, then path, the same on every run.",
    "S0-33": "scope limits the results to that scope; an unknown scope is refused.",
    "S0-34": "8 results by default; a given limit up to 50, above that 50; 0 or less is refused.",
    "S0-35": "Each result has name, description, path, scope, reason and score; the answer has count and truncated.",
    "S0-36": "skill_search: no match is an empty list; an empty query is an input error and never lists everything.",
    # The first catalogue
    "S0-37": "The catalogue is <skills_context> with <skills_usage> rules and a <skills_catalog> of <skill> entries.",
    "S0-38": "An entry has name, description, path and scope, and no body.",
    "S0-39": "The rules tell the model to load a body with skill_load and to search with skill_search.",
    "S0-40": "One rendered text has agents_context before skills_context, to follow the host's own text.",
    "S0-41": "At most initial.maxEntries skills are listed.",
    "S0-42": "The catalogue has at most initial.maxBytes bytes of UTF-8.",
    "S0-43": "A shortened catalogue is marked truncated, and tells the model to use skill_search.",
    "S0-44": "No description can break out of the markup.",
    "S0-45": "An unchanged catalogue renders to the same bytes every time.",
    "S0-46": "Without skills there is no empty catalogue.",
    # Loading
    "S0-47": "skill_load takes name and path; a call with neither is refused.",
    "S0-48": "If both are given, path decides.",
    "S0-49": "A name that exactly one skill has loads it.",
    "S0-50": "A name that several skills have is an error that lists every candidate's path.",
    "S0-51": "An unknown name or path is not found, with the nearest names.",
    "S0-52": "The result is <skill_context name path> around the whole SKILL.md.",
    "S0-53": "It names the base directory as a file URL that ends with a slash.",
    "S0-54": "It says that relative paths are resolved from there.",
    "S0-55": "<skill_files> lists the bundled files as absolute paths, sorted, without SKILL.md.",
    "S0-56": "skill_id, name, path, dir and mtime_ms come with the text.",
    "S0-57": "The body is the result of a tool call and changes no catalogue.",
    # Loading again
    "S0-58": "A second load of an unchanged skill in a session returns a short reminder without the body.",
    "S0-59": "After the file's mtime has changed the body is returned again.",
    "S0-60": "Another session gets the whole body: what was sent is remembered for each session.",
    "S0-61": "After a client has compacted its context, force or a new session returns the body again.",
    # Permissions
    "S0-62": "A deny rule with a skill's name blocks exactly that skill, by name and by path.",
    "S0-63": "Deny beats allow beats confirm.",
    "S0-64": "A rule without skill_name applies to every skill.",
    "S0-65": "A skill that no rule allows or denies needs confirmation, which shows its name and description.",
    "S0-66": "Remembering an answer stores exactly the tool and the skill's name, and the next load needs no "
    "confirmation.",
    "S0-67": "A skill_name that is not exact lower-case kebab-case is refused and never widens a rule.",
    # Safety
    "S0-68": "A path that is not in the catalogue cannot be loaded.",
    "S0-69": "`..` and links that leave the skill are refused, both in loading and in the list of files.",
    "S0-70": "Cycles of links end, linked skill directories are followed, and a linked SKILL.md must stay inside the "
    "skill.",
    "S0-71": "The list of files is limited in count and bytes, and says when it is cut.",
    # Configuration, protocol, remote
    "S0-72": "With skills disabled there is no catalogue and no skill tool.",
    "S0-73": "Defaults: skills enabled, 200 entries, 32,768 bytes, 8 hits and at most 50; each can be set.",
    "S0-74": "Wrong types and numbers that are not positive are reported, and the default is used.",
    "S0-75": "skills_list takes cwd and force_reload and returns skills and errors.",
    "S0-76": "Without force_reload the cached catalogue may be returned; with it, new skills appear and deleted ones "
    "are gone.",
    "S0-77": "Each working directory has its own catalogue.",
    "S0-78": "context_inspect shows the catalogue's state and the loaded versions, or omits them.",
    "S0-79": "No network request is made to find or fetch skills.",
    # Mentions and the picker
    "S0-80": "$skill-name resolves by its exact token; names of environment variables do not resolve.",
    "S0-81": "A path takes precedence over a name, and an ambiguous name resolves to none, with its candidates.",
    "S0-82": "A skill that is switched off can be shown but not loaded.",
    "S0-83": "The picker lists skills, filters by name, description and path, and says when none match.",
    "S0-84": "It shows each skill's scope and filters by it.",
    "S0-85": "A skill can be switched off and on; the choice is stored, and the tools apply it.",
    "S0-86": "It works without a terminal, with lines or JSON as output.",
    # AGENTS.md: types
    "S1-1": "AgentsConfig accepts only enabled, root (projectRootOverride, markers, stopAtFsRoot), initial (maxFiles, "
    "maxBytes) and resolver (enabled, maxFilesPerResolve), with positive whole numbers.",
    "S1-2": "ResolvedAgents is a list of files with path, mtimeMs and sizeBytes, and nothing else.",
    "S1-3": "There are exactly four types of reminders: agents.resolve.paths, session.resume.diff, "
    "tool.output.trimmed and permission.decision.",
    "S1-4": "The types are declared once, export JSON Schema, and validate configuration, API and tool arguments.",
    # AGENTS.md: the root
    "S1-5": "projectRootOverride or CODELIA_AGENTS_ROOT sets the root, whatever the markers.",
    "S1-6": "Otherwise it is the nearest directory with a marker, the working directory included; .git may be a file.",
    "S1-7": "Without a marker the working directory is the root.",
    "S1-8": "markers or CODELIA_AGENTS_MARKERS replace the default markers.",
    "S1-9": "A directory with a person's own settings is not a project.",
    "S1-10": "CODELIA_SANDBOX_ROOT has no effect on the root.",
    # AGENTS.md: the first load
    "S1-11": "Every AGENTS.md from the root to the working directory is included, in that order, each once.",
    "S1-12": "An AGENTS.md that is a directory, empty, unreadable, gone or not UTF-8 is noted and causes no failure.",
    "S1-13": "At most initial.maxFiles files are included.",
    "S1-14": "At most initial.maxBytes bytes are included, cut between characters, with a note of the cut.",
    "S1-15": "The block is <agents_context> with Instructions from: and the path before each text.",
    "S1-16": "It is one fixed block, directly after the system messages.",
    "S1-17": "The directories of included files count as covered.",
    "S1-18": "If disabled, nothing is loaded and there are no reminders.",
    # AGENTS.md: later paths
    "S1-19": "Resolving a path returns path, mtime and size of files, without their text.",
    "S1-20": "An uncovered path returns exactly the AGENTS.md files above it, within the root, that are not known yet.",
    "S1-21": "A target that does not exist yet is resolved from its parent directory.",
    "S1-22": "A second resolve for the same place returns nothing.",
    "S1-23": "A known file that has changed is returned again.",
    "S1-24": "One call returns at most maxFilesPerResolve files; the next call returns the rest.",
    "S1-25": "A resolve updates covered directories and loaded versions of its own session only.",
    "S1-26": "Nothing outside the root is returned.",
    "S1-27": "With the resolver disabled, every answer is empty.",
    "S1-28": "The target may be a file or a directory, absolute or relative.",
    # AGENTS.md: reminders
    "S1-29": "The reminder of paths has its opening sentence, a line for each file, and the instruction to read and "
    "apply them.",
    "S1-30": "Every reminder names its type.",
    "S1-31": "A reminder contains paths and differences, never the text of a file.",
    "S1-32": "Without files there is no reminder.",
    "S1-33": "A resumed session gets changes of cwd, root and markers as old -> new, and the files to check again.",
    "S1-34": "A newer resume reminder replaces the older one.",
    "S1-35": "tool.output.trimmed and permission.decision are among the types of reminders.",
    "S1-36": "Trimming an output keeps the reminder at its end.",
    # AGENTS.md: caching and prompt
    "S1-37": "The first block keeps the same bytes for the whole session.",
    "S1-38": "Later findings are part of tool results and never added to the first block.",
    "S1-39": "The server's instructions contain the five rules for using AGENTS.md.",
    "S1-40": "The first load and later resolves share one implementation.",
    "S1-41": "Reading AGENTS.md does not change how skills are loaded.",
    # Product and packaging
    "S2-1": "The package is skillhub-mcp, installs on Python 3.10 and newer, and brings the commands skillhub and "
    "skillhub-mcp.",
    "S2-2": "serverInfo.version in `initialize` is the package's version, as in every other place.",
    "S2-3": "tools/list shows search_skills, load_skill and read_skill_file, and run_skill_command only when enabled.",
    "S2-4": "Everything can be done with tools alone; no resource is needed.",
    "S2-5": "Required arguments are query; skill_name; skill_name and file_path; skill_name and command. All others "
    "are optional.",
    "S2-6": "A failure has a machine-readable code, such as SKILL_NOT_FOUND or SKILL_DISABLED, and a sentence.",
    "S2-7": "A skill outside the server's filter is in the index, but cannot be searched, loaded, read or run.",
    # search_skills
    "S2-8": "A query in everyday words finds the fitting skill.",
    "S2-9": "Spaces around a query, and repeated spaces within it, make no difference.",
    "S2-10": "search_skills: an empty query lists the skills by name and says so, without a traceback.",
    "S2-11": "With an embedding provider, vectors are searched; if it fails, full text answers without an error.",
    "S2-12": "With provider none, only full text is searched; SEARCH_FIELDS can limit it to name, description, tags "
    "and category.",
    "S2-13": "Tags and category match in any letter case.",
    "S2-14": "The server's filter is applied before the answer: a disabled skill never appears.",
    "S2-15": "Four times as many candidates as the limit are considered, in descending order of score.",
    "S2-16": "Five hits or fewer are not cut by the threshold.",
    "S2-17": "Of more than five hits, those below SEARCH_THRESHOLD of the best score are cut, and then the limit "
    "applies.",
    "S2-18": "Without a limit, SEARCH_LIMIT applies, which is 10.",
    "S2-19": "The result is a list of name, description, score and an optional category, with scores within 0 to 1.",
    "S2-20": "A filter never removes a row from the index.",
    "S2-21": "Quotes, operators, emoji and any script in a query do not break the search.",
    # load_skill
    "S2-22": "Loading returns name, instructions and path; the instructions are the body without frontmatter.",
    "S2-23": "The path is the skill's absolute directory.",
    "S2-24": "An unknown name is SKILL_NOT_FOUND, with the nearest names or the list.",
    "S2-25": "A skill that the filter leaves out is SKILL_DISABLED.",
    "S2-26": "The body is the text of SKILL.md at the time of the call.",
    # read_skill_file
    "S2-27": "A file of the skill is returned with content, encoding utf-8 and truncated false.",
    "S2-28": "An absolute path, in the form of any operating system, is an error.",
    "S2-29": "A path that leaves the skill through `..` is an error.",
    "S2-30": "A link that leaves the skill is an error.",
    "S2-31": "A directory whose name only begins like the skills directory's cannot be reached.",
    "S2-32": "A file over MAX_FILE_BYTES is cut between characters and marked as truncated.",
    "S2-33": "A missing file, and a directory, is FILE_NOT_FOUND.",
    "S2-34": "A file that is not UTF-8 is text if its encoding is clear, else base64 with its media type.",
    "S2-35": "The server's filter applies to reading files.",
    # run_skill_command
    "S2-36": "The tool is off by default, and one documented switch enables it.",
    "S2-37": "A command that is not in ALLOWED_COMMANDS, or that is given as a path, is COMMAND_NOT_ALLOWED.",
    "S2-38": "python and python3 run through uv if it is installed, else as python3.",
    "S2-39": "A command runs in the skill's directory, from a list of arguments, without a shell.",
    "S2-40": "The result has stdout, stderr, exit_code, timeout, and truncated for both outputs.",
    "S2-41": "Output beyond EXEC_MAX_OUTPUT_BYTES is cut and marked.",
    "S2-42": "After EXEC_TIMEOUT_SECONDS the process and its children are killed, and timeout is true.",
    "S2-43": "The server's filter applies to running commands.",
    "S2-44": "Prompt-only, native and dependency skills can all be searched, loaded, read and run.",
    # The index and its life
    "S2-45": "The table skills has the columns name, description, category, tags, tags_text, instructions, path and "
    "metadata, and a vector column only with embeddings.",
    "S2-46": "Category and tags are stored in lower case, and tags_text is the tags joined by spaces.",
    "S2-47": "There are full-text indexes of name, description, tags_text and category, and scalar indexes of "
    "category and tags.",
    "S2-48": "index_state.json beside the database holds the hash of all files, the schema and the provider.",
    "S2-49": "If nothing has changed, nothing is rebuilt at the start, and the log or the report shows it.",
    "S2-50": "A change, a missing state, another schema or another provider updates the index.",
    "S2-51": "--reindex forces a rebuild.",
    "S2-52": "--skip-auto-reindex, or its environment variable, disables the check.",
    "S2-53": "A broken SKILL.md does not stop the others from being indexed, and is reported.",
    "S2-54": "Of two skills with one name the same one always wins, and the other is reported.",
    # SKILL.md and layout
    "S2-55": "<SKILLS_DIR>/<name>/SKILL.md is found, also below a relative SKILLS_DIR.",
    "S2-56": "Keys that the specification does not have are reported; only strict loading refuses them.",
    "S2-57": "allowed-tools is read as a list or as text, and is shown.",
    "S2-58": "Category, tags and alwaysApply are read from metadata, and a skill without them works.",
    "S2-59": "Skills with alwaysApply can be listed as Core Skills.",
    "S2-60": "The obsolete keys runtime and requires_setup have no effect.",
    "S2-61": "A README.md beside SKILL.md is never part of the instructions.",
    # Privacy, transports, configuration
    "S2-62": "With provider none nothing is sent over a network, neither while indexing nor while searching.",
    "S2-63": "A provider is sent names, descriptions, tags, categories and queries, never a body.",
    "S2-64": "A provider without its key is a clear error at the start.",
    "S2-65": "Over stdio, stdout carries JSON-RPC only, and the log goes to stderr.",
    "S2-66": "--transport http serves POST and GET at /mcp.",
    "S2-67": "GET /healthz answers 200.",
    "S2-68": "Every variable has its documented default and effect, and ~ is expanded.",
    "S2-69": "An invalid value is an error that names the setting and what is allowed.",
    "S2-70": "SKILLHUB_ENABLED_SKILLS limits the server to those names.",
    "S2-71": "SKILLHUB_ENABLED_CATEGORIES limits the server to those categories, in any letter case.",
    "S2-72": "If both are set, only the names count; if neither is set, all skills are served.",
    "S2-73": "Within 0.x a tool's schema changes by optional additions only.",
    # Registry: roots and index
    "S3-1": "Project, user and built-in roots are searched in this order; a missing one is not an error.",
    "S3-2": "Each root has source, absolute path and priority, and the caller may pass its own list.",
    "S3-3": "An entry has name, description, source, path, controls and meta.",
    "S3-4": "By default a skill can be invoked by models and by people and names no allowed tools.",
    "S3-5": "build_index and refresh_index return skills and a report.",
    "S3-6": "Only the bytes of the frontmatter are read, and the index contains no body.",
    "S3-7": "A skill is a directory with a SKILL.md; its name is the frontmatter's, and without one it is refused.",
    "S3-8": "Directories whose names begin with a dot are ignored.",
    "S3-9": "Anything that is not a directory is ignored.",
    "S3-10": "Directories without SKILL.md are ignored, and the report counts each reason.",
    # Registry: parsing
    "S3-11": "version, author, the two invocation controls and allowed-tools have their types; version 1.0 is text.",
    "S3-12": "The strict registry refuses an angle bracket in a value; a block marker is not part of a value.",
    "S3-13": "Over 200 lines of frontmatter, or over 500 characters in a line, are refused; both limits are settings.",
    "S3-14": "Nested structures are refused or ignored, without a crash.",
    "S3-15": "Strict: malformed frontmatter or a missing field refuses a skill, with the reason.",
    "S3-16": "Lenient: a missing description is empty, with a note.",
    "S3-17": "Lenient: allowed-tools as text with commas becomes a list.",
    # Registry: conflicts
    "S3-18": "If several roots have a skill of one name, the project's wins over the user's, and that over the "
    "built-in.",
    "S3-19": "If one root has a name twice, the later modified skill wins, and the conflict is reported.",
    "S3-20": "With a source, only that source's entry is returned, even if it lost by default.",
    "S3-21": "Each overridden entry is recorded with version, source, path and reason.",
    # Registry: refresh and snapshot
    "S3-22": "The index is built at the start.",
    "S3-23": "A refresh reports what is new and what is gone.",
    "S3-24": "After an installation or a removal the index is up to date.",
    "S3-25": "Changes are detected by time and content; named changes limit the work.",
    "S3-26": "A query does not read the disk.",
    "S3-27": "A snapshot never changes; a refresh makes a new one.",
    "S3-28": "The index has a hash: the same for the same content everywhere, another for any change of metadata.",
    "S3-29": "The index can be written to disk.",
    # Registry: what a model sees, and the report
    "S3-30": "disable-model-invocation removes a skill from lists for models, user-invocable: false from those for "
    "people.",
    "S3-31": "The text form is a header and a line of name, source and description for each skill.",
    "S3-32": "A model is shown name, description and source only.",
    "S3-33": "The report lists the roots and the time taken.",
    "S3-34": "It counts what was found, valid and ignored, with reasons and paths.",
    "S3-35": "It counts and details the conflicts.",
    "S3-36": "It gives the index's hash.",
    "S3-37": "It can be printed as JSON and written to a file.",
    "S3-38": "The registry reads no body, runs nothing and enforces no permission.",
    # The Skill tool
    "S4-1": "get_descriptions returns a line - name: description for each skill, or (no skills available).",
    "S4-2": "The first layer costs about a hundred tokens a skill, and the count is available.",
    "S4-3": "A body is returned only on request, without frontmatter.",
    "S4-4": "Files are named when a skill is loaded, and read only on request.",
    "S4-5": "parse_skill_md returns name, description, body, path and dir; for a file without frontmatter, nothing.",
    "S4-6": "A SKILL.md whose closing fence ends the file is parsed.",
    "S4-7": "The tool Skill takes one string, skill, and its description says that it loads expert knowledge.",
    "S4-8": "The server's instructions name the available skills, within a budget.",
    "S4-9": "The result is <skill-loaded> with # Skill: name, the body, and a sentence that asks to follow it.",
    "S4-10": "An unknown skill is an error that lists the existing ones.",
    "S4-11": "/name is accepted for name, and a person can call a skill by a prompt.",
    "S4-12": "What a client was shown at first is the same before and after a load.",
    "S4-13": "After an edit the next call returns the new SKILL.md, without a restart.",
    "S4-14": "Loading a skill adds no tool and runs nothing.",
    "S4-15": "skills/<name>/SKILL.md with references/ and scripts/ works, Japanese text intact.",
    "S4-16": "PreToolUse and PostToolUse hooks run around tool calls, and a failing PreToolUse hook stops the call.",
    "S4-17": "SkillLoader has load_skills, parse_skill_md, get_descriptions and get_skill_content.",
}

# Rows that no test proves yet, each with the reason.
GAPS: dict[str, str] = {}

TESTS = Path(__file__).parent


@functools.cache
def claims() -> Mapping[str, list[str]]:
    """Return the tests that carry each id, as `file::name`: read from their source, so that a skip hides nothing."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        # Most tests prove no row: parsing them takes as long as all else that is generated.
        for test in ast.walk(ast.parse(source)) if "acceptance" in source else ():
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
