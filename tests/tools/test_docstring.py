import logging

import pytest

from daeri.tools import FunctionTool, tool

GOOGLE = """Send money.

    The money leaves at once.

    Args:
        to: The account that
            gets it.
        amount (int): How much, in won.

    Returns:
        The receipt.

    Raises:
        ValueError: never.
    """
NUMPY = """Send money.

    The money leaves at once.

    Parameters
    ----------
    to : str
        The account that
        gets it.
    amount : int, optional
        How much, in won.

    Returns
    -------
    str
        The receipt.
    """
REST = """Send money.

    The money leaves at once.

    :param to: The account that
        gets it.
    :param int amount: How much, in won.
    :returns: The receipt.
    :raises ValueError: never.
    """


def tool_with(docstring: str | None) -> FunctionTool[..., str]:
    def send(to: str, amount: int = 1) -> str:
        raise AssertionError((to, amount))

    send.__doc__ = docstring
    return tool(send)


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_gives_the_tool_and_its_parameters_their_words(
    docstring: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = tool_with(docstring).tool
    assert made.description == "Send money.\n\nThe money leaves at once."
    assert made.input_schema["properties"] == {
        "to": {"type": "string", "description": "The account that gets it."},
        "amount": {"type": "integer", "default": 1, "description": "How much, in won."},
    }
    assert not caplog.records


@pytest.mark.parametrize(
    ("docstring", "description"),
    [
        (None, ""),
        ("Send money.", "Send money."),
        (
            "Send money.\n\n    Only on working days: Monday to Friday.",
            "Send money.\n\nOnly on working days: Monday to Friday.",
        ),
        ("송금합니다.\n\n    Args:\n        to: 받는 사람.", "송금합니다."),
        ("Send money.\n\n    Warning:\n        It can't be undone.", "Send money.\n\nWarning: It can't be undone."),
    ],
)
def test_a_docstring_without_the_usual_sections_is_read_for_what_it_says(
    docstring: str | None, description: str
) -> None:
    assert tool_with(docstring).tool.description == description
