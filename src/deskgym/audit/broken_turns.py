"""Every constant of the rules of the tickets suite, broken.

The rules read their weights and words from their own module, so a rule is broken in a second copy
of it, which nobody else sees.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

from deskgym.audit.rule import Rule, rubric_rule
from deskgym.rubric import Reader
from deskgym.rubric.turns import Reply, TurnRubric, TurnRules, TurnScore
from deskgym.suites.tickets import rules_v2
from deskgym.suites.tickets.scenario import INTENTS, TURNS
from deskgym.suites.tickets.ticket import asked_in

STEP_POINTS: Final = 100
NOT_TRIED: Final = frozenset({
    "characters_shown_max", "foreign_categories_max", "keyword_words_percent_max",
    "courtesy_words_max", "copied_words_min",
})  # fmt: skip
"""What only the breakdown shows, and limits of reading that no run of the good agent comes near;
the suite's own tests have sentences on either side of each."""
WORDS: Final = ("EMPATHY", "CLOSING")
"""Lists of words, each of which is taken away whole."""


def _copy(**values: object) -> Any:
    """The rules once more, with other values in their module."""
    name = f"{rules_v2.__name__}_broken"
    spec = spec_from_file_location(name, rules_v2.__file__)
    assert spec is not None, "the rules are a file"
    assert spec.loader is not None, "a file has a loader"
    module = module_from_spec(spec)
    # A dataclass looks its own module up while it is made.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    for key, value in values.items():
        setattr(module, key, value)
    return module


def _rubric(module: Any) -> TurnRubric:
    def rules(world: Reader) -> TurnRules:
        tier, scenario = asked_in(world)

        def judge(turn: int, reply: Reply) -> TurnScore:
            intent = next((item for item in INTENTS if item == reply.intent), None)
            return module.score_turn(tier, turn, scenario, reply.message, intent)

        return TurnRules(TURNS[tier], judge)

    return TurnRubric(rules_v2.RUBRIC, rules, untaken_count=True)


def rules_of() -> Iterator[Rule]:
    """Each weight moved either way, each list of words empty, and turns not taken left out."""
    for field in fields(rules_v2.Weights):
        if field.name in NOT_TRIED:
            continue
        value = getattr(rules_v2.WEIGHTS, field.name)
        step = STEP_POINTS if abs(value) >= 1_000 else max(1, value // 2)
        for moved in (value + step, value - step):
            weights = replace(rules_v2.WEIGHTS, **{field.name: moved})
            rubric = _rubric(_copy(WEIGHTS=weights))
            yield rubric_rule(f"{field.name} {moved} and not {value}", "constant", rubric)
    for name in WORDS:
        yield rubric_rule(
            f"no words of {name}", "check", _rubric(_copy(**{name: ("not a word anybody says",)}))
        )
    taken = replace(_rubric(rules_v2), untaken_count=False)
    yield rubric_rule("turns not taken left out", "constant", taken)
