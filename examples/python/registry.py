"""The registry from Python: which skills are there, what would a model be shown, and what has changed since?

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
        print(f"{conflict.name}: {conflict.overridden.path} lost to {conflict.winner.path}, {conflict.reason}")

    # Only what is new or other is read again; `index` itself stays as it is.
    later = refresh_index(index)
    print("the same skills" if later.report.digest == report.digest else "other skills")

    # A registry remembers its roots; an earlier one wins a name, and the other is still found by its source.
    registry = Registry([{"source": "project", "path": ".agent/skills"}, {"source": "hub", "path": directory}])
    for entry in registry.skills()[:3]:
        print(f"{entry.name} from {entry.source.value}, tools: {', '.join(entry.controls.allowed_tools) or 'any'}")

    # The small loader of a program that wants bodies and nothing else.
    loader = SkillLoader(directory)
    name = next(iter(loader.skills))
    print(loader.get_skill_content(name).splitlines()[0])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1] / "skills"))
