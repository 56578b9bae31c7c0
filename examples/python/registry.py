"""The registry from Python: the skills, the list for a model, and changes since the index was built.

python examples/python/registry.py [DIRECTORY]
"""

import sys
from pathlib import Path

from skillhub_mcp import Registry, SkillLoader, available_skills, build_index, refresh_index


def main(directory: str) -> None:
    index = build_index([directory])
    print(available_skills(index))

    report = index.report
    print(f"\n{report.found} found, {report.valid} valid, in {report.seconds:.3f} s")
    for place in report.ignored:
        if place.rule:
            print(f"refused: {place.path}: {place.reason}")
    for conflict in report.conflicts:
        print(f"{conflict.name}: {conflict.overridden.path} shadowed by {conflict.winner.path}, {conflict.reason}")

    # Only new and changed files are read; `index` itself is not modified.
    later = refresh_index(index)
    print("unchanged" if later.report.digest == report.digest else "changed")

    # A registry keeps its roots. An earlier root takes precedence; a shadowed skill is still found by its source.
    registry = Registry([{"source": "project", "path": ".agent/skills"}, {"source": "hub", "path": directory}])
    for entry in registry.skills()[:3]:
        print(f"{entry.name} from {entry.source.value}, tools: {', '.join(entry.controls.allowed_tools) or 'any'}")

    # A small loader for programs that only need bodies.
    loader = SkillLoader(directory)
    name = next(iter(loader.skills))
    print(loader.get_skill_content(name).splitlines()[0])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1] / "skills"))
