"""Names and addresses, all invented; every address is at a reserved domain."""

from __future__ import annotations

from typing import Final

from deskgym.store.change import Row
from deskgym.store.draw import Draw

FIRST: Final = (
    "Ada", "Bao", "Carla", "Dario", "Edda", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaya",
    "Leo", "Mira", "Nils", "Oona", "Pavel", "Quinn", "Rosa", "Sami", "Tove", "Uma", "Viktor",
    "Wanda", "Xenia", "Yusuf", "Zofia", "Anil", "Birgit", "Cyril", "Dunja", "Emre", "Flora",
    "Gita", "Henrik", "Iris", "Jamal", "Kirsten", "Luca", "Maren", "Noor", "Otto", "Priya",
    "Ravi", "Selma", "Timo", "Ulla", "Vera", "Willem", "Yara", "Zeno",
)  # fmt: skip
LAST: Final = (
    "Abbott", "Berger", "Castell", "Duval", "Eriksen", "Fontaine", "Grant", "Hallam", "Ibarra",
    "Jansen", "Keller", "Lindqvist", "Mbeki", "Novak", "Osei", "Pereira", "Quist", "Rahman",
    "Sorel", "Tanaka", "Ulrich", "Varga", "Weiss", "Xavier", "Yilmaz", "Zeller", "Amsel",
    "Brandt", "Costa", "Demir", "Ekman", "Falk", "Gallo", "Hertz", "Iversen", "Jovic", "Kwon",
    "Lopes", "Marek", "Nyberg", "Ortiz", "Petit", "Rossi", "Stern", "Tamm", "Unger", "Vogel",
    "Winter", "Yates", "Zorn",
)  # fmt: skip
LAST_IN_TASKS: Final = (
    "Achterberg", "Bellweather", "Cranmoor", "Dellacqua", "Estabrook", "Fairholm", "Goldfinch",
    "Hollander", "Ishikawa", "Jellicoe", "Kastanje", "Lovelock", "Montague", "Nightingale",
    "Okonkwo", "Pemberton", "Quarrington", "Rosenthal", "Silverthorn", "Trelawney",
)  # fmt: skip
"""Names that only the customers of a task bear, so that none of them is met twice in a shop."""

_STREETS: Final = (
    "Alder Lane", "Brook Street", "Canal Row", "Dune Road", "Elm Court", "Fountain Square",
    "Garden Terrace", "Hill Rise", "Ivy Close", "Juniper Way", "Kiln Yard", "Lime Avenue",
    "Mill Path", "North Parade", "Orchard End", "Quarry Bank",
)  # fmt: skip
_TOWNS: Final = (
    "Ashport", "Brinley", "Coldwater", "Dunmere", "Eastvale", "Fernhill", "Graymouth", "Harrow Bay",
)  # fmt: skip


def address(draw: Draw) -> str:
    """A postal address."""
    # Postal codes are no number that an order of any shop has.
    street = f"{draw.integer(2, 198)} {draw.pick(_STREETS)}"
    return f"{street}, {draw.pick(_TOWNS)} {draw.integer(40_000, 99_999)}"


def customer_row(customer_id: str, name: str, where: str, created_at: str, note: str = "") -> Row:
    """A customer, whose email address is made of the name."""
    return (customer_id, name, email_of(name), where, note, created_at)


def email_of(name: str) -> str:
    """The address that belongs to a name; letters and digits of it only."""
    words = ("".join(letter for letter in word if letter.isalnum()) for word in name.split()[:2])
    return ".".join(word.lower() for word in words) + "@mail.example"


def base_name(position: int) -> str:
    """The name of a shop's customer; no two of the first 2,500 are the same."""
    row, column = divmod(position, len(FIRST))
    return f"{FIRST[column]} {LAST[(7 * column + row) % len(LAST)]}"


def task_name(draw: Draw) -> str:
    """A name for a customer of a task."""
    return f"{draw.pick(FIRST)} {draw.pick(LAST_IN_TASKS)}"
