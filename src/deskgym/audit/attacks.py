"""The attacks, in the order of the report. Adding one is a module of its own and a line here."""

from __future__ import annotations

from typing import Final

from deskgym.audit import (
    adversaries,
    bounded_search,
    conformance,
    controls,
    guided_search,
    injection,
    labels,
    mutated_oracles,
    mutated_rules,
    secrecy,
)
from deskgym.audit.attack import Attack

ATTACKS: Final[tuple[Attack, ...]] = (
    controls.ATTACK,
    labels.ATTACK,
    adversaries.ATTACK,
    injection.ATTACK,
    mutated_oracles.ATTACK,
    bounded_search.ATTACK,
    guided_search.ATTACK,
    mutated_rules.ATTACK,
    secrecy.ATTACK,
    conformance.ATTACK,
)
"""Every attack that `deskgym audit` runs."""
