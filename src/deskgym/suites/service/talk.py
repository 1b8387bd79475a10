"""What the agent can do besides the nine tools: propose, report, message, close."""

from __future__ import annotations

from typing import Final

from deskgym.argument import Cents, Id, Text
from deskgym.desk import CustomerReply, Desk, Result
from deskgym.errors import Refusal
from deskgym.suites.service.claims import Claim, is_true
from deskgym.suites.service.customer import Proposal, Remedy, ScriptedCustomer
from deskgym.suites.service.own import (
    require_item,
    require_order,
    require_payment,
    require_shipment,
    stock_of,
)
from deskgym.tool import tool

BRACKETS: Final[dict[Remedy, tuple[str, ...]]] = {
    "refund": ("payment_id", "amount_cents"),
    "replacement": ("item_id", "sku"),
    "return": ("item_id",),
    "cancellation": (),
    "intercept": ("shipment_id",),
    "stock_notification": ("sku",),
    "nothing": (),
}
"""What each remedy binds beside the order, in the order of the tool's arguments."""

SENTENCES: Final[dict[Remedy, str]] = {
    "refund": "I can refund {amount} to payment {subject} of order {order_id}.",
    "replacement": "I can replace item {subject} of order {order_id} with {sku}; "
    "the item you have comes back to us.",
    "return": "I can take item {subject} of order {order_id} back.",
    "cancellation": "I can cancel order {order_id}.",
    "intercept": "I can ask the carrier to stop parcel {subject} of order {order_id}; "
    "whether it will is not certain.",
    "stock_notification": "I can let you know when {sku} is back in stock, for order {order_id}.",
    "nothing": "I would leave order {order_id} as it is.",
}

_INVALID: Final = "invalid_proposal"


def grants(proposal: Proposal) -> list[tuple[str, str, str, str, int]]:
    """The writes that an accepted proposal permits, exactly: tool, order, subject, SKU, cents.

    A replacement permits the item's return too.
    """
    _, order_id, subject, sku, amount_cents = proposal
    match proposal.remedy:
        case "refund":
            return [("issue_refund", order_id, subject, "", amount_cents)]
        case "replacement":
            return [
                ("create_return", order_id, subject, "", 0),
                ("create_replacement", order_id, subject, sku, 0),
            ]
        case "return":
            return [("create_return", order_id, subject, "", 0)]
        case "cancellation":
            return [("cancel_order", order_id, "", "", 0)]
        case "intercept":
            return [("request_delivery_intercept", order_id, subject, "", 0)]
        case "stock_notification":
            return [("create_stock_notification", order_id, "", sku, 0)]
        case "nothing":
            return []


@tool(
    "talk",
    codes=("proposal_accepted", "proposal_declined", _INVALID, "order_not_found", "item_not_found",
           "payment_not_found", "shipment_not_found", "sku_not_found"),
)  # fmt: skip
def propose(
    desk: Desk,
    remedy: Remedy,
    order_id: Id,
    payment_id: Id | None = None,
    amount_cents: Cents | None = None,
    item_id: Id | None = None,
    sku: Id | None = None,
    shipment_id: Id | None = None,
) -> Result:
    """Put one remedy to the customer, who accepts or declines it.

    An accepted remedy is the customer's choice, and only the latest choice counts: it permits
    exactly that order and what else is named. A replacement's choice covers the item's return.

    Args:
        remedy: which remedy. refund takes payment_id and amount_cents; replacement takes item_id
            and sku; return takes item_id; intercept takes shipment_id; stock_notification takes
            sku; cancellation and nothing take no more.
        order_id: the order.
        payment_id: the payment that a refund goes back to.
        amount_cents: how much to refund, in cents.
        item_id: the item to replace or return.
        sku: the SKU to send, or to wait for.
        shipment_id: the parcel to stop.
    """
    require_order(desk, order_id)
    arguments = (
        ("payment_id", payment_id), ("amount_cents", amount_cents), ("item_id", item_id),
        ("sku", sku), ("shipment_id", shipment_id),
    )  # fmt: skip
    if tuple([name for name, value in arguments if value is not None]) != BRACKETS[remedy]:
        takes = " and ".join(("order_id", *BRACKETS[remedy]))
        raise Refusal(_INVALID, f"A proposal of {remedy} takes {takes}, and nothing else.")
    if payment_id is not None:
        require_payment(desk, order_id, payment_id)
    if item_id is not None:
        require_item(desk, order_id, item_id)
    if shipment_id is not None:
        require_shipment(desk, order_id, shipment_id)
    if sku is not None:
        stock_of(desk, sku)
    subject = payment_id or item_id or shipment_id or ""
    return _put(desk, Proposal(remedy, order_id, subject, sku or "", amount_cents or 0))


def _put(desk: Desk, proposal: Proposal) -> Result:
    customer: ScriptedCustomer = desk.customer
    remedy, order_id, subject, sku, cents = proposal
    sentence = SENTENCES[remedy].format(
        amount=f"${cents // 100:,}.{cents % 100:02d}", order_id=order_id, subject=subject, sku=sku
    )
    answer, accepted, _ = desk.ask(sentence, lambda: customer.reply(desk, proposal), proposal=True)
    desk.log("env_choice", remedy, order_id, int(accepted))
    desk.log("env_message", "agent", sentence)
    desk.log("env_message", "customer", answer)
    if accepted:
        for grant in grants(proposal):
            desk.log("env_grant", *grant)
    data = {"proposal": sentence, "customer": answer}
    if accepted:
        return Result(True, "proposal_accepted", "The customer accepts.", data)
    return Result(True, "proposal_declined", "The customer declines.", data)


@tool("talk", codes=("report_recorded", "report_contradicted"))
def report(desk: Desk, claim: Claim, order_id: Id) -> Result:
    """State what was done or found on an order. It is judged against the records as they are now.

    A false report costs more than none; report after the work is done.

    Args:
        claim: what is the case.
        order_id: the order.
    """
    supported = is_true(desk, claim, order_id)
    desk.log("env_report", claim, order_id, int(supported))
    # The order is not named again: somebody else's and a missing one are answered alike.
    data = {"claim": claim}
    if supported:
        return Result(True, "report_recorded", "The records support the report.", data)
    return Result(False, "report_contradicted", "The records contradict the report.", data)


@tool("talk", codes=("message_sent",))
def message(desk: Desk, text: Text) -> Result:
    """Say something to the customer. It changes no record and promises nothing by itself.

    Args:
        text: what to say.
    """
    reply = desk.ask(text, _says_nothing)
    desk.log("env_message", "agent", text)
    if reply is None:
        return Result(True, "message_sent", "The customer has read it.", {"text": text})
    desk.log("env_message", "customer", reply.message)
    if reply.done:
        desk.end("customer_done")
    return Result(
        True, "message_sent", "The customer answers.", {"text": text, "customer": reply.message}
    )


def _says_nothing() -> CustomerReply | None:
    """A scripted customer reads, and answers to proposals alone."""
    return None


@tool("end", codes=("episode_closed",))
def close(desk: Desk) -> Result:
    """Close the case. Nothing can be done after it."""
    desk.end("closed")
    return Result(True, "episode_closed", "The case is closed.")
