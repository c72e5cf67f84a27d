"""BFCL v4: its functions register, right calls are accepted, wrong ones are refused so that one can repair them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from daeri.tools import SchemaValidator

if TYPE_CHECKING:
    from tests.tools.bfcl.measure import Report

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
EXCEPTIONS = Path(__file__).parent / "bfcl" / "exceptions.json"


def test_every_function_document_registers(bfcl: Report) -> None:
    assert bfcl.documents == 8_576


def test_right_calls_are_accepted(bfcl: Report) -> None:
    assert bfcl.right == {"first": 3_152, "alternative": 3_396}
    assert bfcl.share("first") >= 0.992
    assert bfcl.share("alternative") >= 0.97


def test_the_right_calls_that_are_refused_are_those_of_the_published_list(bfcl: Report) -> None:
    assert bfcl.exceptions == json.loads(EXCEPTIONS.read_text("utf-8"))


def test_no_wrong_call_is_accepted(bfcl: Report) -> None:
    assert bfcl.mutants == {
        "missing_required": 5_653,
        "null_for_required": 5_647,
        "unknown_argument": 3_129,
        "wrong_type": 7_723,
        "bool_for_integer": 1_843,
        "fraction_for_integer": 1_843,
        "numeric_string_for_integer": 1_843,
        "wrong_item_type": 387,
        "bad_enum": 858,
        "unknown_nested": 33,
    }
    assert bfcl.mutants.total() == 28_959
    assert bfcl.accepted == []


def test_every_refusal_names_the_place_and_how_to_repair_it(bfcl: Report) -> None:
    assert bfcl.unclear == []


def test_the_page_shows_what_was_measured(bfcl: Report) -> None:
    page = PAGE.read_text("utf-8")
    for choice, count in bfcl.right.items():
        accepted = round(bfcl.share(choice) * count)
        assert f"| {accepted:,} of {count:,} ({bfcl.share(choice) * 100:.2f} %) |" in page
    assert f"| {len(bfcl.accepted)} of {bfcl.mutants.total():,} |" in page
    assert f"| {bfcl.documents:,} of 8,576 |" in page


def test_the_table_of_exceptions_is_what_its_script_writes() -> None:
    script = "from write_conformance_page import page; import sys; sys.stdout.write(page())"
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "scripts", capture_output=True, check=True, timeout=60
    )
    assert PAGE.read_text("utf-8") == printed.stdout.decode("utf-8")


def test_a_model_is_told_what_the_page_says() -> None:
    amount = SchemaValidator(
        {
            "type": "object",
            "properties": {"amount": {"type": "integer"}},
            "required": ["amount"],
            "additionalProperties": False,
        }
    )
    told = re.findall(r"^\| `(\{.*\})` \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(told) == 2
    for arguments, words in told:
        assert str(amount.problem(json.loads(arguments))) == words
