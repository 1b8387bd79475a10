"""Read a text the way rules need it: folded words, and which clauses assert something.

Everything here is one pass over the text, and no pattern can back up over what it has read, so a
long reply costs as much per character as a short one. Nothing raises on any text, lone surrogates
and control characters included.
"""

from deskgym.rubric.language.clause import QUOTED, Clause, clauses
from deskgym.rubric.language.fold import fold, normalise, words
from deskgym.rubric.language.negation import is_negator, negated_closely
from deskgym.rubric.language.phrase import Match, Phrasebook

__all__ = [
    "QUOTED",
    "Clause",
    "Match",
    "Phrasebook",
    "clauses",
    "fold",
    "is_negator",
    "negated_closely",
    "normalise",
    "words",
]
