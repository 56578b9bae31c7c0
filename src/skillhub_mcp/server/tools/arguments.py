"""Types and bounds of arguments that several tools share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

MAX_NAME_CHARACTERS = 256
MAX_QUERY_ARGUMENT = 65_536
MAX_PATH_CHARACTERS = 1_024
MAX_TAGS = 20

SkillName = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Name from search_skills")]
Path = Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]
SourceName = Literal["project", "user", "hub", "builtin"]
