"""What customers write about when nothing is wrong: threads that are nobody's task."""

from __future__ import annotations

from typing import Final

from deskgym.store.draw import Draw

_TOPICS: Final = (
    ("Which bulb?", "Hello, which bulb fits the clamp lamp, and how bright may it be?",
     "It takes an E14 bulb of up to 25 watts. Thank you for asking."),
    ("Glaze colours", "Are the fern and the ink glaze as different as they look in the pictures?",
     "They are: fern is a grey green, ink a deep blue."),
    ("Oil for the board", "How often should I oil the chopping board, and with what?",
     "Every two months, with linseed oil. Let it dry for a day."),
    ("Kettle on induction", "Does the gooseneck kettle work on an induction hob?",
     "It does, on every kind of hob."),
    ("Gift wrapping", "Do you wrap presents? It is for a birthday in April.",
     "We do not, but the boxes are plain and carry no price."),
    ("Opening a second account", "Can my company have an account beside my own?",
     "Yes; please use another address for it when you sign up."),
    ("A compliment", "The blanket is the best thing I have bought all winter. That is all.",
     "That made our day. Thank you."),
    ("Spring for the shears", "The spring of my garden shears is tired. Do you sell spare ones?",
     "We will have them again in May."),
    ("Care of planters", "Can the clay planters stay outside in frost?",
     "They can, if the saucer is empty."),
    ("Your newsletter", "Please tell me where I can change how often your newsletter comes.",
     "At the foot of every newsletter there is a link for it."),
    ("Catalogue on paper", "Is there still a printed catalogue? My father asks.",
     "Not any more, I am afraid."),
    ("Grinder settings", "Which setting of the coffee grinder do you advise for a French press?",
     "Start at fourteen and go coarser from there."),
    ("Shop visit", "Do you have a showroom one can visit on Saturdays?",
     "We sell by post only."),
    ("Clock is silent?", "Is the wall clock silent enough for a bedroom?",
     "It is; the hand moves without a tick."),
)  # fmt: skip


def thread_texts(draw: Draw) -> tuple[str, str, str]:
    """A subject, a question and an answer to it."""
    return draw.pick(_TOPICS)
