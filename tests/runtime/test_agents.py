from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.engine import DEFAULT_INSTRUCTIONS, Agent, Limits
from daeri.errors import DefinitionError
from daeri.runtime import load_agent, load_agents

if TYPE_CHECKING:
    from tests.runtime.conftest import WriteAgent

CEILING = Limits(max_steps=5, max_cost=Decimal(1))


def test_an_agent_comes_from_its_card_and_the_instructions_beside_it(write_agent: WriteAgent) -> None:
    card = write_agent(
        "payroll",
        {
            "name": "payroll",
            "description": "급여를 조회합니다",
            "model": "openai:gpt-5.4",
            "limits": {"max_steps": 3, "max_output_tokens": 500},
            "metadata": {"tools": ["pay.*", "calculator"], "scopes": ["pay:read"], "owner": "HR"},
        },
        "\ufeff급여 담당입니다.\n",
    )

    assert load_agent(card, CEILING) == Agent(
        name="payroll",
        description="급여를 조회합니다",
        instructions="급여 담당입니다.",
        model="openai:gpt-5.4",
        tools=("pay.*", "calculator"),
        scopes=frozenset({"pay:read"}),
        limits=Limits(max_steps=3, max_cost=Decimal(1), max_output_tokens=500),
    )


def test_a_card_with_a_name_alone_is_an_agent_with_all_tools_and_no_limits_of_its_own(write_agent: WriteAgent) -> None:
    card = write_agent("plain", {"name": "plain"})

    assert load_agent(card, CEILING) == Agent(name="plain", instructions=DEFAULT_INSTRUCTIONS, limits=CEILING)


def test_empty_instructions_are_the_default_ones(write_agent: WriteAgent) -> None:
    assert load_agent(write_agent("plain", {"name": "plain"}, " \n"), CEILING).instructions == DEFAULT_INSTRUCTIONS


@pytest.mark.parametrize(("tools", "expected"), [("*", ("*",)), ([], ()), (["a", "b.*"], ("a", "b.*"))])
def test_tools_are_a_list_or_a_star(write_agent: WriteAgent, tools: object, expected: tuple[str, ...]) -> None:
    assert load_agent(write_agent("plain", {"name": "plain", "metadata": {"tools": tools}}), CEILING).tools == expected


def test_an_empty_list_of_scopes_is_no_right_at_all_and_not_no_limit(write_agent: WriteAgent) -> None:
    assert (
        load_agent(write_agent("plain", {"name": "plain", "metadata": {"scopes": []}}), CEILING).scopes == frozenset()
    )


def test_an_agent_can_not_raise_its_limits(write_agent: WriteAgent) -> None:
    card = write_agent("greedy", {"name": "greedy", "limits": {"max_steps": 500, "max_cost": "99", "max_tokens": 10}})

    assert load_agent(card, CEILING).limits == Limits(max_steps=5, max_cost=Decimal(1), max_tokens=10)


_counts = st.none() | st.integers(1, 100)
_own_limits = st.fixed_dictionaries(
    {},
    optional={
        "max_steps": _counts,
        "max_seconds": st.none() | st.floats(0.1, 100),
        "max_tokens": _counts,
        "max_cost": st.none() | st.decimals("0.01", 100, places=2).map(str),
        "max_context_blocks": _counts,
        "context_tokens": _counts,
        "max_tool_output_chars": _counts,
        "max_output_tokens": _counts,
    },
)
_ceilings = st.builds(
    Limits,
    max_steps=st.integers(1, 100),
    max_seconds=st.floats(0.1, 100),
    max_tokens=st.integers(1, 100),
    max_cost=st.none() | st.decimals("0.01", 100, places=2),
    max_context_blocks=st.integers(1, 100),
    context_tokens=st.integers(1, 100),
    max_tool_output_chars=st.integers(1, 100),
    max_output_tokens=_counts,
)


@given(own=_own_limits, ceiling=_ceilings)
def test_every_limit_is_the_lower_of_the_agents_and_the_ceilings(own: dict[str, Any], ceiling: Limits) -> None:
    with tempfile.TemporaryDirectory() as folder:
        card = Path(folder) / "x" / "card.json"
        card.parent.mkdir()
        card.write_text(json.dumps({"name": "x", "limits": own}), "utf-8")

        limits = asdict(load_agent(card, ceiling).limits)

    for name, most in asdict(ceiling).items():
        wanted = Decimal(own[name]) if name == "max_cost" and own.get(name) else own.get(name)
        assert limits[name] == min((value for value in (wanted, most) if value is not None), default=None)


@pytest.mark.parametrize(
    ("card", "says"),
    [
        ("{", "card.json:1: is not JSON"),
        ('{"name": "x",\n "name": "y"}', "card.json:2: is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "`the card`"),
        ({"name": "Big Name"}, "`name`"),
        ({"name": ""}, "`name`"),
        ({}, "`name`"),
        ({"name": "x", "instuctions": "typo"}, "`instuctions`"),
        ({"name": "x", "limits": {"max_stepps": 1}}, "`limits.max_stepps`"),
        ({"name": "x", "limits": {"max_steps": 0}}, "`limits.max_steps`"),
        ({"name": "x", "limits": {"max_steps": "many"}}, "`limits.max_steps`"),
        ({"name": "x", "limits": {"max_seconds": -1}}, "`limits.max_seconds`"),
        ({"name": "x", "metadata": {"tools": "calculator"}}, "`metadata.tools"),
        ({"name": "x", "metadata": {"scopes": "pay:read"}}, "`metadata.scopes`"),
        ({"name": "other"}, "lies in a folder of another name"),
    ],
)
def test_a_card_that_can_not_be_used_names_the_file_and_the_place(
    write_agent: WriteAgent, card: dict[str, object] | str, says: str
) -> None:
    file = write_agent("x", card)

    with pytest.raises(DefinitionError) as caught:
        load_agent(file, CEILING)

    assert str(file) in str(caught.value)
    assert says in str(caught.value)


def test_instructions_that_are_no_utf_8_name_the_file_and_the_fix(write_agent: WriteAgent) -> None:
    file = write_agent("x", {"name": "x"}, "급여".encode("cp949"))

    with pytest.raises(DefinitionError, match=r"instructions.md: can't be read.*Save it as UTF-8"):
        load_agent(file, CEILING)


def test_a_card_that_is_no_utf_8_names_the_file(write_agent: WriteAgent) -> None:
    file = write_agent("x", "")
    file.write_bytes("급여".encode("cp949"))

    with pytest.raises(DefinitionError, match=r"card\.json: can't be read"):
        load_agent(file, CEILING)


def test_all_agents_of_a_folder_are_found_by_name_and_other_folders_are_left_alone(
    tmp_path: Path, write_agent: WriteAgent
) -> None:
    write_agent("b", {"name": "b"})
    write_agent("a", {"name": "a"})
    (tmp_path / "agents" / "notes").mkdir()

    assert list(load_agents(tmp_path / "agents", CEILING)) == ["a", "b"]


def test_no_folder_is_no_agents(tmp_path: Path) -> None:
    assert load_agents(tmp_path / "nosuch", CEILING) == {}
