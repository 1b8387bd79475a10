"""The types of tools' arguments. Their constraints show in the JSON Schema."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

ID_CHARACTERS_MAX: Final = 64
TEXT_CHARACTERS_MAX: Final = 2_000
ID_FORMAT: Final = "id"
"""How a schema says that a text is an identifier; not shown to agents."""
AMOUNT_CENTS_MAX: Final = 100_000

_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
TEXT_PATTERN: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+$"
"""What free text is made of: anything but control characters, save line breaks and tabs."""

Id = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=ID_CHARACTERS_MAX,
        pattern=rf"^[^{_CONTROL}]+$",
    ),
    Field(json_schema_extra={"format": ID_FORMAT}),
]
"""An identifier: text of 1 to 64 characters without control characters; outer space is trimmed.

An integer means its decimal text, since models often send one.
"""

Text = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=TEXT_CHARACTERS_MAX,
        pattern=TEXT_PATTERN,
    ),
]
"""Free text of 1 to 2,000 characters, without control characters but line breaks and tabs."""

Cents = Annotated[int, Field(ge=1, le=AMOUNT_CENTS_MAX)]
"""An amount of money: a whole number of cents, 1 to 100,000, and no other type of value."""
