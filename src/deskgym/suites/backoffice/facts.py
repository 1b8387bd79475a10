"""What a reply says, as facts: what it names, and what it says was or will be done.

Nothing here knows a task. A reply is read once, when it is sent, and its facts become rows of
`env_fact`; checks ask for them with SQL. Facts are found in normalised text, so that curly
quotes, no-break and zero-width spaces and full-width digits do not matter.

The kinds:

| kind | value |
|---|---|
| `number` | a whole number that stands alone, such as an order's: `1013` |
| `amount` | an amount of money in cents: `$54`, `54.00 USD` and `54 dollars` are all `5400` |
| `days` | a number of days: `30-day`, `thirty days` |
| `email` | an e-mail address |
| `reason` | a reason of the policy, by the names in `REASONS` |
| `says` | `refund`, `replacement`, `credit`, `cancellation`: stated without negation or condition |
| `promises` | the same, as something done or to be done |
| `offers` | the same, promised on a condition in a sentence without a number of days |
| `denies` | the same, refused; `help` stands for any kind of help or information |
| `status` | how far an order is, stated: `delivered`, `shipped`, … |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from deskgym.rubric.language import QUOTED, Clause, clauses, fold, is_negator, words
from deskgym.rubric.language.negation import listed

REPLIES_KEPT: Final = 1_024


class Fact(NamedTuple):
    """One thing that a reply says."""

    kind: str
    value: str


_SMALL_NUMBERS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90,
}  # fmt: skip

_NUMERAL: Final = r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,9})(?:\.(\d{1,2}))?(?![\w]|[.,]\d)"
_CURRENCY: Final = r"(?:us ?\$|usd ?\$?|\$)"
_DOLLARS: Final = r"(?: ?(?:usd\b|us dollars?\b|dollars?\b|\$)|-dollars?\b)"
_MONEY: Final = re.compile(
    rf"{_CURRENCY} ?{_NUMERAL}"
    rf"|{_NUMERAL}{_DOLLARS}"
    r"|(?<![\w.,])(\d{1,9}) ?(?:us )?cents?\b"
    r"|(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,9})\.(\d\d)(?![\w]|[.,]\d)"
)
_NUMBER: Final = re.compile(r"(?<![\w.,])(?:orders?)?(\d{1,12})(?!\w|[.,]\d|[-:]\d)")
# "Order no. 1013" denies nothing, and its dot ends nothing.
_ORDER_NO: Final = re.compile(r"\b(orders?) ?(?:no|nr)\.? ?#?(?=\d)")
_DAY_NUMBER: Final = re.compile(r" day \d+ ")
_EMAIL: Final = re.compile(r"[a-z0-9][a-z0-9._%+-]{0,63}@[a-z0-9][a-z0-9.-]{0,252}[a-z0-9]")

REASONS: Final = {
    "return_window": (
        "return window", "returns window", "return period", "returns period", "window for returns",
        "return deadline", "day window", "days window", "day return", "days of delivery",
        "days after delivery", "days after the delivery", "days after the day of delivery",
        "days from delivery", "days from the day of delivery", "days since delivery",
        "days from the delivery", "days after it was delivered", "days of the delivery",
        "days of receiving", "days after receiving", "days of receipt", "day returns",
        "time for returns", "return policy", "returns policy", "day limit", "day period",
        "return time", "last day for returns", "last day to return", "day after delivery",
        "taken up to", "accepted up to", "returns up to", "taken for", "returns for",
        "returns within", "taken within", "accepted within", "accepted for",
    ),
    "other_account": (
        "another account", "different account", "other account", "another customer",
        "another person", "different customer", "other customer", "someone else", "somebody else",
        "another customer's", "different customer's", "other customer's", "another person's",
        "someone else's", "somebody else's",
        "not on your account", "not in your account", "not under your account",
        "not your account", "not yours", "not your order", "not linked to your",
        "not associated with your", "not with your account", "account holder", "account owner",
        "account that placed", "account it was placed", "account it is on", "account on which",
        "whose account", "customer who placed", "person who placed", "own orders", "own account",
        "isn't on your account", "isn't linked to your", "isn't your order", "isn't yours",
        "isn't under your account", "isn't associated with your", "doesn't belong to your",
        "not belong to your", "not belong to you", "doesn't belong to you", "order's owner",
        "owner of the order", "owner of that order", "owner of this order",
    ),
    "waiting_time": ("waiting time", "waiting period", "counts as lost", "considered lost"),
    "duplicate_charge": (
        "charged twice", "duplicate charge", "duplicate payment", "double charge", "second charge",
        "duplicate capture", "second capture", "later capture", "later charge",
    ),
    "out_of_stock": ("out of stock", "not in stock", "no longer in stock", "sold out"),
}  # fmt: skip
"""The policy's reasons, each with the phrases that name it."""

_STEMS: Final = {
    "refund": frozenset({
        "refund", "refunds", "refunded", "refunding", "reimburse", "reimbursed", "reimbursing",
        "reimbursement", "repaid", "repay", "credited",
    }),
    "replacement": frozenset({
        "replacement", "replacements", "replaced", "replacing", "replace", "reship", "reshipped",
        "reshipping", "reshipment", "resend", "resent", "resending",
    }),
    "credit": frozenset({"credit", "voucher", "vouchers", "coupon", "discount"}),
    "cancellation": frozenset({
        "cancel", "cancelled", "canceled", "cancelling", "canceling", "cancellation",
    }),
}  # fmt: skip
_TO_THE_CARD: Final = (
    r"(?:to|on|onto) (?:your|the) (?:(?:original|credit|debit|bank|same) )?"
    r"(?:card|bank|payment|account (?:that )?you paid)"
)
_PHRASES: Final = {
    "refund": re.compile(
        " (?:money back|gave back|given back|give back|reversed|"
        "(?:pay|pays|paid|paying) (?:you |it |this |that )?back|"
        r"(?:return|returned|returning) (?:you |to you )?(?:the|your|that|this) "
        "(?:money|full|amount|sum|charge|payment|price|second|later|duplicate)|"
        r"(?:return|returned|returning|send|sent|sending|paid|paying|put|transfer|transferred|"
        rf"transferring|go|goes|gone|going|is|are) (?:\w+ ){{0,6}}?{_TO_THE_CARD}|"
        r"(?:receive|get|see|have) (?:the|your) (?:money|funds)|"
        r"(?:the|your) (?:money|funds) (?:will|is on|are on|goes|go|comes|has been|was|were)) "
    ),
    "replacement": re.compile(
        " (?:new one|new ones|another one|new parcel|re (?:send|sent|sending|ship|shipped|"
        "shipping)|(?:send|sent|sending|ship|shipped|shipping|dispatch|dispatched|dispatching|"
        r"receive|get|pack|packed|packing) (?:\w+ ){0,6}?again|"
        r"(?:send|sent|sending|ship|shipped|shipping) (?:you )?(?:a |an |one |two |three |\d )?"
        "(?:brand )?new) "
    ),
    "credit": re.compile(
        r" (?:(?:per cent|percent|\d+) off|(?:store|shop|account) credit|gift (?:card|voucher)|"
        "free gift|goodwill) "
    ),
    "cancellation": re.compile(" called off "),
}
# A word about a remedy, not the remedy: a refund request, the refund policy.
_ABOUT: Final = listed(
    """request requests requested policy policies window period rules rule terms conditions
    deadline card cards eligibility decision question questions enquiry inquiry claim option
    options"""
)
_WANTED: Final = listed(
    """ask asks asked asking want wants wanted request requested requesting hope hoped hoping like
    wish expect expected enquire enquired inquire wonder wondering regarding about concerning
    entitled eligible only possible available accepted must once when until before"""
)
_COMMITTED: Final = listed(
    """will shall 'll i'll we'll you'll have has had i've we've issued issue issuing processed
    process processing made make making sent send sending approved approve receive received get
    given give giving going initiated initiate completed complete completing arrange arranged
    arranging created create creating shipped ordered hereby way done"""
)
_DONE: Final = listed(
    """refunded refunding reimbursed reimbursing repaid credited replaced replacing reshipped
    reshipping resent resending cancelled canceled cancelling canceling"""
)
_PERFECT: Final = listed("have has had i've we've was were")
_FUTURE: Final = listed("will shall i'll we'll you'll it'll going can")
_EXPECTED: Final = frozenset(
    (before, "expect") for before in ("can", "will", "please", "may", "should", "you'll")
)
_CONDITIONS: Final = listed("if unless provided assuming once should when whether")
_OFFERED: Final = listed("will shall i'll we'll you'll can going")
_DAYS: Final = listed("day days")
_STATUSES: Final = {
    "delivered": ("delivered", "arrived", "handed over"),
    "shipped": (
        "shipped", "dispatched", "in transit", "on its way", "on the way", "left our warehouse",
        "left the warehouse", "has left", "will arrive", "arrives",
    ),
    "processing": (
        "being packed", "being prepared", "being processed", "still processing", "is processing",
        "in our warehouse", "in the warehouse", "still here",
    ),
    "refunded": ("was refunded", "been refunded"),
    "cancelled": ("was cancelled", "been cancelled"),
}  # fmt: skip
_NOT_YET: Final = re.compile(
    r" (?:has|is|was|have) not (?:yet )?(?:been )?(?:yet )?"
    "(?:shipped|dispatched|delivered|arrived|left|sent) "
    "| (?:hasn't|isn't|wasn't|haven't) (?:yet )?(?:been )?(?:yet )?"
    "(?:shipped|dispatched|delivered|arrived|left|sent) "
)
_HELP: Final = listed(
    """help assist discuss share disclose tell say give provide access change cancel do act look
    speak talk refund send comment confirm answer discussed shared disclosed proceed"""
)
_PAST_WINDOW: Final = (
    "window has closed", "window has passed", "window has ended", "window has expired",
    "window closed", "window ended", "window expired", "window is closed", "window is over",
    "window passed", "period has ended", "period has passed", "period has expired", "period ended",
    "period expired", "period is over", "outside the return", "outside our return",
    "outside of our", "outside of the", "outside our", "outside the", "past the return",
    "past our return", "past the", "too late",
)  # fmt: skip
# The words that anything below looks for: a clause without any of them says nothing here.
_TELLING: Final = frozenset(
    word
    for phrases in (*_STEMS.values(), *_STATUSES.values(), _PAST_WINDOW, _HELP)
    for phrase in phrases
    for word in phrase.split()
) | listed(
    """return returned returning returns money funds back reversed new one ones again re card bank
    payment account off gift goodwill"""
)


@cache
def _any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for any of the phrases, as whole words, in a line between single spaces."""
    return re.compile(f" (?:{'|'.join(map(re.escape, phrases))}) ")


@lru_cache(maxsize=REPLIES_KEPT)
def normalised(text: str) -> str:
    """The words of a text between single spaces, one at each end, so that whole words are found."""
    return f" {' '.join(words(text))} "


@lru_cache(maxsize=REPLIES_KEPT)
def facts(text: str) -> frozenset[Fact]:
    """Everything that a reply says.

    Agents say the same thing often, over seeds and in the episodes of a group, so the latest
    texts are kept with what they say.
    """
    text = _ORDER_NO.sub(r"\1 ", fold(text))
    folded = " ".join(text.split())
    found = {Fact("amount", str(_cents(match))) for match in _MONEY.finditer(folded)}
    without_money = _MONEY.sub(" ", folded)
    without_mail = _EMAIL.sub(" ", without_money)
    found |= {Fact("email", mail[0]) for mail in _EMAIL.finditer(folded)}
    found |= {Fact("number", str(int(number[1]))) for number in _NUMBER.finditer(without_mail)}
    tokens = words(text)
    found |= {Fact("days", str(days)) for days in _days(tokens)}
    line = _DAY_NUMBER.sub(" day ", f" {' '.join(tokens)} ")
    found |= {
        Fact("reason", name) for name, phrases in REASONS.items() if _any_of(phrases).search(line)
    }
    parts = clauses(text)
    conditional = {part.sentence for part in parts if not _CONDITIONS.isdisjoint(part.words[:1])}
    rules = {part.sentence for part in parts if not _DAYS.isdisjoint(part.words)}
    for part in parts:
        stances = set(_stances(part, part.sentence in conditional))
        if part.sentence in rules:
            stances = {fact for fact in stances if fact.kind != "offers"}
        found |= stances
    return frozenset(found)


def amounts(text: str) -> frozenset[int]:
    """The amounts of money that a text names, in cents; a number without a currency needs cents."""
    folded = " ".join(fold(text).split())
    return frozenset(_cents(match) for match in _MONEY.finditer(folded))


def _cents(match: re.Match[str]) -> int:
    before, before_part, after, after_part, cents, bare, bare_part = match.groups()
    if cents is not None:
        return int(cents)
    whole = before or after or bare
    part = before_part or after_part or bare_part or ""
    return int(whole.replace(",", "")) * 100 + int(part.ljust(2, "0"))


def _days(tokens: tuple[str, ...]) -> Iterator[int]:
    for at, token in enumerate(tokens):
        if token not in ("day", "days", "day's", "days'"):
            continue
        if token == "day" and at + 1 < len(tokens) and tokens[at + 1].isdecimal():
            yield int(tokens[at + 1][:9])
        back = at - 1
        if back >= 0 and tokens[back] in ("calendar", "full", "whole"):
            back -= 1
        number = _number_ending(tokens, back)
        if number is not None:
            yield number


def _number_ending(tokens: tuple[str, ...], at: int) -> int | None:
    """The number, in digits or words, that ends at a place."""
    if at < 0:
        return None
    last = tokens[at]
    if last.isascii() and last.isdigit() and len(last) < 9:
        return int(last)
    units = _SMALL_NUMBERS.get(last)
    if units is not None and units < 10 and at > 0:
        tens = _SMALL_NUMBERS.get(tokens[at - 1], 0)
        return tens + units if tens >= 20 else units
    return units


def _stances(clause: Clause, conditional: bool) -> Iterator[Fact]:
    """What a clause says of the remedies; `conditional` where its sentence has a condition."""
    tokens = tuple(word for word in clause.words if word != QUOTED)
    if _TELLING.isdisjoint(tokens):
        return
    line = f" {' '.join(tokens)} "
    negators = sum(is_negator(word) for word in tokens)
    for matter, stems in _STEMS.items():
        at = _mention(tokens, stems)
        phrased = _PHRASES[matter].search(line) is not None
        if at is None and not phrased:
            continue
        if clause.asserted:
            if conditional and not _is_done(tokens):
                if not _OFFERED.isdisjoint(tokens):
                    yield Fact("offers", matter)
                continue
            yield Fact("says", matter)
            if phrased or (at is not None and _is_promise(tokens, at)):
                yield Fact("promises", matter)
        elif negators % 2 and not clause.question:
            yield Fact("denies", matter)
    if negators % 2 and not clause.question and not _HELP.isdisjoint(tokens):
        yield Fact("denies", "help")
    if clause.asserted and _any_of(_PAST_WINDOW).search(line):
        yield Fact("denies", "refund")
    if negators % 2 and any(word in ("return", "returned", "returns") for word in tokens):
        yield Fact("denies", "refund")
    if not clause.question and _NOT_YET.search(line):
        yield Fact("status", "processing")
    if clause.asserted:
        for status, phrases in _STATUSES.items():
            if _any_of(phrases).search(line):
                yield Fact("status", status)


def _mention(tokens: tuple[str, ...], stems: frozenset[str]) -> int | None:
    """Where a remedy is named as such, if it is."""
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token not in stems or following in _ABOUT:
            continue
        if token in ("credit", "discount") and _is_of_the_order(tokens, at):
            continue
        return at
    return None


def _is_of_the_order(tokens: tuple[str, ...], at: int) -> bool:
    """Whether a discount is the one that the order had, or a credit the card's."""
    before = tokens[at - 1] if at else ""
    if tokens[at] == "discount":
        return before in ("the", "your", "order's", "after", "less", "minus", "including")
    return not {"card", "bank", "statement"}.isdisjoint(tokens[at + 1 : at + 5])


def _is_done(tokens: tuple[str, ...]) -> bool:
    """Whether a clause speaks of what was done, so that no "if" beside it takes it back."""
    done = not _PERFECT.isdisjoint(tokens) or not _DONE.isdisjoint(tokens)
    return done and _FUTURE.isdisjoint(tokens)


def _is_promise(tokens: tuple[str, ...], at: int) -> bool:
    """Whether a remedy that is named in an asserted clause is one that was or will be given."""
    before = tokens[:at]
    expects = any(pair in _EXPECTED for pair in pairwise(before))
    if not expects and not _WANTED.isdisjoint(before):
        return False
    if expects or tokens[at] in _DONE or _is_offer(tokens, at):
        return True
    general = tokens[at] in ("refunds", "replacements", "cancellation")
    return not general and not _COMMITTED.isdisjoint(tokens)


def _is_offer(tokens: tuple[str, ...], at: int) -> bool:
    """Whether it is given to the reader in so many words: "we refund you", "I can refund it"."""
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    given = following in ("you", "your", "it", "this", "them") or following.isdigit()
    return given and at > 0 and tokens[at - 1] in ("we", "i", "can", "gladly", "hereby")
