"""What SkillHub must do: each acceptance row of the seeds in a sentence. `test_requirements` holds them to tests.

A test proves a row by carrying its id: `@pytest.mark.acceptance("S2-37")`. What is knowingly unproved stands in GAPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REQUIREMENTS: dict[str, str] = {
    # Seed 000: types (§4)
    "S0-1": "Every listed skill carries id, name, description, path, dir, scope and mtimeMs, with absolute paths.",
    "S0-2": "The id is made of the canonical path: the same for the same file, another for a namesake elsewhere.",
    "S0-3": "mtimeMs is a number of milliseconds that changes when SKILL.md is touched.",
    "S0-4": "Load errors are {path, message}, apart from the skills.",
    "S0-5": "A catalogue has exactly skills, errors and truncated.",
    "S0-6": "A hit has skill, score and a reason that is one of exact_path, exact_name, prefix and token_overlap.",
    "S0-7": "The types are declared once as validated schemas, and a malformed object is refused.",
    # Seed 000: discovery (§5.1, §5.2)
    "S0-8": "From a working directory, .agents/skills of every directory from the root down to it is listed as repo.",
    "S0-9": "~/.agents/skills is listed as user.",
    "S0-10": "A skill several directories below .agents/skills is found, to a stated depth.",
    "S0-11": "Nothing else is searched: no .claude/skills, no sibling directory, nothing above the root.",
    "S0-12": "CODELIA_AGENTS_ROOT, or its SkillHub name, sets the root and beats markers.",
    "S0-13": "Without it the nearest ancestor with .codelia, .git or .jj, file or directory, is the root.",
    "S0-14": "Without a marker the working directory is the root, and its parents are not searched.",
    "S0-15": "The file is named exactly SKILL.md; a directory without one is neither a skill nor an error.",
    "S0-16": "Roots that are missing and directories that cannot be read cost nothing but themselves.",
    # Seed 000: frontmatter (§5.3)
    "S0-17": "A SKILL.md without frontmatter, or with an unclosed one, is an error with its path.",
    "S0-18": "A name that is missing, empty, too long or not lower-case kebab-case is an error.",
    "S0-19": "-a, a- and a--b are errors.",
    "S0-20": "A description that is missing, blank or over 1,024 characters is an error; exactly 1,024 are accepted.",
    "S0-21": "version, license and metadata are accepted and kept.",
    "S0-22": "A name other than the directory's is an error.",
    "S0-23": "CRLF, BOM, block scalars, colons and odd bytes are parsed or reported, and cost no other skill anything.",
    # Seed 000: duplicates (§5.4)
    "S0-24": "One file that two ways lead to is listed once.",
    "S0-25": "Two files of one name are both listed.",
    "S0-26": "Choosing by that name alone is ambiguous.",
    # Seed 000: search (§5.5, §7.1)
    "S0-27": "skill_search takes query, limit and scope.",
    "S0-28": "A query that is a skill's path puts it first, with reason exact_path.",
    "S0-29": "A query that is a name puts it first, with reason exact_name.",
    "S0-30": "A query that begins a name gives reason prefix, above shared words.",
    "S0-31": "A query that shares words with a name or description gives reason token_overlap, in every script.",
    "S0-32": "Ties go to the higher score, then to repo before user, then by path, the same on every run.",
    "S0-33": "scope keeps only that scope, and an unknown one is refused.",
    "S0-34": "8 results by default, the caller's limit up to 50, more clamped, 0 or fewer refused.",
    "S0-35": "The answer has name, description, path, scope, reason and score, and count and truncated.",
    "S0-36": "No match is an empty list; an empty query is an input error, never everything.",
    # Seed 000: the first catalogue (§6.1)
    "S0-37": "The catalogue is <skills_context> with <skills_usage> rules and a <skills_catalog> of <skill> entries.",
    "S0-38": "An entry has name, description, path and scope, and no body.",
    "S0-39": "The rules say to load a body with skill_load and to search with skill_search.",
    "S0-40": "One render puts agents_context before skills_context, behind the host's own text.",
    "S0-41": "At most initial.maxEntries skills are listed.",
    "S0-42": "At most initial.maxBytes bytes of UTF-8 are taken.",
    "S0-43": "What is cut is marked truncated, and the reader is told to use skill_search.",
    "S0-44": "No description breaks out of the markup.",
    "S0-45": "Two renders of an unchanged catalogue are the same bytes.",
    "S0-46": "Without skills no empty catalogue is put in.",
    # Seed 000: loading (§6.2, §7.2)
    "S0-47": "skill_load takes name and path, and refuses neither.",
    "S0-48": "path wins when both are given.",
    "S0-49": "A name that one skill has resolves.",
    "S0-50": "A name that several have is an error with every candidate's path.",
    "S0-51": "An unknown name or path is not found, with the nearest names.",
    "S0-52": "The result is <skill_context name path> around the whole SKILL.md.",
    "S0-53": "It has the base directory as a file URL with a slash at its end.",
    "S0-54": "It says that relative paths resolve from there.",
    "S0-55": "<skill_files> lists the bundled files as absolute paths, sorted, without SKILL.md.",
    "S0-56": "skill_id, name, path, dir and mtime_ms come with the text.",
    "S0-57": "The body comes as a tool's result and changes no catalogue.",
    # Seed 000: loading again (§6.3)
    "S0-58": "A second load of an unchanged skill in a session is a short reminder without the body.",
    "S0-59": "After the file's mtime has changed the body is returned again.",
    "S0-60": "Another session gets the whole body: state belongs to one session.",
    "S0-61": "After a client compacts its context, force or a new session gives the body again.",
    # Seed 000: permissions (§8.1)
    "S0-62": "A deny rule for a skill's name blocks exactly that skill, by name and by path.",
    "S0-63": "Deny beats allow beats confirm.",
    "S0-64": "A rule without skill_name is about every skill.",
    "S0-65": "A skill with neither rule needs confirmation, which shows its name and description.",
    "S0-66": "Remember stores exactly the tool and the skill's name, and nobody is asked again.",
    "S0-67": "A skill_name that is not exact lower-case kebab-case is refused and widens nothing.",
    # Seed 000: safety (§8.2)
    "S0-68": "A path that is not in the catalogue cannot be loaded.",
    "S0-69": "`..` and links that leave the skill are refused, in loading and in the list of files.",
    "S0-70": "Cycles of links end, linked skill directories are followed, and a SKILL.md that is a link stays inside.",
    "S0-71": "The list of files is bounded in count and bytes, and says so.",
    # Seed 000: configuration, protocol, remote (§9, §10, §12)
    "S0-72": "With skills switched off there is no catalogue and no skill tool.",
    "S0-73": "Skills are on, 200 entries, 32,768 bytes, 8 and 50 hits by default; each can be set.",
    "S0-74": "Wrong types and numbers that are not positive are reported, and the default is used.",
    "S0-75": "skills_list takes cwd and force_reload and returns skills and errors.",
    "S0-76": "Without force_reload the catalogue may be the one of before; with it, new skills come and lost ones go.",
    "S0-77": "Two working directories have their own catalogues.",
    "S0-78": "context_inspect shows the catalogue's state and the loaded versions, or leaves them out.",
    "S0-79": "Nothing is asked of a network to find or fetch skills.",
    # Seed 000: mentions and the picker (§1, §14)
    "S0-80": "$skill-name resolves by its exact token, and the environment's names are not taken.",
    "S0-81": "A path beats a name, and an ambiguous name resolves to none, with its candidates.",
    "S0-82": "A skill that is switched off can be shown, yet not be loaded.",
    "S0-83": "The picker lists skills, narrows by name, description and path, and says when none match.",
    "S0-84": "It shows each skill's scope and narrows by it.",
    "S0-85": "A skill is switched off and on; it is kept, and the tools heed it.",
    "S0-86": "It can be used without a terminal, as lines or JSON.",
    # Seed 001: types (§0)
    "S1-1": "AgentsConfig takes the seed's keys alone, and positive whole numbers.",
    "S1-2": "ResolvedAgents is strict: files of path, mtimeMs and sizeBytes.",
    "S1-3": "There are exactly the seed's four types of reminders.",
    "S1-4": "The types are declared once, export JSON Schema, and are parsed at every border.",
    # Seed 001: the root (§4)
    "S1-5": "projectRootOverride or CODELIA_AGENTS_ROOT decides the root, whatever the markers.",
    "S1-6": "Else the nearest directory with a marker, the working directory included; .git may be a file.",
    "S1-7": "Without a marker the working directory is the root.",
    "S1-8": "markers or CODELIA_AGENTS_MARKERS take the place of the default ones.",
    "S1-9": "A directory of a person's own settings is no project.",
    "S1-10": "CODELIA_SANDBOX_ROOT has no say in it.",
    # Seed 001: the first load (§5)
    "S1-11": "Every AGENTS.md from the root down to here comes in that order, each once.",
    "S1-12": "One that is a directory, empty, unreadable, gone or not UTF-8 is no failure, and noted.",
    "S1-13": "It stops at initial.maxFiles.",
    "S1-14": "It keeps initial.maxBytes, cuts between characters, and says that it cut.",
    "S1-15": "The block is <agents_context> with Instructions from: and the path before each text.",
    "S1-16": "It is one fixed block, right behind the system's own messages.",
    "S1-17": "The directories of adopted files are covered.",
    "S1-18": "Switched off, nothing is loaded and nothing reminded.",
    # Seed 001: later paths (§6)
    "S1-19": "A resolve returns path, mtime and size, and no body.",
    "S1-20": "An uncovered path gives just the AGENTS.md above it, within the root, that are not known.",
    "S1-21": "A target that is not there yet resolves from its parent directory.",
    "S1-22": "A second resolve for the same place returns nothing.",
    "S1-23": "A known file that has changed is returned again.",
    "S1-24": "One call returns at most maxFilesPerResolve files, and the next the rest.",
    "S1-25": "A resolve updates covered directories and loaded versions, of its session alone.",
    "S1-26": "Outside the root nothing is returned.",
    "S1-27": "With the resolver switched off nothing is ever returned.",
    "S1-28": "The target is a file or a directory, absolute or relative.",
    # Seed 001: reminders (§11)
    "S1-29": "The reminder of paths has its sentence, a line for each file, and what to do.",
    "S1-30": "Every reminder has its type.",
    "S1-31": "A reminder holds paths and differences, and no bodies.",
    "S1-32": "Without files there is no reminder.",
    "S1-33": "A resumed session hears of cwd, root and markers as old -> new, and which files to check again.",
    "S1-34": "A newer reminder of a resumed session takes the place of the older.",
    "S1-35": "tool.output.trimmed and permission.decision are among the types.",
    "S1-36": "Trimming an output leaves the reminder at its end.",
    # Seed 001: caching and prompt (§7, §8, §10)
    "S1-37": "The first block is the same bytes for the whole session.",
    "S1-38": "Later findings come with tools' results and are never put in at the top.",
    "S1-39": "The server's instructions carry the five rules.",
    "S1-40": "The first load and the resolver share their rules.",
    "S1-41": "AGENTS.md changes nothing about how skills are loaded.",
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
    # Seed 003: roots and index (§2, §3)
    "S3-1": "Project, user and built-in roots are searched in this order, and one that is missing is no error.",
    "S3-2": "Each root carries source, absolute path and priority, and the caller may pass a list of their own.",
    "S3-3": "An entry has name, description, source, path, controls and meta.",
    "S3-4": "Controls default to false, true and none.",
    "S3-5": "build_index and refresh_index return skills and a report.",
    "S3-6": "Only the bytes of the frontmatter are read, and no body is in the index.",
    "S3-7": "A skill is a directory with a SKILL.md; its name is the frontmatter's, and without one it is refused.",
    "S3-8": "Directories whose names begin with a dot are ignored.",
    "S3-9": "What is not a directory is ignored.",
    "S3-10": "Directories without SKILL.md are ignored, and each reason is counted in the report.",
    # Seed 003: parsing (§4)
    "S3-11": "version, author, the two invocation controls and allowed-tools have their types; version 1.0 is text.",
    "S3-12": "An angle bracket in a value is refused by the strict registry; a block marker is no value.",
    "S3-13": "Over 200 lines of frontmatter, or over 500 characters in a line, are refused; both bounds are settings.",
    "S3-14": "Nested structures are refused or ignored, without a crash.",
    "S3-15": "Strict: bad frontmatter or a missing field keeps a skill out, with the reason.",
    "S3-16": "Lenient: a missing description is empty and noted.",
    "S3-17": "Lenient: allowed-tools as text with commas becomes a list.",
    # Seed 003: conflicts (§5)
    "S3-18": "Of one name in several roots the project's wins over the user's, and that over the built-in.",
    "S3-19": "Of one name twice in a root the later modified wins, and the conflict is reported.",
    "S3-20": "With a source, only that source's entry is returned, also one that lost by default.",
    "S3-21": "Each overridden entry is recorded with version, source, path and reason.",
    # Seed 003: refresh and snapshot (§6)
    "S3-22": "The index is built at the start.",
    "S3-23": "A refresh shows what is new and what is gone.",
    "S3-24": "After an installation or a removal the index is fresh.",
    "S3-25": "Changes are detected by time and content, and named changes limit the work.",
    "S3-26": "A query does not scan the disk.",
    "S3-27": "A snapshot never changes; a refresh makes a new one.",
    "S3-28": "The index has a hash: the same for the same content everywhere, another for any change of metadata.",
    "S3-29": "The index can be written to disk.",
    # Seed 003: what a model sees, and the report (§7, §8)
    "S3-30": "disable-model-invocation keeps a skill from models' lists, user-invocable: false from people's.",
    "S3-31": "The text form is a header and a line of name, source and description for each skill.",
    "S3-32": "A model is shown name, description and source alone.",
    "S3-33": "The report lists the roots and the time taken.",
    "S3-34": "It counts what was found, valid and ignored, with reasons and paths.",
    "S3-35": "It counts and details the conflicts.",
    "S3-36": "It gives the index's hash.",
    "S3-37": "It can be printed as JSON and written to a file.",
    "S3-38": "The registry reads no body, runs nothing and enforces no permission.",
    # Seed 004
    "S4-1": "get_descriptions gives a line - name: description for each skill, or (no skills available).",
    "S4-2": "The first layer costs about a hundred tokens a skill, and the count can be had.",
    "S4-3": "A body comes only when it is asked for, without frontmatter.",
    "S4-4": "Files are named when a skill is loaded, and read only on request.",
    "S4-5": "parse_skill_md gives name, description, body, path and dir; a file without frontmatter gives nothing.",
    "S4-6": "A SKILL.md whose closing fence ends the file is parsed.",
    "S4-7": "The tool Skill takes one string, skill, and says that it loads expert knowledge.",
    "S4-8": "The server's instructions name the available skills, within a budget.",
    "S4-9": "The result is <skill-loaded> with # Skill: name and the body, and the sentence to follow it.",
    "S4-10": "An unknown skill is an error that lists those there are.",
    "S4-11": "/name is taken for name, and a person calls a skill by a prompt.",
    "S4-12": "What a client was told at first is the same before and after a load.",
    "S4-13": "An edited SKILL.md is what the next call returns, without a restart.",
    "S4-14": "Loading a skill adds no tool and runs nothing.",
    "S4-15": "skills/<name>/SKILL.md with references/ and scripts/ works, Japanese text intact.",
    "S4-16": "PreToolUse and PostToolUse hooks run around tool calls, and a failing one before stops the call.",
    "S4-17": "SkillLoader has load_skills, parse_skill_md, get_descriptions and get_skill_content.",
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
