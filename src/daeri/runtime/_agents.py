"""Agents from files: `agents/<name>/card.json` and `instructions.md`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daeri.engine import DEFAULT_INSTRUCTIONS, Agent, Limits
from daeri.errors import DefinitionError
from daeri.tools import JsonTextError, parse_json

CARD = "card.json"
INSTRUCTIONS = "instructions.md"

_Count = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _LimitsCard(_Section):
    max_steps: _Count | None = None
    max_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_tokens: _Count | None = None
    max_cost: Annotated[Decimal, Field(gt=0, allow_inf_nan=False)] | None = None
    max_context_blocks: _Count | None = None
    context_tokens: _Count | None = None
    max_tool_output_chars: _Count | None = None
    max_output_tokens: _Count | None = None


class _Metadata(BaseModel):
    # foreign metadata is allowed: a card is shared with other software
    model_config = ConfigDict(extra="allow", frozen=True)

    tools: list[str] | Literal["*"] = "*"
    scopes: list[str] | None = None


class _Card(_Section):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    description: str = ""
    model: str | None = None
    limits: _LimitsCard = _LimitsCard()
    metadata: _Metadata = _Metadata()


def load_agents(folder: Path, ceiling: Limits) -> Mapping[str, Agent]:
    """All agents below `folder` by name; none when the folder doesn't exist. Limits above `ceiling` are lowered to it.

    Raises:
        DefinitionError: a card or instructions file can't be used; names the file and the place in it.
    """
    agents: dict[str, Agent] = {}
    for card in sorted(folder.glob(f"*/{CARD}")):
        agent = load_agent(card, ceiling)
        agents[agent.name] = agent
    return agents


def load_agent(card_file: Path, ceiling: Limits) -> Agent:
    """One agent from its card and the instructions beside it.

    Raises:
        DefinitionError: the card or the instructions can't be used.
    """
    card = _read_card(card_file)
    if card.name != card_file.parent.name:
        fix = f"Name the folder {card.name!r}, or the agent {card_file.parent.name!r}."
        raise DefinitionError(str(card_file), f"the agent {card.name!r} lies in a folder of another name", fix)
    return Agent(
        name=card.name,
        description=card.description,
        instructions=_read_instructions(card_file.parent / INSTRUCTIONS),
        model=card.model,
        tools=tuple(card.metadata.tools),
        scopes=None if card.metadata.scopes is None else frozenset(card.metadata.scopes),
        limits=_lower(card.limits, ceiling),
    )


def _read_card(file: Path) -> _Card:
    try:
        return _Card.model_validate(parse_json(file.read_text("utf-8-sig")))
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(str(file), f"can't be read: {error}") from error
    except JsonTextError as error:
        raise DefinitionError(f"{file}:{error.line}", f"is not JSON: {error.problem}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the card"
        raise DefinitionError(str(file), f"`{place}`: {first['msg']}", "Correct it in the card.") from error


def _read_instructions(file: Path) -> str:
    if not file.exists():
        return DEFAULT_INSTRUCTIONS
    try:
        text = file.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(str(file), f"can't be read: {error}", "Save it as UTF-8 text.") from error
    return text or DEFAULT_INSTRUCTIONS


def _lower(card: _LimitsCard, ceiling: Limits) -> Limits:
    """The card's limits where they are lower; an agent may not raise its own."""
    wanted = card.model_dump(exclude_none=True)
    lower = {name: value for name, value in wanted.items() if _is_lower(value, getattr(ceiling, name))}
    return replace(ceiling, **lower)


def _is_lower(value: float | Decimal, limit: float | Decimal | None) -> bool:
    return limit is None or value < limit
