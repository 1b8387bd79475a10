"""Money back for an order."""

from deskgym.suites.tickets.scenario import GoodReply, Scenario, Wording, keyword
from deskgym.suites.tickets.scenarios.remedy import (
    BUSINESS_DAYS,
    CANCELLATION,
    FULL_AMOUNT,
    ORIGINAL_PAYMENT,
    REFUND,
    REPLACEMENT,
)

_SYNONYMS = ("money back", "reimbursement", "reimburse", "repayment")

NEVER_DELIVERED = Scenario(
    name="never_delivered",
    category="refund",
    wordings=(
        Wording(
            opening=(
                "Your courier admitted on Monday that my order is gone for good. I don't want "
                "another one, it was a birthday present and the birthday has been. I just want "
                "my money back. I asked six days ago and nobody has answered."
            ),
            follow_up=(
                "I placed it on the 3rd, a wooden train set, £64.90 with postage. The man on the "
                "phone said it had been written off. I paid by debit card."
            ),
            acknowledgement="All right. As long as the £64.90 turns up on my card, that's fine.",
        ),
        Wording(
            opening=(
                "hi, the lamp i ordered never came. the carrier's own email says lost, closed, "
                "nothing more they can do. i've bought one elsewhere since so please just give "
                "me back the 120 dollars"
            ),
            follow_up=(
                "ordered the 14th of last month, visa. and no, i don't want you to send a new "
                "one, i have a lamp now"
            ),
            acknowledgement="ok great, i'll look out for it on the visa",
        ),
        Wording(
            opening=(
                "Good afternoon. I am writing about a set of four garden chairs which I paid for "
                "in full and which never reached me. Your carrier has confirmed in writing that "
                "the consignment is lost. The season is nearly over and I no longer have any use "
                "for the chairs, so I should be grateful if you would return the €310 to me."
            ),
            follow_up=(
                "The purchase was made on 2 May by credit card. I would rather have the sum "
                "repaid than receive the chairs this late in the year."
            ),
            acknowledgement="Thank you, that settles the matter to my satisfaction.",
        ),
    ),
    keywords=(
        REFUND,
        ORIGINAL_PAYMENT,
        FULL_AMOUNT,
        BUSINESS_DAYS,
        keyword(
            "lost in transit", "lost parcel", "lost order", "lost package", "declared lost",
            "confirmed lost", "marked as lost", "lost shipment",
        ),
        keyword("delivery fee", "delivery charge", "postage", "shipping fee", "delivery cost"),
        keyword("close the order", "closed the order", "order is closed", "cancel the order"),
    ),
    fair=(),
    topics=(
        "refund", "refunded", "money back", "lost", "place the order", "placed the order",
        "written off", "seller", "ordered", "replacement",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="When did you place the order, and who told you that it was lost?",
        resolution=(
            "Since the carrier declared the order lost in transit, I have issued a refund for "
            "the full amount, postage included. It goes to your original payment method and "
            "should show there within five business days."
        ),
        recap="Your refund is on its way and will be with you within five business days.",
    ),
)  # fmt: skip

DAMAGED_RETURN = Scenario(
    name="damaged_return",
    category="refund",
    wordings=(
        Wording(
            opening=(
                "Opened the box this morning and the mixing bowl is cracked right down the side. "
                "I want to send it back and have what I paid for it. How do I do that without "
                "being out of pocket for the post?"
            ),
            follow_up=(
                "The carton was fine from outside, so it must have gone in like that. I have "
                "pictures of the crack and I still have all the wrapping."
            ),
            acknowledgement="Good. I'll tape the box up tonight and wait for the money.",
        ),
        Wording(
            opening=(
                "Third time I buy from you and last time. Monitor: shattered. Corner of the box: "
                "crushed. I am not keeping it and I am not paying for it. Take it away and give "
                "me my money."
            ),
            follow_up=(
                "Screen cracked in two places, bottom left. Photos? I took eleven. It is back in "
                "its box by the door."
            ),
            acknowledgement="Fine. Do what you just said and we are done.",
        ),
        Wording(
            opening=(
                "Hello there! I'm afraid the blue vase I bought for my sister arrived in three "
                "pieces. It isn't anybody's fault I'm sure, but I would like to hand it back and "
                "get the price of it returned, please, as she has moved abroad in the meantime."
            ),
            follow_up=(
                "It was rattling when the postman handed it over, poor man. I've kept every "
                "piece and the bubble wrap, and my grandson took a photograph of it all."
            ),
            acknowledgement="Oh, that is kind, and much simpler than I had feared. Bless you.",
        ),
    ),
    keywords=(
        REFUND,
        ORIGINAL_PAYMENT,
        BUSINESS_DAYS,
        keyword(
            "prepaid label", "pre paid label", "return label", "returns label",
            "prepaid return label", "prepaid shipping label", "return shipping label",
        ),
        keyword(
            "photo of the damage", "photos of the damage", "picture of the damage",
            "pictures of the damage", "photo of the damaged", "photos of the damaged",
        ),
        keyword(
            "send it back", "return it", "return the item", "return the damaged item",
            "returned item", "your return",
        ),
        keyword("collection", "collected from", "pick up", "courier collect", "collect it"),
    ),
    fair=(REPLACEMENT,),
    topics=(
        "refund", "damage", "damaged", "photo", "photos", "picture", "pictures", "packaging",
        "wrapping", "cracked", "broken", "carton",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Could you describe the damage, and do you still have the packaging?",
        resolution=(
            "Please put it back in its box: I have emailed you a prepaid label, so you can send "
            "it back free of charge from any drop-off point, and a photo of the damage is all "
            "the proof needed. As soon as the parcel is scanned, your refund goes to the "
            "original payment method."
        ),
        recap="Use the prepaid label, and the refund follows once the parcel is scanned.",
    ),
)  # fmt: skip

LATE_AFTER_CANCELLATION = Scenario(
    name="late_after_cancellation",
    category="refund",
    wordings=(
        Wording(
            opening=(
                "I cancelled my order for the running shoes on the 2nd, you confirmed it the "
                "same hour, and you said the money would be back in a week. It's the 24th. "
                "Where is it?"
            ),
            follow_up=(
                "The confirmation came at 10.14 that morning. I checked the card again today: "
                "nothing in, and the £89 is still out."
            ),
            acknowledgement="Okay, that I can work with. I'll check again at the end of the week.",
        ),
        Wording(
            opening=(
                "So I called off the desk before it even left your building, that's almost a "
                "month ago, and you lot still have my 240 euros. Everyone I ask says it's being "
                "processed. Processed by whom, a snail?"
            ),
            follow_up=(
                "Called it off on the 28th, got the email saying so. My bank sees nothing "
                "incoming. Believe me, I asked them too."
            ),
            acknowledgement="Right. First straight answer in a month. Cheers.",
        ),
        Wording(
            opening=(
                "Dear team, on 9 March I cancelled order 55120 (two bookcases). I was told that "
                "repayment takes up to ten days. Four weeks have passed and my credit card shows "
                "no repayment. Would you kindly find out what is holding it up?"
            ),
            follow_up=(
                "Your confirmation of 9 March says that the order was stopped before dispatch. "
                "The card is the one I still use, and it has not been replaced."
            ),
            acknowledgement="Thank you for looking into it. I shall watch for the payment.",
        ),
    ),
    keywords=(
        REFUND,
        ORIGINAL_PAYMENT,
        BUSINESS_DAYS,
        CANCELLATION,
        FULL_AMOUNT,
        keyword(
            "reference number", "bank reference", "trace number", "transaction reference",
            "payment reference",
        ),
        keyword("reissued", "reissue", "reprocessed", "issued again", "resubmitted"),
        keyword("finance team", "payments team", "accounts team", "accounting team"),
    ),
    fair=(),
    topics=(
        "refund", "cancel", "cancelled", "canceled", "cancellation", "called off", "repayment",
        "money back", "bank", "call it off",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question=(
            "On what date did you receive the confirmation of your cancellation, and has your "
            "bank seen any refund come in?"
        ),
        resolution=(
            "Your cancellation was recorded, but the refund stalled on our side, so I have "
            "reissued it for the full amount. It reaches your original payment method within "
            "three business days, and I have emailed you the bank reference."
        ),
        recap="The refund was reissued and arrives within three business days.",
    ),
)  # fmt: skip

SCENARIOS = (NEVER_DELIVERED, DAMAGED_RETURN, LATE_AFTER_CANCELLATION)
