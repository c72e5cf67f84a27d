from __future__ import annotations

import json
import os
import pty
import signal
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell


def test_the_answer_is_on_stdout_and_the_trail_on_stderr(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"})], "A pen costs $2.")

    done = project("run", "What is a pen?", "--model", model)

    assert (done.code, done.out) == (0, "A pen costs $2.\n")
    lines = done.err.splitlines()
    assert lines[0].startswith("Model: script:")
    assert lines[1].startswith('price.find("pen") → allow → $2 · ')
    assert lines[2].startswith("succeeded · steps: 2 · calls: 1 · ")
    assert "\x1b" not in done.err


def test_the_trail_speaks_korean_too(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"})], "2달러입니다.")

    done = project("run", "펜은 얼마예요?", "--model", model, "--lang", "ko")

    assert done.out == "2달러입니다.\n"
    assert 'price.find("pen") → 허용 → $2' in done.err
    assert "성공 · 2단계 · 호출 1회" in done.err


def test_json_is_one_object_with_all_that_happened(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"}), ("price.find", {"product": "car"})], "A pen costs $2.")

    done = project("run", "-", "--model", model, "--json", stdin="What is\na pen?\n")

    shown = done.json
    found, failed = shown.pop("calls")
    assert done.code == 0
    assert {key: shown[key] for key in ("status", "answer", "reason", "steps", "model", "cost", "approvals")} == {
        "status": "succeeded",
        "answer": "A pen costs $2.",
        "reason": "answered",
        "steps": 2,
        "model": model,
        "cost": None,
        "approvals": [],
    }
    assert shown["model_reason"].startswith("Model: script:")
    assert shown["usage"]["input_tokens"] > 0
    assert (found["tool"], found["arguments"], found["state"]) == ("price.find", {"product": "pen"}, "succeeded")
    assert (found["result"], found["decision"]["verdict"], found["failure"]) == ("$2", "allow", None)
    assert (failed["state"], failed["failure"]["kind"]) == ("failed", "tool_error")
    assert failed["failure"]["user_message"] == "There is no car."
    assert project("runs", "show", shown["run_id"], "--json").json["goal"] == "What is\na pen?"


def test_events_are_lines_of_json_in_the_order_of_the_journal(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"})], "A pen costs $2.")

    done = project("run", "What is a pen?", "--model", model, "--events")

    events = [json.loads(line) for line in done.out.splitlines()]
    kept = [event for event in events if "seq" in event]
    assert [event["seq"] for event in kept] == list(range(1, len(kept) + 1))
    assert [event["type"] for event in kept] == [
        "run.started",
        "model.replied",
        "call.requested",
        "call.started",
        "call.succeeded",
        "block.completed",
        "model.replied",
        "answer.released",
        "run.ended",
    ]
    assert "".join(event["data"]["text"] for event in events if event["type"] == "text.draft") == "A pen costs $2."


def test_a_run_that_reaches_its_limit_failed(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"})], "never said")

    done = project("run", "pen", "--model", model, "--max-steps", "1")

    assert done.code == 1
    assert "1 steps" in done.out


def test_a_run_without_evidence_is_refused(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "car"})], "A car costs $3.")

    done = project("run", "car", "--model", model)

    assert done.code == 3
    assert "$3" not in done.out
    assert "There is no car." in done.out


def test_a_call_of_high_risk_waits_for_approval(project: Shell, script: Script) -> None:
    model = script([("price.change", {"product": "pen", "price": 3})], "Changed.")

    done = project("run", "raise it", "--model", model, "--json")

    assert (done.code, done.json["status"], done.json["answer"]) == (4, "waiting_approval", "")
    (approval,) = done.json["approvals"]
    assert f"Waits for a person's approval: {approval}." in done.err
    assert 'price.change(product="pen", price=3) → needs approval → waits for approval' in done.err
    assert not (project.folder / "changed").exists()


def test_a_call_without_the_scope_is_denied(project: Shell, script: Script) -> None:
    model = script([("pay", {"amount": 3})], "Paid.")

    done = project("run", "pay", "--model", model)

    assert done.code == 5
    assert "Paid" not in done.out
    assert "pay(3) → deny → denied: " in done.err
    assert "pay:write" in done.err
    assert not (project.folder / "paid").exists()


def test_a_call_whose_outcome_nobody_knows_has_its_own_code(project: Shell, script: Script) -> None:
    model = script([("send", {})], "Sent.")

    done = project("run", "send", "--model", model, "--json")

    assert done.code == 7
    assert done.json["unknown_calls"] == [done.json["calls"][0]["call_id"]]
    assert "Nobody knows whether" in done.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run"], "the goal is missing"),
        (["run", "  "], "the goal is missing"),
        (["run", "-"], "the goal is missing"),
        (["run", "x", "--json", "--events"], "exclude each other"),
        (["run", "x", "--max-steps", "0"], "--max-steps"),
        (["run", "x", "--colour"], "--colour"),
        (["run", "x", "--lang", "fr"], "--lang"),
        (["run", "x", "--agent", "nobody"], "There is no agent 'nobody'. There are: default."),
        (["run", "x", "--tools", "gone.py"], "gone.py"),
        (["run", "x", "--model", "oracle:9"], "oracle:9"),
        (["run", "x", "--model", ""], "--model is empty"),
        (["run", "x", "--agent", " "], "--agent is empty"),
        (["walk"], "walk"),
    ],
)
def test_wrong_usage_is_one_sentence(daeri: Shell, arguments: list[str], complaint: str) -> None:
    done = daeri(*arguments)

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1


def test_a_wrong_setting_stops_the_start(daeri: Shell) -> None:
    done = daeri("run", "x", DAERI_LIMITS_MAX_STEPS="many")

    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "A setting is wrong: limits.max_steps (DAERI_LIMITS_MAX_STEPS) = 'many': not a whole number. "
        "Write a whole number.\n"
    )


def test_a_wrong_setting_is_told_in_korean(daeri: Shell) -> None:
    done = daeri("run", "x", DAERI_LIMITS_MAX_STEPS="many", LANG="ko_KR.UTF-8")

    assert done.err.startswith(
        "잘못된 설정이 있습니다: limits.max_steps (DAERI_LIMITS_MAX_STEPS) = 'many': 정수가 아닙니다."
    )


def test_a_fault_of_ours_shows_its_traceback_only_when_asked(daeri: Shell, script: Script) -> None:
    (daeri.folder / "sitecustomize.py").write_text(
        "import daeri.settings\n"
        "def load_settings(**_):\n    raise RuntimeError('out of order')\n"
        "daeri.settings.load_settings = load_settings\n"
    )
    broken = {"PYTHONPATH": str(daeri.folder)}

    plain, full = daeri("runs", "list", **broken), daeri("--debug", "runs", "list", **broken)

    assert (plain.code, full.code) == (1, 1)
    assert plain.err.startswith("Something went wrong that should not: RuntimeError: out of order.")
    assert len(plain.err.splitlines()) == 1
    assert "Traceback" in full.err


def test_ctrl_c_cancels_the_run_and_its_journal_says_so(project: Shell, script: Script) -> None:
    model = script([("wait_for", {"file": "never"})], "done")
    process = project.start("run", "wait", "--model", model, "--events")
    _read_until(process.stdout, '"call.started"')

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["call.cancelled", "run.ended"]
    assert "Cancelled; what happened until then is on record.\n" in err
    (run,) = project("runs", "list", "--json").json
    assert run["state"] == "cancelled"
    assert [call["state"] for call in project("runs", "show", run["run_id"], "--json").json["calls"]] == ["cancelled"]


def test_ctrl_c_does_not_wait_for_a_tool_that_goes_on(project: Shell, script: Script) -> None:
    process = project.start("run", "hold", "--model", script([("hold", {})], "done"), "--events")
    _read_until(process.stdout, '"call.started"')

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["type"] == "run.ended"
    assert "Cancelled; what happened until then is on record.\n" in err
    assert [run["state"] for run in project("runs", "list", "--json").json] == ["cancelled"]


def test_a_second_ctrl_c_ends_the_process_though_a_tool_holds_on(project: Shell, script: Script) -> None:
    process = project.start("run", "hold", "--model", script([("hold", {})], "done"), "--events")
    _read_until(process.stdout, '"call.started"')
    process.send_signal(signal.SIGINT)
    _read_until(process.stderr, "holding on")

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130


def test_a_reader_that_goes_away_ends_the_run_quietly(project: Shell, script: Script) -> None:
    model = script([("wait_for", {"file": "gone"})], "done")
    process = project.start("run", "wait", "--model", model, "--events")
    reader = _read_until(process.stdout, '"call.started"')

    reader.close()
    (project.folder / "gone").touch()
    process.stdout = None
    _, err = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    assert [run["state"] for run in project("runs", "list", "--json").json] == ["cancelled"]


def _read_until(stream: IO[str] | None, sign: str) -> IO[str]:
    """Read lines up to one with the sign in it."""
    assert stream is not None
    assert any(sign in line for line in stream), f"no line with {sign}"
    return stream


def test_in_a_terminal_the_progress_moves_and_stdout_stays_clean(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"})], "A pen costs $2.")
    ours, theirs = pty.openpty()

    process = project.start("run", "pen", "--model", model, stderr=theirs)
    os.close(theirs)
    shown = _read_all(ours)
    out, _ = process.communicate(timeout=60)

    assert (out, process.returncode) == ("A pen costs $2.\n", 0)
    assert "thinking" in shown
    assert 'price.find("pen") → allow → $2' in shown
    assert shown.index("\x1b[?25l") < shown.rindex("\x1b[?25h")


def _read_all(terminal: int) -> str:
    pieces: list[bytes] = []
    try:
        while piece := os.read(terminal, 4096):
            pieces.append(piece)
    except OSError:  # the other side has closed the terminal
        pass
    os.close(terminal)
    return b"".join(pieces).decode()


def test_control_characters_of_an_answer_do_not_reach_the_terminal(project: Shell, script: Script) -> None:
    done = project("run", "hi", "--model", script("red: \x1b[31m\u202egnp"))

    assert done.out == "red: \N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}gnp\n"


def test_tools_of_the_command_line_are_found_from_where_one_stands(
    project: Shell, script: Script, tmp_path: Path
) -> None:
    below = project.folder / "below"
    below.mkdir()
    source = 'from daeri import tool\n\n@tool(name="hello")\ndef hello() -> str:\n    """Hello."""\n    return "hi"\n'
    (below / "own.py").write_text(source)
    shell = type(project)(folder=below, environment=project.environment)

    done = shell("run", "hi", "--tools", "own.py", "--model", script([("hello", {})], "hi"), "--json")

    assert [(call["tool"], call["state"]) for call in done.json["calls"]] == [("hello", "succeeded")]


def test_what_a_tool_prints_does_not_mix_with_the_output(project: Shell, script: Script) -> None:
    source = 'from daeri import tool\n\nprint("loading")\n\n@tool(name="loud")\ndef loud() -> str:\n    """Shout."""\n'
    (project.folder / "loud.py").write_text(f'{source}    print("shouting")\n    return "hi"\n')
    model = script([("loud", {})], "hi")

    done = project("run", "x", "--tools", "loud.py", "--model", model, "--json")

    assert done.json["answer"] == "hi"
    assert "loading" in done.err
    assert "shouting" in done.err
    assert isinstance(project("tools", "list", "--tools", "loud.py", "--json").json, list)


def test_the_fault_of_a_tool_is_one_line_of_the_trail(project: Shell, script: Script) -> None:
    source = 'from daeri import tool\n\n@tool(name="broken")\ndef broken() -> str:\n    """Break."""\n    1 / 0\n'
    (project.folder / "broken.py").write_text(source)

    done = project("run", "x", "--tools", "broken.py", "--model", script([("broken", {})], "hi"))

    assert done.code == 3
    assert "ZeroDivisionError: division by zero" in done.err
    assert "Traceback" not in done.err
