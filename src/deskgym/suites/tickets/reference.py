"""The rules and the words of the suite as Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deskgym.rubric.score import as_reward
from deskgym.suite import load_suite
from deskgym.suites.tickets import rules_v1, rules_v2
from deskgym.suites.tickets.catalogue import SCENARIOS
from deskgym.suites.tickets.scenario import CATEGORIES, Category, Keyword, Scenario


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _signed(points: int) -> str:
    return ("+" if points > 0 else "") + as_reward(points)


def rules_of_v1() -> str:
    """What a turn earns by version 1."""
    own = rules_v1.WEIGHTS
    most = as_reward(own.keyword * own.keywords_max)
    limit = as_reward(own.hard_resolve_max)
    longer = f"more than {own.detail_characters} characters"
    rows = [
        ("easy", "the category is in the reply", _signed(own.exact_category)),
        ("easy", "else a synonym of it is", _signed(own.partial_category)),
        ("medium", f"each keyword, up to {own.keywords_max} ({most})", _signed(own.keyword)),
        ("medium", "an empathy word", _signed(own.empathy)),
        ("medium", longer, _signed(own.detail)),
        ("medium", "the intent `escalate`, or a handover word", _signed(own.needless_escalation)),
        ("hard, turn 1", "a question mark", _signed(own.question)),
        ("hard, turn 1", "with it, a topic word", _signed(own.on_topic)),
        ("hard, turn 2", f"each keyword (the turn: at most {limit})", _signed(own.keyword)),
        ("hard, turn 2", "an empathy word", _signed(own.hard_empathy)),
        ("hard, turn 2", longer, _signed(own.hard_detail)),
        ("hard, turn 3", "a closing phrase", _signed(own.polite_close)),
    ]
    return _table(("turn", "what", "reward"), rows)


def rules_of_v2() -> str:
    """What a turn earns by version 2."""
    own = rules_v2.WEIGHTS
    most = as_reward(own.keyword * own.keywords_max)
    longer = f"more than {own.detail_characters} characters that can be seen"
    solving = "medium; hard, turn 2"
    rows = [
        ("easy", "the category is named, and no other one", _signed(own.category)),
        ("easy", "else synonyms of it, and of no other, are", _signed(own.synonym)),
        (solving, f"each keyword, up to {own.keywords_max} ({most})", _signed(own.keyword)),
        (solving, "each promise from another category, off the keywords", _signed(-own.keyword)),
        (solving, "an empathy word", _signed(own.empathy)),
        (solving, longer, _signed(own.detail)),
        ("medium", "the intent `escalate`, or a handover phrase", _signed(own.needless_escalation)),
        ("hard, turn 1", "a question", _signed(own.question)),
        (
            "hard, turn 1",
            "a topic word of this scenario in it, and none of another category's",
            _signed(own.on_topic),
        ),
        ("hard, turn 3", "a closing phrase", _signed(own.closing)),
        (
            "hard, turn 3",
            "a keyword again, and no promise from another category",
            _signed(own.restated),
        ),
        ("hard, turn 3", "a new question", "0 for the turn"),
    ]
    return _table(("turn", "what", "reward"), rows)


def phrases() -> str:
    """The words that count in every scenario, by version."""
    rows = [
        ("empathy", _listed(rules_v1.EMPATHY), _listed(rules_v2.EMPATHY)),
        ("handover", _listed(rules_v1.HANDOVER), _listed(rules_v2.HANDOVER)),
        ("closing", _listed(rules_v1.CLOSING), _listed(rules_v2.CLOSING)),
    ]
    return _table(("words", rules_v1.RUBRIC, rules_v2.RUBRIC), rows)


def scenarios() -> str:
    """Each scenario's keywords, in every form, and its topics, by category."""
    return "\n\n".join(map(_category, CATEGORIES))


def _category(category: Category) -> str:
    own = [one for one in SCENARIOS if one.category == category]
    head = ("scenario", "keywords", "counts neither way", "topics")
    return "\n\n".join(
        (
            f"### {category}",
            f"Synonyms: {_listed(own[0].synonyms)}.",
            _table(head, map(_scenario, own)),
        )
    )


def _scenario(one: Scenario) -> tuple[str, str, str, str]:
    return (
        one.name.replace("_", " "),
        _keywords(one.keywords),
        _listed(keyword.name for keyword in one.fair) or "nothing",
        _listed(one.topics),
    )


def _keywords(keywords: Iterable[Keyword]) -> str:
    return "<br>".join(" / ".join(keyword.forms) for keyword in keywords)


def _listed(phrases: Iterable[str]) -> str:
    return ", ".join(phrases)


def controls() -> str:
    """Each task's controls with their rewards by both versions."""
    rows = [
        (
            f"`tickets/{task.name}`",
            f"`{control.name}`",
            control.kind.replace("_", " "),
            control.title,
            *(
                f"{control.reward_by(version):.4f}"
                for version in (rules_v2.RUBRIC, rules_v1.RUBRIC)
            ),
        )
        for task in load_suite("tickets").tasks
        for control in task.controls
    ]
    return _table(("task", "control", "kind", "what it does", "v2", "v1"), rows)
