"""Tools of one's own: look up an order, and refund it, which a person has to approve first."""

from dataclasses import dataclass
from decimal import Decimal

from daeri.errors import ToolError
from daeri.tools import tool


@dataclass
class Order:
    number: str
    customer: str
    amount_krw: Decimal


ORDERS = {
    "HB-1001": Order("HB-1001", "김서연", Decimal(48000)),
    "HB-1002": Order("HB-1002", "Daniel Park", Decimal(132500)),
}


@tool(name="orders.find", scopes=["orders:read"], read_only=True)
def find(number: str) -> Order:
    """Find an order by its number (주문 조회).

    Args:
        number: Order number such as HB-1001 (주문 번호).
    """
    return _order(number)


@tool(name="orders.refund", scopes=["orders:write"], risk="high", consequences="The customer gets the money back.")
def refund(number: str, reason: str) -> str:
    """Refund an order in full (주문 환불).

    Args:
        number: Order number such as HB-1001 (주문 번호).
        reason: Why the money goes back (환불 사유).
    """
    order = _order(number)
    return f"Refunded {order.amount_krw} won to {order.customer}: {reason}"


def _order(number: str) -> Order:
    if number not in ORDERS:
        raise ToolError(f"No order {number}. / {number} 주문이 없습니다.")
    return ORDERS[number]
