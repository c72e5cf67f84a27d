"""Scripts: the file, its mistakes, and the turns that come of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.errors import ModelError, SettingsError
from daeri.models import (
    Block,
    CallAnswer,
    Model,
    ModelRequest,
    ModelSettings,
    ReasoningDelta,
    ScriptedCall,
    ScriptedTurn,
    ScriptModel,
    TextDelta,
    Usage,
    build_model,
)

if TYPE_CHECKING:
    from tests.models.conftest import Turn

pytestmark = pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")

REQUEST = ModelRequest(instructions="", goal="What do 7 cost?")


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str) -> Path:
        file = tmp_path / "turns.jsonl"
        file.write_text("\n".join(lines), "utf-8")
        return file

    return write


async def test_a_file_is_replayed_turn_by_turn(script: Callable[..., Path], turn: Turn) -> None:
    file = script(
        "# prices",
        '{"reasoning": "Look.", "calls": [{"name": "knowledge.lookup", "arguments": {"key": "단가"}, "id": "c1"}]}',
        "",
        '{"text": "168달러", "usage": {"input_tokens": 10, "output_tokens": 4}, "finish": "length"}',
    )
    model, choice = await build_model(ModelSettings(reference=f"script:{file}"), {})
    first, second = await turn(model, REQUEST), await turn(model, REQUEST)
    assert (first.reasoning, first.finish, first.usage.estimated) == ("Look.", "calls", True)
    assert [(one.id, one.name, one.arguments) for one in first.calls] == [("c1", "knowledge.lookup", '{"key": "단가"}')]
    assert (second.text, second.finish, second.cost) == ("168달러", "length", None)
    assert second.usage == Usage(input_tokens=10, output_tokens=4)
    assert model.name == str(choice.reference) == f"script:{file}"


async def test_text_and_reasoning_are_streamed_in_pieces(turn: Turn) -> None:
    model = ScriptModel([ScriptedTurn(text="one two three four", reasoning="hm hm hm")])
    events = [event async for event in model.stream(REQUEST)]
    text = [event.text for event in events if isinstance(event, TextDelta)]
    assert (len(text), "".join(text)) == (4, "one two three four")
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm hm hm"


async def test_raw_arguments_and_missing_ids_stay_what_they_are(script: Callable[..., Path], turn: Turn) -> None:
    file = script(
        '{"calls": [{"name": "a", "arguments": "{\\"x\\": "}, {"name": "b", "id": "i"}, {"name": "b", "id": "i"}]}'
    )
    reply = await turn(ScriptModel.load(file), REQUEST)
    assert [call.arguments for call in reply.calls] == ['{"x": ', "{}", "{}"]
    assert [call.provider_id for call in reply.calls] == ["", "i", "i"]
    assert len({call.id for call in reply.calls}) == 3


async def test_an_id_of_an_earlier_block_is_not_used_again(turn: Turn) -> None:
    model = ScriptModel([ScriptedTurn(calls=(ScriptedCall(name="a", arguments="{}", id="i"),))] * 2)
    first = await turn(model, REQUEST)
    block = Block(reply=first, answers=(CallAnswer(call=first.calls[0], content=""),))
    second = await turn(model, ModelRequest(instructions="", goal="", blocks=(block,)))
    assert second.calls[0].id != first.calls[0].id
    assert second.calls[0].provider_id == "i"


async def test_an_error_line_uses_up_one_attempt(script: Callable[..., Path], turn: Turn) -> None:
    file = script(
        '{"text": "draft", "error": {"kind": "rate_limit", "detail": "slow down", "retry_after_s": 3}}',
        '{"text": "fine", "delay_s": 0.001}',
    )
    model = ScriptModel.load(file)
    error = await _fails(model)
    assert (error.kind, error.detail, error.retry_after_s) == ("rate_limit", "slow down", 3.0)
    assert (await turn(model, REQUEST)).text == "fine"


async def test_a_script_that_is_over_says_so(turn: Turn) -> None:
    model = ScriptModel([ScriptedTurn(text="once")])
    await turn(model, REQUEST)
    error = await _fails(model)
    assert error.kind == "bad_request"
    assert "the script is over: all of its 1 turns are used" in error.detail


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "EOF"),
        ("[]", "should be an object"),
        ('{"txt": "x"}', "txt"),
        ('{"calls": [{"arguments": {}}]}', "calls/0/name"),
        ('{"error": {"kind": "fire"}}', "error/kind"),
        ('{"delay_s": -1}', "delay_s"),
        ('{"error": {"kind": "server"}, "calls": [{"name": "a"}]}', "makes no calls"),
    ],
)
def test_a_wrong_line_is_named(script: Callable[..., Path], line: str, problem: str) -> None:
    file = script('{"text": "fine"}', line)
    with pytest.raises(SettingsError) as caught:
        ScriptModel.load(file)
    assert caught.value.setting == "model.reference"
    assert f"line 2 of {file}" in caught.value.problem
    assert problem in caught.value.problem


def test_a_file_without_turns_or_no_file_is_named(script: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no turn"):
        ScriptModel.load(script("# nothing"))
    with pytest.raises(SettingsError, match=r"missing\.jsonl can't be read: No such file"):
        ScriptModel.load(tmp_path / "missing.jsonl")
    (tmp_path / "korean.jsonl").write_bytes("단가".encode("cp949"))
    with pytest.raises(SettingsError, match="not UTF-8"):
        ScriptModel.load(tmp_path / "korean.jsonl")


async def _fails(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        async for _ in model.stream(REQUEST):
            pass
    return caught.value
