"""Where an order is, and how it reaches the customer."""

from deskgym.suites.tickets.scenario import GoodReply, Scenario, Wording, keyword
from deskgym.suites.tickets.scenarios.remedy import (
    DELIVERY_ADDRESS,
    DELIVERY_DATE,
    DISPATCH,
    EXPRESS,
    REFUND,
    REPLACEMENT,
    TRACE,
    TRACKING,
    WAREHOUSE,
)

_SYNONYMS = ("delivery", "shipment", "parcel", "dispatch", "transit")

MISSING_THREE_WEEKS = Scenario(
    name="missing_three_weeks",
    category="shipping",
    wordings=(
        Wording(
            opening=(
                "I ordered a winter coat three weeks ago and it still isn't here. The page has "
                "said 'in transit' since the 6th and never changes. It's freezing. Where is my "
                "coat?"
            ),
            follow_up=(
                "14 Mill Lane, the same as always, and the number ends in 7731. Last thing it "
                "shows is a sorting hall up north on the 6th."
            ),
            acknowledgement="Okay. I still want the coat, so that sounds right to me.",
        ),
        Wording(
            opening=(
                "21 days. Order 88204. Supposed to take 4. No parcel, no message, no idea. Find it."
            ),
            follow_up="Address is right, I checked. Last scan: the 11th. Then nothing.",
            acknowledgement="Fine. I'll be in on that day.",
        ),
        Wording(
            opening=(
                "Hello, I hope you can help, I'm getting a little worried. The knitting wool I "
                "ordered should have been here within the week, and it has been more than three. "
                "The line on the website just says that it is on its way. I'd really like it to "
                "get here before my knitting circle meets, as they all wait for their colours."
            ),
            follow_up=(
                "It's coming to Rose Cottage, by the church, and new drivers do sometimes miss "
                "us. The website last moved on the 9th, I think it said 'arrived at hub'."
            ),
            acknowledgement="Lovely, then I can tell the ladies that it's coming. Thank you, dear.",
        ),
    ),
    keywords=(
        TRACKING,
        TRACE,
        REPLACEMENT,
        EXPRESS,
        DELIVERY_DATE,
        DELIVERY_ADDRESS,
        WAREHOUSE,
        DISPATCH,
    ),
    fair=(REFUND,),
    topics=(
        "tracking", "tracking number", "delivery address", "address on the parcel", "postcode",
        "last scan", "house number", "street", "shipping address", "neighbours", "parcel",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Could you confirm the delivery address and the last scan that tracking shows?",
        resolution=(
            "I have opened a trace with the carrier, as the tracking has stood still for too "
            "many days. A replacement leaves our warehouse this afternoon by express, to the "
            "delivery address you gave, and the delivery date is this Thursday. Should the first "
            "parcel turn up as well, keep hold of it and tell us."
        ),
        recap="The replacement travels by express, and the tracking link is in your inbox.",
    ),
)  # fmt: skip

WRONG_DOOR = Scenario(
    name="wrong_door",
    category="shipping",
    wordings=(
        Wording(
            opening=(
                "Your message says my order was left on the porch at 11.40. I was sitting on my "
                "porch at 11.40. The photograph shows a green door. Mine is red. Please find out "
                "where it went and bring it here."
            ),
            follow_up=(
                "I'm at 52, and there's a 52a round the back that gets mixed up with us now and "
                "then. I knocked there, nobody in. No green door in sight."
            ),
            acknowledgement="Right, I'll be home when the driver comes by. Thanks.",
        ),
        Wording(
            opening=(
                "it says delivered but thats not my building in the pic?? im flat 6 and the mat "
                "in the photo is someone elses. can someone come and move it to me"
            ),
            follow_up=(
                "flat 6, block C. there's a block C across the road too, different street. asked "
                "two people next door, they dont have it"
            ),
            acknowledgement="ok cool, waiting for the driver then",
        ),
        Wording(
            opening=(
                "To whom it may concern: the box for our office has been handed over at the "
                "wrong entrance, to a person by the name of 'Jo', who does not work here. There "
                "are three firms in this building, and neither of the other two has it. We need "
                "its contents on Monday. Kindly see to it that it gets to us."
            ),
            follow_up=(
                "We are Hartmann & Daughter, second floor, entrance on Canal Street. The note "
                "says that it was signed for at 9.05 at the entrance on Bridge Street."
            ),
            acknowledgement="Noted. Reception will expect the delivery. Thank you.",
        ),
    ),
    keywords=(
        keyword(
            "delivery photo", "proof of delivery", "delivery record", "photo from the driver",
            "driver's photo",
        ),
        keyword("driver", "delivery driver"),
        keyword("neighbour", "neighbours", "neighbor", "neighbors"),
        keyword("gps", "gps location", "gps data", "drop off location"),
        keyword(
            "redeliver", "redelivery", "redelivered", "redelivering", "re deliver",
            "deliver it again",
        ),
        keyword("retrieve", "retrieved", "recover", "fetch it", "fetch the parcel"),
        DELIVERY_ADDRESS,
        REPLACEMENT,
        TRACE,
        DELIVERY_DATE,
        TRACKING,
    ),
    fair=(REFUND, DISPATCH, EXPRESS, WAREHOUSE),
    topics=(
        "neighbour", "neighbours", "neighbor", "neighbors", "door", "entrance", "delivery photo",
        "house number", "flat number", "street", "delivery address", "driver", "building",
        "shipping address", "tracking",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="What is your exact house number, and have you asked the neighbours already?",
        resolution=(
            "I have checked the delivery photo and the GPS of the van, and both point to a door "
            "a little way off. The driver goes back today to fetch the parcel, and will "
            "redeliver it to your delivery address before six. If it has vanished by then, a "
            "replacement leaves tomorrow."
        ),
        recap="The driver will redeliver the parcel to your own door today.",
    ),
)  # fmt: skip

SPLIT_SHIPMENT = Scenario(
    name="split_shipment",
    category="shipping",
    wordings=(
        Wording(
            opening=(
                "I ordered six dining plates and four bowls. The plates came on Tuesday. No "
                "bowls, and no note about bowls. Are they coming?"
            ),
            follow_up=(
                "Only one box, marked '1 of 2' now that I look at it. Nothing since. The plates "
                "are all fine, thank you."
            ),
            acknowledgement="That's all I needed to know. I'll keep Friday free for the bowls.",
        ),
        Wording(
            opening=(
                "got HALF my order. tent yes, poles no, pegs no. bit hard to camp like that. we "
                "leave saturday. where's the rest??"
            ),
            follow_up=(
                "one package, small, just the tent. it lists all three things on the slip. we're "
                "off at 7am saturday so friday's the limit"
            ),
            acknowledgement="friday works!! cheers, you legend",
        ),
        Wording(
            opening=(
                "Our school ordered thirty atlases and thirty globes in one go. The atlases were "
                "brought in on the 12th, and the caretaker signed for five cartons. The globes "
                "were not among them and your website calls the order complete. When may we "
                "expect the remainder?"
            ),
            follow_up=(
                "Five cartons, numbered 1 to 5 of 9. The delivery note mentions the globes, but "
                "with no date beside them."
            ),
            acknowledgement="Thank you, I shall let the caretaker know to expect four more.",
        ),
    ),
    keywords=(
        keyword(
            "second parcel", "second package", "second box", "other parcel", "remaining parcel",
            "remaining items", "remaining item", "missing items", "rest of your order",
            "rest of the order",
        ),
        keyword(
            "separately", "separate parcels", "separate shipments", "separate packages",
            "two parcels", "two shipments", "split",
        ),
        TRACKING,
        WAREHOUSE,
        DELIVERY_DATE,
        EXPRESS,
        DISPATCH,
        REPLACEMENT,
        DELIVERY_ADDRESS,
    ),
    fair=(TRACE,),
    topics=(
        "which items", "items", "missing", "packing slip", "delivery note", "how many boxes",
        "box", "boxes", "cartons", "how many parcels", "tracking", "parcel",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Which items are missing, and does the packing slip mention another box?",
        resolution=(
            "Your order was packed in two parcels, which travel separately because they come "
            "from different sites. The second parcel left the warehouse last night, and I have "
            "moved it to express. Its tracking link is in your inbox, and the delivery date is "
            "Friday morning."
        ),
        recap="The second parcel is due on Friday, and the tracking link shows it on the way.",
    ),
)  # fmt: skip

SCENARIOS = (MISSING_THREE_WEEKS, WRONG_DOOR, SPLIT_SHIPMENT)
