"""The requirements: what SkillHub must do, one sentence for each acceptance row.

A test proves a row by carrying its id: `@pytest.mark.acceptance("S2-37")`.
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
    "S0-1": "A skill has id, name, description, path, dir, scope and mtimeMs, with absolute paths.",
    "S0-2": "The id derives from the canonical path; a namesake elsewhere has another.",
    "S0-3": "mtimeMs is in milliseconds and changes when SKILL.md is touched.",
    "S0-4": "Load errors are objects of path and message, separate from the skills.",
    "S0-5": "A catalogue has exactly skills, errors and truncated.",
    "S0-6": "A hit has skill, score and reason: exact_path, exact_name, prefix or token_overlap.",
    "S0-7": "The types are validated schemas, declared once; a malformed object is refused.",
    # Discovery
    "S0-8": ".agents/skills of each directory from the root to the working directory is repo.",
    "S0-9": "~/.agents/skills is listed as user.",
    "S0-10": "A skill several directories below .agents/skills is found, to a stated depth.",
    "S0-11": "Nothing else is searched: no .claude/skills, no sibling, nothing above the root.",
    "S0-12": "CODELIA_AGENTS_ROOT or SKILLHUB_PROJECT_ROOT sets the root, whatever the markers.",
    "S0-13": "Otherwise the nearest ancestor with .codelia, .git or .jj is the root.",
    "S0-14": "Without a marker the working directory is the root.",
    "S0-15": "The file is named exactly SKILL.md; a directory without one is no error.",
    "S0-16": "A missing root or an unreadable directory does not hide the rest.",
    # Frontmatter
    "S0-17": "A SKILL.md without frontmatter, or with an unclosed one, is an error with its path.",
    "S0-18": "A name that is missing, too long or not lower-case kebab-case is an error.",
    "S0-19": "-a, a- and a--b are errors.",
    "S0-20": "A missing or blank description is an error, as is one over 1,024 characters.",
    "S0-21": "version, license and metadata are accepted and kept.",
    "S0-22": "A name that differs from the directory's is an error.",
    "S0-23": "CRLF, BOM, block scalars, colons and invalid bytes cost no other skill.",
    # Duplicates
    "S0-24": "A file that two paths reach is listed once.",
    "S0-25": "Two files with the same name are both listed.",
    "S0-26": "Choosing by that name alone is ambiguous.",
    # Search
    "S0-27": "skill_search takes query, limit and scope.",
    "S0-28": "A skill's path as query ranks it first, with reason exact_path.",
    "S0-29": "A skill's name as query ranks it first, with reason exact_name.",
    "S0-30": "The beginning of a name gives reason prefix, above shared words.",
    "S0-31": "Words shared with a name or description give token_overlap, in every script.",
    "S0-32": "Hits are ordered by score, then repo before user, then path.",
    "S0-33": "scope limits the results; an unknown scope is refused.",
    "S0-34": "8 results by default, at most 50; a limit below 1 is refused.",
    "S0-35": "A result has name, description, path, scope, reason and score; the answer, count and truncated.",
    "S0-36": "No match is an empty list; an empty query is an input error.",
    # The first catalogue
    "S0-37": "The catalogue is <skills_context> with <skills_usage> rules and a <skills_catalog> of <skill> entries.",
    "S0-38": "An entry has name, description, path and scope, and no body.",
    "S0-39": "The rules name skill_load for a body and skill_search for a search.",
    "S0-40": "One rendered text has agents_context before skills_context.",
    "S0-41": "At most initial.maxEntries skills are listed.",
    "S0-42": "The catalogue has at most initial.maxBytes bytes of UTF-8.",
    "S0-43": "A shortened catalogue is marked truncated and names skill_search.",
    "S0-44": "No description can break out of the markup.",
    "S0-45": "An unchanged catalogue renders to the same bytes.",
    "S0-46": "Without skills there is no empty catalogue.",
    # Loading
    "S0-47": "skill_load takes name and path; a call with neither is refused.",
    "S0-48": "If both are given, path decides.",
    "S0-49": "A name that exactly one skill has loads it.",
    "S0-50": "A name that several skills have is an error with every candidate's path.",
    "S0-51": "An unknown name or path is not found, with the nearest names.",
    "S0-52": "The result is <skill_context name path> around the whole SKILL.md.",
    "S0-53": "It names the base directory as a file URL that ends with a slash.",
    "S0-54": "It says that relative paths are resolved from there.",
    "S0-55": "<skill_files> lists the other files as sorted absolute paths.",
    "S0-56": "skill_id, name, path, dir and mtime_ms come with the text.",
    "S0-57": "The body is the result of a tool call and changes no catalogue.",
    # Loading again
    "S0-58": "A second load in a session returns a reminder without the body.",
    "S0-59": "After SKILL.md has changed the body is returned again.",
    "S0-60": "Another session gets the whole body.",
    "S0-61": "force, or a new session, returns the body again.",
    # Permissions
    "S0-62": "A deny rule with a skill's name blocks exactly that skill, by name and path.",
    "S0-63": "Deny beats allow beats confirm.",
    "S0-64": "A rule without skill_name applies to every skill.",
    "S0-65": "A skill without a rule needs confirmation, which shows its name and description.",
    "S0-66": "A remembered answer is stored for that tool and skill; the next load asks nothing.",
    "S0-67": "A skill_name that is not lower-case kebab-case is refused and widens no rule.",
    # Safety
    "S0-68": "A path that is not in the catalogue cannot be loaded.",
    "S0-69": "`..` and links that leave the skill are refused in loading and listing.",
    "S0-70": "Cycles of links end, and a linked SKILL.md must stay inside the skill.",
    "S0-71": "The list of files is limited in count and bytes, and marked if cut.",
    # Configuration, protocol, remote
    "S0-72": "With skills disabled there is no catalogue and no skill tool.",
    "S0-73": "Defaults: skills enabled, 200 entries, 32,768 bytes, 8 hits, at most 50.",
    "S0-74": "A wrong type or a number below 1 is reported, and the default used.",
    "S0-75": "skills_list takes cwd and force_reload and returns skills and errors.",
    "S0-76": "With force_reload new skills appear and deleted ones are gone.",
    "S0-77": "Each working directory has its own catalogue.",
    "S0-78": "context_inspect shows the catalogue's state and the loaded versions, or omits them.",
    "S0-79": "No network request is made to find or fetch skills.",
    # Mentions and the picker
    "S0-80": "$skill-name resolves by its exact token; environment variables do not.",
    "S0-81": "A path precedes a name, and an ambiguous name returns its candidates.",
    "S0-82": "A skill that is switched off can be shown but not loaded.",
    "S0-83": "The picker filters by name, description and path, and says when none match.",
    "S0-84": "It shows each skill's scope and filters by it.",
    "S0-85": "A skill can be switched off and on; tools apply the stored choice.",
    "S0-86": "It works without a terminal, with lines or JSON as output.",
    # AGENTS.md: types
    "S1-1": "AgentsConfig accepts only enabled, root, initial and resolver, with positive whole numbers.",
    "S1-2": "ResolvedAgents is a list of files with path, mtimeMs and sizeBytes only.",
    "S1-3": "Reminders: agents.resolve.paths, session.resume.diff, tool.output.trimmed, permission.decision.",
    "S1-4": "The types are declared once, export JSON Schema and validate what comes in.",
    # AGENTS.md: the root
    "S1-5": "projectRootOverride or CODELIA_AGENTS_ROOT sets the root, whatever the markers.",
    "S1-6": "Otherwise the nearest directory with a marker is the root; .git may be a file.",
    "S1-7": "Without a marker the working directory is the root.",
    "S1-8": "markers or CODELIA_AGENTS_MARKERS replace the default markers.",
    "S1-9": "A directory with a person's own settings is not a project.",
    "S1-10": "CODELIA_SANDBOX_ROOT has no effect on the root.",
    # AGENTS.md: the first load
    "S1-11": "Every AGENTS.md from the root to the working directory is included once, in order.",
    "S1-12": "An AGENTS.md that is a directory, empty, unreadable or not UTF-8 is noted.",
    "S1-13": "At most initial.maxFiles files are included.",
    "S1-14": "At most initial.maxBytes bytes are included, cut between characters, with a note.",
    "S1-15": "The block is <agents_context> with Instructions from: and the path before each text.",
    "S1-16": "It is one fixed block, directly after the system messages.",
    "S1-17": "The directories of included files count as covered.",
    "S1-18": "If disabled, nothing is loaded and there are no reminders.",
    # AGENTS.md: later paths
    "S1-19": "Resolving a path returns path, mtime and size of files, not their text.",
    "S1-20": "An uncovered path returns exactly the unknown AGENTS.md files above it.",
    "S1-21": "A target that does not exist yet is resolved from its parent directory.",
    "S1-22": "A second resolve for the same place returns nothing.",
    "S1-23": "A known file that has changed is returned again.",
    "S1-24": "A call returns at most maxFilesPerResolve files; the next returns the rest.",
    "S1-25": "A resolve updates its own session only.",
    "S1-26": "Nothing outside the root is returned.",
    "S1-27": "With the resolver disabled, every answer is empty.",
    "S1-28": "The target may be a file or a directory, absolute or relative.",
    # AGENTS.md: reminders
    "S1-29": "A reminder of paths lists each file and asks to read and apply it.",
    "S1-30": "Every reminder names its type.",
    "S1-31": "A reminder contains paths and differences, never the text of a file.",
    "S1-32": "Without files there is no reminder.",
    "S1-33": "A resumed session gets changes of cwd, root and markers as old -> new.",
    "S1-34": "A newer resume reminder replaces the older one.",
    "S1-35": "tool.output.trimmed and permission.decision are types of reminders.",
    "S1-36": "Trimming an output keeps the reminder at its end.",
    # AGENTS.md: caching and prompt
    "S1-37": "The first block keeps the same bytes for the whole session.",
    "S1-38": "Later findings are part of tool results, not of the first block.",
    "S1-39": "The server's instructions contain the five rules for AGENTS.md.",
    "S1-40": "The first load and later resolves share one implementation.",
    "S1-41": "Reading AGENTS.md does not change how skills are loaded.",
    # Product and packaging
    "S2-1": "The package skillhub-mcp installs on Python 3.10 and brings skillhub and skillhub-mcp.",
    "S2-2": "serverInfo.version is the package's version.",
    "S2-3": "tools/list shows three tools, and run_skill_command only when enabled.",
    "S2-4": "Everything can be done with tools alone.",
    "S2-5": "Required arguments are query; skill_name; skill_name and file_path; skill_name and command.",
    "S2-6": "A failure has a code, such as SKILL_NOT_FOUND, and a sentence.",
    "S2-7": "A skill outside the filter is indexed, but cannot be searched, loaded, read or run.",
    # search_skills
    "S2-8": "A query in everyday words finds the fitting skill.",
    "S2-9": "Repeated and surrounding spaces make no difference to a query.",
    "S2-10": "search_skills: an empty query lists the skills by name and says so.",
    "S2-11": "With a provider, vectors are searched; if it fails, full text answers.",
    "S2-12": "With none, full text only; SEARCH_FIELDS can limit it to four fields.",
    "S2-13": "Tags and category match in any letter case.",
    "S2-14": "A disabled skill never appears in an answer.",
    "S2-15": "Four times limit candidates are considered, in descending order of score.",
    "S2-16": "Five hits or fewer are not cut by the threshold.",
    "S2-17": "Of more, those below SEARCH_THRESHOLD of the best score are cut.",
    "S2-18": "Without a limit, SEARCH_LIMIT applies, which is 10.",
    "S2-19": "A hit has name, description, a score from 0 to 1 and an optional category.",
    "S2-20": "A filter never removes a row from the index.",
    "S2-21": "Quotes, operators, emoji and any script do not break the search.",
    # load_skill
    "S2-22": "Loading returns name, path and instructions, the body without frontmatter.",
    "S2-23": "The path is the skill's absolute directory.",
    "S2-24": "An unknown name is SKILL_NOT_FOUND, with the nearest names or the list.",
    "S2-25": "A skill that the filter leaves out is SKILL_DISABLED.",
    "S2-26": "The body is SKILL.md at the time of the call.",
    # read_skill_file
    "S2-27": "A file is returned with content, encoding utf-8 and truncated false.",
    "S2-28": "An absolute path of any operating system is an error.",
    "S2-29": "A path that leaves the skill through `..` is an error.",
    "S2-30": "A link that leaves the skill is an error.",
    "S2-31": "A directory whose name begins like the skills directory's cannot be reached.",
    "S2-32": "A file over MAX_FILE_BYTES is cut between characters and marked truncated.",
    "S2-33": "A missing file, and a directory, is FILE_NOT_FOUND.",
    "S2-34": "A file that is not UTF-8 is base64 with its media type.",
    "S2-35": "The server's filter applies to reading files.",
    # run_skill_command
    "S2-36": "The tool is off by default, and one documented switch enables it.",
    "S2-37": "A command that is a path or not in ALLOWED_COMMANDS is COMMAND_NOT_ALLOWED.",
    "S2-38": "python and python3 run through uv if installed, else as python3.",
    "S2-39": "A command runs in the skill's directory, without a shell.",
    "S2-40": "The result has stdout, stderr, exit_code, timeout and truncated.",
    "S2-41": "Output beyond EXEC_MAX_OUTPUT_BYTES is cut and marked.",
    "S2-42": "EXEC_TIMEOUT_SECONDS kills the process and its children; timeout is true.",
    "S2-43": "The server's filter applies to running commands.",
    "S2-44": "Prompt-only, native and dependency skills can be searched, loaded, read and run.",
    # The index and its life
    "S2-45": "The table skills has the specified columns, and vector only with embeddings.",
    "S2-46": "Category and tags are lower case; tags_text joins the tags by spaces.",
    "S2-47": "Full-text indexes: name, description, tags_text, category. Scalar: category, tags.",
    "S2-48": "index_state.json holds the hash of all files, the schema and the provider.",
    "S2-49": "If nothing has changed, nothing is rebuilt, and the log shows it.",
    "S2-50": "A change, a missing state, another schema or provider updates the index.",
    "S2-51": "--reindex forces a rebuild.",
    "S2-52": "--skip-auto-reindex, or its variable, disables the check.",
    "S2-53": "A broken SKILL.md is reported, and the others are indexed.",
    "S2-54": "Of two namesakes the same one always wins; the other is reported.",
    # SKILL.md and layout
    "S2-55": "<SKILLS_DIR>/<name>/SKILL.md is found, also below a relative SKILLS_DIR.",
    "S2-56": "Unknown keys are reported; only strict loading refuses them.",
    "S2-57": "allowed-tools is read as a list or as text, and is shown.",
    "S2-58": "Category, tags and alwaysApply are read from metadata, and are optional.",
    "S2-59": "Skills with alwaysApply can be listed as Core Skills.",
    "S2-60": "The obsolete keys runtime and requires_setup have no effect.",
    "S2-61": "A README.md beside SKILL.md is never part of the instructions.",
    # Privacy, transports, configuration
    "S2-62": "With provider none, indexing and searching send nothing over a network.",
    "S2-63": "A provider gets names, descriptions, tags, categories and queries, never a body.",
    "S2-64": "A provider without its key is a clear error at the start.",
    "S2-65": "Over stdio, stdout carries JSON-RPC only; the log goes to stderr.",
    "S2-66": "--transport http serves POST and GET at /mcp.",
    "S2-67": "GET /healthz answers 200.",
    "S2-68": "Every variable has its documented default and effect; ~ is expanded.",
    "S2-69": "An invalid value is an error with the setting and what is allowed.",
    "S2-70": "SKILLHUB_ENABLED_SKILLS limits the server to those names.",
    "S2-71": "SKILLHUB_ENABLED_CATEGORIES limits it to those categories, in any letter case.",
    "S2-72": "If both are set, only the names count; without either all are served.",
    "S2-73": "Within 0.x a tool's schema gains optional fields only.",
    # Registry: roots and index
    "S3-1": "Project, user and built-in roots are searched in order; one may be missing.",
    "S3-2": "A root has source, absolute path and priority; callers may pass their own.",
    "S3-3": "An entry has name, description, source, path, controls and meta.",
    "S3-4": "By default models and people can invoke a skill; no tools are allowed.",
    "S3-5": "build_index and refresh_index return skills and a report.",
    "S3-6": "Only the frontmatter is read; the index contains no body.",
    "S3-7": "A skill is a directory with a SKILL.md; without a name it is refused.",
    "S3-8": "Directories whose names begin with a dot are ignored.",
    "S3-9": "Anything that is not a directory is ignored.",
    "S3-10": "Directories without SKILL.md are ignored; the report counts each reason.",
    # Registry: parsing
    "S3-11": "version, author, the invocation controls and allowed-tools have their types; 1.0 is text.",
    "S3-12": "The strict registry refuses an angle bracket in a value, not a block marker.",
    "S3-13": "Over 200 lines or 500 characters a line are refused; both are settings.",
    "S3-14": "Nested structures are refused or ignored, without a crash.",
    "S3-15": "Strict: malformed frontmatter or a missing field refuses a skill, with the reason.",
    "S3-16": "Lenient: a missing description is empty, with a note.",
    "S3-17": "Lenient: allowed-tools as text with commas becomes a list.",
    # Registry: conflicts
    "S3-18": "Of namesakes the project's wins over the user's, and that over the built-in.",
    "S3-19": "Within a root the later modified wins, and the conflict is reported.",
    "S3-20": "With a source, only that source's entry is returned, winner or not.",
    "S3-21": "An overridden entry is recorded with version, source, path and reason.",
    # Registry: refresh and snapshot
    "S3-22": "The index is built at the start.",
    "S3-23": "A refresh reports what is new and what is gone.",
    "S3-24": "After an installation or a removal the index is up to date.",
    "S3-25": "Changes are detected by time and content; named changes limit the work.",
    "S3-26": "A query does not read the disk.",
    "S3-27": "A snapshot never changes; a refresh makes a new one.",
    "S3-28": "The index's hash is equal for equal content and changes with any metadata.",
    "S3-29": "The index can be written to disk.",
    # Registry: what a model sees, and the report
    "S3-30": "disable-model-invocation hides a skill from models, user-invocable: false from people.",
    "S3-31": "The text form is a header and name, source and description of each skill.",
    "S3-32": "A model is shown name, description and source only.",
    "S3-33": "The report lists the roots and the time taken.",
    "S3-34": "It counts what was found, valid and ignored, with reasons and paths.",
    "S3-35": "It counts and details the conflicts.",
    "S3-36": "It gives the index's hash.",
    "S3-37": "It can be printed as JSON and written to a file.",
    "S3-38": "The registry reads no body, runs nothing and enforces no permission.",
    # The Skill tool
    "S4-1": "get_descriptions returns a line - name: description for each skill, or (no skills available).",
    "S4-2": "The first layer costs about a hundred tokens a skill; the count is available.",
    "S4-3": "A body is returned only on request, without frontmatter.",
    "S4-4": "Loading names a skill's files; each is read on request.",
    "S4-5": "parse_skill_md returns name, description, body, path and dir, or nothing without frontmatter.",
    "S4-6": "A SKILL.md whose closing fence ends the file is parsed.",
    "S4-7": "The tool Skill takes a string, skill, and says that it loads expert knowledge.",
    "S4-8": "The server's instructions name the available skills, within a budget.",
    "S4-9": "The result is <skill-loaded> with # Skill: name, the body, and a closing sentence.",
    "S4-10": "An unknown skill is an error that lists the existing ones.",
    "S4-11": "/name is accepted for name, and a prompt calls a skill.",
    "S4-12": "What a client was shown at first does not change with a load.",
    "S4-13": "The next call after an edit returns the new SKILL.md.",
    "S4-14": "Loading a skill adds no tool and runs nothing.",
    "S4-15": "skills/<name>/SKILL.md with references/ and scripts/ works, Japanese text intact.",
    "S4-16": "Hooks run around tool calls, and a failing PreToolUse hook stops the call.",
    "S4-17": "SkillLoader has load_skills, parse_skill_md, get_descriptions and get_skill_content.",
}

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
