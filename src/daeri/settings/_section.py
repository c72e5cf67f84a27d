"""What all tables of `daeri.toml` have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

TenantName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


class Section(BaseModel):
    """A table of `daeri.toml`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True, str_strip_whitespace=True
    )
