"""What a customer is charged for a subscription or on an invoice."""

from deskgym.suites.tickets.scenario import GoodReply, Scenario, Wording, keyword
from deskgym.suites.tickets.scenarios.remedy import (
    BUSINESS_DAYS,
    CANCELLATION,
    CORRECTED_INVOICE,
    FULL_AMOUNT,
    NEXT_RENEWAL,
    ORIGINAL_PAYMENT,
    REFUND,
    REVERSED,
    STATEMENT,
)

# Money goes back here too, but that is not what settles a charge: the charge is reversed, and the
# next one is right. So the steps of a refund count neither way, and no one text fits both.
_REFUND_STEPS = (REFUND, BUSINESS_DAYS, ORIGINAL_PAYMENT, FULL_AMOUNT)
_SYNONYMS = ("invoice", "invoicing", "overcharge", "overcharged", "charges", "subscription charge")

DUPLICATE_CHARGE = Scenario(
    name="duplicate_charge",
    category="billing",
    wordings=(
        Wording(
            opening=(
                "You took my monthly subscription twice this month: £12.99 on the 1st and "
                "£12.99 on the 2nd. I only have one subscription. Please sort it out."
            ),
            follow_up=(
                "Both from the same card, ending 4410, and both have cleared, so it isn't just a "
                "hold. Same plan name on each line."
            ),
            acknowledgement="Perfect, so next month it's a single £12.99. Thanks.",
        ),
        Wording(
            opening=(
                "why are there TWO payments to you on my card for the same month?? i'm a student, "
                "that second 9.99 was my lunch money"
            ),
            follow_up="mastercard, 9.99 on monday and again on tuesday. no i only signed up once",
            acknowledgement="ok phew. lunch is back on",
        ),
        Wording(
            opening=(
                "While reconciling our books I noticed that the yearly subscription for our "
                "team was collected on 1 June and collected again, for the identical sum of "
                "$1,188, on 3 June. Please explain the second item and put it right before our "
                "books close on the 30th."
            ),
            follow_up=(
                "Both appear on the June statement of our company card, one day apart in "
                "posting. We have a single plan of eleven seats, which renews each June."
            ),
            acknowledgement="Thank you. With that document our books will balance.",
        ),
    ),
    keywords=(
        keyword(
            "duplicate", "duplicate charge", "second charge", "extra charge", "double charge",
            "duplicate payment", "second payment", "charged twice",
        ),
        REVERSED,
        CORRECTED_INVOICE,
        NEXT_RENEWAL,
        STATEMENT,
        keyword("single subscription", "one subscription", "one active subscription"),
    ),
    fair=_REFUND_STEPS,
    topics=(
        "charge", "charges", "charged", "statement", "last four digits", "subscription",
        "subscriptions", "payments", "plan", "renewal", "posted", "bank",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="What are the dates of the two charges on your statement?",
        resolution=(
            "The second charge is a duplicate, made when the renewal ran two times, and I have "
            "reversed it. The sum appears on your statement within three business days. You have "
            "one active subscription, a corrected invoice is in your inbox, and the next renewal "
            "is for the usual price."
        ),
        recap="The duplicate is reversed, and your next renewal is for the usual price.",
    ),
)  # fmt: skip

UNAUTHORISED_UPGRADE = Scenario(
    name="unauthorised_upgrade",
    category="billing",
    wordings=(
        Wording(
            opening=(
                "I'm on the Basic plan at £8. This month you took £24 for something called "
                "Premium, which I never asked for. Put me back on Basic and sort out the £16."
            ),
            follow_up=(
                "It's just me here, nobody else could have clicked on anything. The first I "
                "heard of Premium was the payment on the 5th."
            ),
            acknowledgement="Good. Basic is all I need. Thanks for putting it back.",
        ),
        Wording(
            opening=(
                "Who moved us to the Business tier? Not me, and I'm the only one allowed to. We "
                "now pay 49 a month more than we agreed on. I don't want a sales talk, I want it "
                "undone."
            ),
            follow_up=(
                "It went from Team to Business on the 17th, by the look of the receipt. Two "
                "other people can open the settings, and both swear blind they didn't touch it."
            ),
            acknowledgement="Undone and locked. That's what I wanted to hear.",
        ),
        Wording(
            opening=(
                "hey so i got a receipt for the pro plan today, 30 bucks. i'm on the 10 dollar "
                "one and never clicked upgrade, i didn't even know there was a pro. can you "
                "switch it back and fix the price?"
            ),
            follow_up=(
                "the receipt is from this morning. my kid uses the tablet sometimes, "
                "maybe that's it?"
            ),
            acknowledgement="awesome, 10 it is. i'll set a pin on that tablet lol",
        ),
    ),
    keywords=(
        keyword(
            "downgrade", "downgraded", "previous plan", "old plan", "original plan",
            "moved you back", "former plan",
        ),
        keyword("price difference", "the difference", "difference in price"),
        REVERSED,
        CORRECTED_INVOICE,
        NEXT_RENEWAL,
        keyword("plan change", "plan changes", "audit log", "change log", "upgrade request"),
        keyword("approval", "approve", "lock on the plan", "plan lock"),
        STATEMENT,
    ),
    fair=_REFUND_STEPS,
    topics=(
        "plan", "upgrade", "upgraded", "tier", "charge", "charged", "receipt", "price",
        "subscription", "plan change", "invoice",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="When did the upgrade appear, and can anyone else change your plan?",
        resolution=(
            "I have moved you back to your previous plan, and the upgrade is reversed from the "
            "first day. The price difference is on its way to your card within three business "
            "days, and a corrected invoice is in your inbox. From now on, every plan change "
            "needs your approval by email first."
        ),
        recap="You are on your previous plan, and the upgrade is reversed.",
    ),
)  # fmt: skip

CANCELLED_SERVICE = Scenario(
    name="cancelled_service",
    category="billing",
    wordings=(
        Wording(
            opening=(
                "I ended the backup add-on in April. It's on my June invoice again: 'Backup Plus, "
                "£6.00'. Please take it off, I'm not paying for something I gave up."
            ),
            follow_up=(
                "I ended it on 11 April and got the email to say so. May's invoice was right, it "
                "came back in June. The number is INV-20931."
            ),
            acknowledgement="Thanks. I'll pay the new one as soon as it's here.",
        ),
        Wording(
            opening=(
                "INVOICE 7745, LINE 3: 'phone support, monthly'. We gave that up last year. LAST "
                "YEAR. Why is it back and when will it go away?"
            ),
            follow_up=(
                "Stopped 30 November, in writing. Line 3 is 45.00. The other lines are "
                "right."
            ),
            acknowledgement="Good. Let it stay gone.",
        ),
        Wording(
            opening=(
                "Hello, our bookkeeper has queried this month's invoice. It still has the "
                "analytics module on it, which we stopped at the end of the last quarter, and "
                "for which you sent a very friendly goodbye. Would you please look at why it was "
                "invoiced all the same, and send us one that we can actually pay?"
            ),
            follow_up=(
                "The module ended on 31 March. The invoice is dated 1 May and the line says "
                "'Analytics, 10 seats'. We have not paid it yet."
            ),
            acknowledgement="Wonderful, I've passed it on to our bookkeeper. Have a good week.",
        ),
    ),
    keywords=(
        CORRECTED_INVOICE,
        keyword(
            "removed the line", "removed that line", "removed the charge", "remove the charge",
            "taken off", "line item", "removed the item", "voided",
        ),
        NEXT_RENEWAL,
        keyword("recurring charge", "recurring payment", "auto renewal", "automatic renewal"),
        REVERSED,
        STATEMENT,
    ),
    fair=(*_REFUND_STEPS, CANCELLATION),
    topics=(
        "invoice", "invoices", "line", "cancel", "cancelled", "canceled", "cancellation",
        "charge", "charged", "service", "paid it",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="What is the number of the invoice, and on which date did you end the service?",
        resolution=(
            "Your cancellation is on record, but an automatic renewal stayed switched on by our "
            "mistake. I have removed the line, and a corrected invoice is in your inbox: please "
            "pay that one and throw the first away. The recurring charge is stopped, so future "
            "invoices are right too."
        ),
        recap="The corrected invoice replaces the first, and the recurring charge is stopped.",
    ),
)  # fmt: skip

SCENARIOS = (DUPLICATE_CHARGE, UNAUTHORISED_UPGRADE, CANCELLED_SERVICE)
