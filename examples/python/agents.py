"""AGENTS.md from Python: the files that apply here and to another path, and changes since a session was saved.

python examples/python/agents.py [DIRECTORY [PATH]]
"""

import sys

from skillhub_mcp import AgentsConfig, AgentsResolver, AgentsState
from skillhub_mcp.agents_md.reminders import paths_reminder


def main(directory: str, path: str) -> None:
    config = AgentsConfig.model_validate({"initial": {"maxBytes": 16_384}, "resolver": {"maxFilesPerResolve": 4}})
    session = AgentsResolver(directory, config=config)

    # Once, after the host's own system prompt; the text stays the same throughout the session.
    print(session.initial().text or "no AGENTS.md here")
    for note in session.initial().notes:
        print(f"note: {note.path} {note.message}")

    # Before a tool reads or edits `path`: only the paths that this session does not know yet.
    print(paths_reminder(session.resolve(path).files) or "nothing more applies")
    print(paths_reminder(session.resolve(path).files) or "nothing more applies")

    # A host saves the state as JSON, and later asks what changed.
    saved = session.state.model_dump_json()
    resumed = AgentsResolver(directory, config=config)
    print(resumed.resume_diff(AgentsState.model_validate_json(saved)) or "nothing has changed")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".", sys.argv[2] if len(sys.argv) > 2 else "docs/new.md")
