"""`ticket-reward`, versions 1 and 2: each turn by its rule, the reward their mean.

Beside the rules of a turn the two differ in one thing. Version 1 is the mean of the turns that
were taken, as published, so that to stop early costs nothing; version 2 counts the others as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from deskgym.rubric import Reader
from deskgym.rubric.turns import Reply, TurnRubric, TurnRules, TurnScore
from deskgym.suites.tickets import rules_v1, rules_v2
from deskgym.suites.tickets.scenario import INTENTS, TURNS, Intent, Scenario, Tier
from deskgym.suites.tickets.ticket import asked_in

_ScoreTurn = Callable[[Tier, int, Scenario, str, Intent | None], TurnScore]
_INTENTS: Final[Mapping[str | None, Intent]] = {intent: intent for intent in INTENTS}


def _rules(score_turn: _ScoreTurn) -> Callable[[Reader], TurnRules]:
    def rules(world: Reader) -> TurnRules:
        tier, scenario = asked_in(world)

        def judge(turn: int, reply: Reply) -> TurnScore:
            intent = _INTENTS.get(reply.intent)
            return score_turn(tier, turn, scenario, reply.message, intent)

        return TurnRules(TURNS[tier], judge)

    return rules


V2: Final = TurnRubric(rules_v2.RUBRIC, _rules(rules_v2.score_turn), untaken_count=True)
V1: Final = TurnRubric(rules_v1.RUBRIC, _rules(rules_v1.score_turn), untaken_count=False)
