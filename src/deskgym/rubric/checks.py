"""Check rubrics: weighted required checks, and forbidden ones that cost everything.

The reward is the sum of the weights of the required checks that hold. Any forbidden check that
does not hold makes it 0, whatever else was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from deskgym.errors import InvalidDefinition
from deskgym.rubric.check import BoundCheck, Reader
from deskgym.rubric.score import POINTS, Score, Verdict, as_reward
from deskgym.store.world import Mark, World


@dataclass(frozen=True)
class Required:
    """A check that earns its weight when it holds."""

    check: BoundCheck
    points: int


@dataclass(frozen=True)
class CheckCase:
    """What a task asks: its required checks, whose points add up to 10,000, and its forbidden ones.

    Raises:
        InvalidDefinition: the points do not add up, or two checks share a name.
    """

    required: tuple[Required, ...]
    forbidden: tuple[BoundCheck, ...]

    def __post_init__(self) -> None:
        total = sum(item.points for item in self.required)
        if total != POINTS or any(item.points <= 0 for item in self.required):
            raise InvalidDefinition(f"required checks weigh {POINTS} points in all, not {total}")
        names = [item.check.check.name for item in self.required]
        names += [item.check.name for item in self.forbidden]
        if len(set(names)) != len(names):
            raise InvalidDefinition(f"two checks of a case share a name: {', '.join(names)}")


@dataclass(frozen=True)
class Finding:
    """How one check came out.

    Attributes:
        points: its weight; 0 for a forbidden check.
        rows: what breaks it; none when it holds.
    """

    check: BoundCheck
    forbidden: bool
    points: int
    rows: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        """The check's name."""
        return self.check.check.name

    @property
    def holds(self) -> bool:
        """Whether nothing breaks it."""
        return not self.rows

    def reason(self) -> str:
        """Why it fails, by its rows; what it asks for when it holds."""
        if self.holds:
            return self.check.check.sentence
        changes = [row for row in self.rows if row.keys() == {"operation", "table_name", "row_key"}]
        if len(changes) == len(self.rows):
            return "unexpected: " + ", ".join(
                f"{row['operation']} {row['table_name']} {row['row_key']}" for row in changes
            )
        return "; ".join(_told(row) for row in self.rows)


def _told(row: dict[str, Any]) -> str:
    """A row as people read it: what its first column says in words leads, the rest follows."""
    rest = {name.replace("_", " "): value for name, value in row.items()}
    lead = ""
    for name in ("problem", "what"):
        lead = lead or str(rest.pop(name, ""))
    if not lead:
        return ", ".join(f"{name} {value}" for name, value in rest.items())
    for name in ("value", "subject"):
        value = str(rest.pop(name, ""))
        if value and not lead.endswith(f": {value}"):
            lead += f": {value}"
    return ", ".join([lead, *(f"{name} {value}" for name, value in rest.items())])


@dataclass(frozen=True)
class CheckBreakdown:
    """Every check of a case and how it came out, the required ones first."""

    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The forbidden checks that do not hold."""
        return tuple(item for item in self.findings if item.forbidden and not item.holds)

    def lines(self) -> list[str]:
        """A line a check."""
        return [
            f"  {item.name} "
            f"({'forbidden' if item.forbidden else f'required, {as_reward(item.points)}'}): "
            f"{'passed' if item.holds else 'failed'}: {item.reason()}"
            for item in self.findings
        ]

    def reasons(self) -> list[str]:
        """The checks that do not hold, the forbidden ones first, with what breaks them."""
        failed = [item for item in self.findings if not item.holds]
        failed.sort(key=lambda item: not item.forbidden)
        return [f"{item.name}: {item.reason()}" for item in failed]

    def brief(self) -> dict[str, Any]:
        """Which checks hold, and why the others do not."""
        return {
            "checks": {item.name: item.holds for item in self.findings},
            "reasons": self.reasons(),
        }

    def to_dict(self) -> dict[str, Any]:
        """The checks as JSON."""
        return {
            "checks": [
                {
                    "name": item.name,
                    "kind": "forbidden" if item.forbidden else "required",
                    "sentence": item.check.check.sentence,
                    "weight": item.points / POINTS,
                    "holds": item.holds,
                    "reason": item.reason(),
                    "rows": list(item.rows),
                }
                for item in self.findings
            ]
        }


@dataclass(frozen=True)
class CheckRubric:
    """A version of a rubric of checks; the case holds the checks themselves.

    Attributes:
        reward_min: a failing forbidden check takes the reward, and no more.
    """

    reward_min: ClassVar[float] = 0.0

    version: str

    def score(self, world: Reader, case: CheckCase) -> Score:
        """The score of an episode so far.

        Of a world that was scored before, only the checks are asked again whose tables have
        changed since.
        """
        if isinstance(world, World):
            findings = _known_findings(world, case)
        else:
            findings = tuple(_find(world, *item) for item in _checks(case))
        breakdown = CheckBreakdown(findings)
        held = sum(item.points for item in findings if item.holds)
        points = 0 if breakdown.broken else held
        return Score(self.version, points, _verdict(points), breakdown)


class _Memo(NamedTuple):
    case: CheckCase
    mark: Mark
    findings: tuple[Finding, ...]


def _checks(case: CheckCase) -> list[tuple[BoundCheck, bool, int]]:
    """Every check of a case, whether it is forbidden, and its weight."""
    required = [(item.check, False, item.points) for item in case.required]
    return required + [(check, True, 0) for check in case.forbidden]


def _find(world: Reader, check: BoundCheck, forbidden: bool, points: int) -> Finding:
    return Finding(check, forbidden, points, tuple(check.breaches(world)))


def _known_findings(world: World, case: CheckCase) -> tuple[Finding, ...]:
    memo: _Memo | None = world.memo
    mark = world.mark
    if memo is None or memo.case is not case:
        findings = tuple(_find(world, *item) for item in _checks(case))
    else:
        stale = world.tables_since(memo.mark)
        findings = tuple(
            _find(world, known.check, known.forbidden, known.points)
            if known.check.is_stale(stale)
            else known
            for known in memo.findings
        )
    world.memo = _Memo(case, mark, findings)
    return findings


def _verdict(points: int) -> Verdict:
    if points == POINTS:
        return "resolved"
    return "partial" if points else "not_resolved"
