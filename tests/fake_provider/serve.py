"""The fake provider as a command: `python tests/fake_provider/serve.py --port 0 --script turns.jsonl`.

Prints its base URL and serves until it is stopped. The lines are those of script models:
`{"text": …, "reasoning": …, "calls": [{"name": …, "arguments": …, "id": …}], "finish": …, "error": {"kind": …}}`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import scenario, server
else:
    # A script has no package of its own.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    scenario = importlib.import_module("fake_provider.scenario")
    server = importlib.import_module("fake_provider.server")

STATUSES = {
    "rate_limit": 429,
    "overloaded": 529,
    "server": 500,
    "authentication": 401,
    "quota": 402,
    "bad_request": 400,
    "context_overflow": 400,
}
FINISHES = {"calls": "tool_calls", "filtered": "content_filter"}


def main() -> None:
    arguments = _parse()
    provider = server.FakeProvider(arguments.port)
    lines = Path(arguments.script).read_text("utf-8").splitlines()
    provider.will(*(_scenario(json.loads(line)) for line in lines if line.strip() and not line.startswith("#")))
    print(provider.base_url, flush=True)
    provider.serve()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A provider that does what a file says, request by request.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", required=True)
    return parser.parse_args()


def _scenario(turn: dict[str, Any]) -> scenario.Scenario:
    if failure := turn.get("error"):
        return _failure(failure)
    calls = tuple(
        scenario.FakeCall(
            name=call["name"], arguments=_text(call.get("arguments", {})), id=call.get("id", f"call_{at}")
        )
        for at, call in enumerate(turn.get("calls", []))
    )
    finish: str | None = turn.get("finish")
    return scenario.Reply(
        text=turn.get("text", ""),
        reasoning=turn.get("reasoning", ""),
        calls=calls,
        finish=FINISHES.get(finish, finish) if finish else None,
        usage=scenario.FakeUsage(**turn.get("usage", {})),
    )


def _failure(failure: dict[str, Any]) -> scenario.Scenario:
    kind = failure["kind"]
    if kind == "timeout":
        return scenario.Hang()
    if kind == "connection":
        return scenario.Reply(text="cut off", cut_after=1)
    code = "context_length_exceeded" if kind == "context_overflow" else None
    retry_after = failure.get("retry_after_s")
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return scenario.Refusal(status=STATUSES[kind], message=failure.get("detail", kind), code=code, headers=headers)


def _text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


if __name__ == "__main__":
    main()
