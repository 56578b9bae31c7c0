"""Types and bounds of arguments that several tools share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

MAX_NAME_CHARACTERS = 256
MAX_QUERY_ARGUMENT = 65_536
MAX_PATH_CHARACTERS = 1_024
MAX_TAGS = 20

# Of ten wordings the one by which agents find most for the fewest words (docs/benchmarks.md).
QUERY = "In English: the field's terms, tools and formats for this task, most telling first"

SkillName = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Name from search_skills")]
Path = Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]
SourceName = Literal["project", "user", "hub", "builtin"]
