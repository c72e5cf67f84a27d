"""BFCL v4: its functions register, right calls are accepted, wrong ones are refused so that one can repair them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.tools.bfcl.measure import Report

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
