"""Steps of a solution that more than one scenario has."""

from deskgym.suites.tickets.scenario import keyword

REFUND = keyword("refund", "refunds", "refunded", "refunding")
ORIGINAL_PAYMENT = keyword(
    "original payment method", "original payment", "original card", "card you paid with",
    "same card", "original method of payment",
)  # fmt: skip
BUSINESS_DAYS = keyword("business days", "working days", "business day", "working day")
FULL_AMOUNT = keyword("full amount", "whole amount", "full price", "entire amount")
CANCELLATION = keyword("cancellation", "cancelled order", "canceled order")
REPLACEMENT = keyword("replacement", "replacements", "reship", "reshipped", "reshipping")

CLEAR_CACHE = keyword(
    "clear the cache", "clear cache", "clearing the cache", "cleared the cache",
    "clear the app cache", "clear your cache", "clear its cache", "clear your browser cache",
    "clear the browser cache", "clear the app's cache",
)  # fmt: skip
ENGINEERS = keyword("engineers", "engineering team", "engineering", "developers", "dev team")
HOTFIX = keyword("hotfix", "patch", "bug fix", "bugfix", "fixed build", "fixed version")

TRACKING = keyword("tracking", "tracking number", "tracking link")
EXPRESS = keyword("express", "next day", "priority delivery", "overnight")
DELIVERY_DATE = keyword("delivery date", "arrival date", "delivery window", "new delivery date")
DELIVERY_ADDRESS = keyword("delivery address", "shipping address", "full address")
WAREHOUSE = keyword("warehouse", "depot", "sorting centre", "sorting center")
TRACE = keyword("trace", "tracing", "tracer", "investigation", "parcel search")
DISPATCH = keyword("dispatch", "dispatched", "dispatching")

REVERSED = keyword("reversed", "reverse", "reversing", "reversal")
CORRECTED_INVOICE = keyword(
    "corrected invoice", "updated invoice", "revised invoice", "new invoice", "credit note"
)
NEXT_RENEWAL = keyword(
    "next renewal", "renewal date", "next payment", "next bill", "next invoice",
    "future invoices", "billing date", "next billing date",
)  # fmt: skip
STATEMENT = keyword("statement", "statements")

VERIFY = keyword("verify", "verified", "verifying", "verification", "identity", "identity check")
SIGN_IN = keyword(
    "sign in", "log in", "signing in", "logging in", "signed in", "login", "log back in",
    "sign back in",
)  # fmt: skip
TWO_FACTOR = keyword("two factor", "two step", "2fa", "authenticator")
