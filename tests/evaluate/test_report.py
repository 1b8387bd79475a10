"""Reports and comparisons: what they count, average and leave out."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt

from deskgym.agents import find_agent
from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeResult, EpisodeSpec, InvalidResults, stream
from deskgym.evaluate.compare import compare
from deskgym.evaluate.markdown import markdown
from deskgym.evaluate.openenv import submission_lines
from deskgym.evaluate.page import page
from deskgym.evaluate.report import AgentReport, report_on
from deskgym.evaluate.text import comparison_sections, sections
from deskgym.suite import load_suite
from deskgym.suites.backoffice.attack import attack_figures
from tests.evaluate.results import result, usage


def only(results: list[EpisodeResult]) -> AgentReport:
    (made,) = report_on(results)
    return made


MIXED = [
    result("s/a", 0, 1.0),
    result("s/a", 1, 0.5),
    result("s/b", 0, 1.0),
    result("s/b", 1, None, "invalid"),
    result("s/b", 2, 0.0),
    result("s/c", 0, None, "error"),
]


def test_rewards_invalid_runs_and_errors_are_counted_apart_and_never_averaged() -> None:
    made = only(MIXED)
    assert made.counts.to_dict() == {"episodes": 6, "reward": 4, "invalid": 1, "error": 1}
    assert made.reward.mean == pytest.approx(2.5 / 4)
    assert made.reward.count == 4
    assert made.success.mean == pytest.approx(2 / 4)
    assert made.invalid == {"provider_failure": 1}
    assert [(key.task, reason) for key, reason in made.errors] == [("s/c", "why seed 0 failed")]
    by_task = {item.task: item for item in made.tasks}
    assert by_task["s/b"].counts.to_dict() == {"episodes": 3, "reward": 2, "invalid": 1, "error": 0}
    assert by_task["s/b"].reward == 0.5
    assert by_task["s/c"].reward is None


def test_a_report_on_nothing_but_failures_has_no_reward_and_says_so() -> None:
    made = only([result("s/a", 0, None, "invalid"), result("s/b", 0, None, "error")])
    assert made.reward.mean is None
    assert made.pass_hat == ()
    text = markdown("T", sections([made]))
    assert "| A | r.v1 | none | none | 0 of 0 | 0 | 1 | 1 |" in text
    assert "<svg" in page("T", [made])


def test_the_order_of_results_changes_nothing() -> None:
    shuffled = MIXED[:]
    random.Random(3).shuffle(shuffled)
    assert only(shuffled).to_dict() == only(MIXED).to_dict()


def test_intervals_are_by_task_or_by_seed_where_there_is_one_task() -> None:
    assert only(MIXED).basis == "task"
    one = only([result("s/a", seed, reward) for seed, reward in enumerate([1.0, 0.0, 0.5])])
    assert one.basis == "seed"
    assert one.reward.clusters == 3
    assert "say nothing of other tasks" in markdown("T", sections([one]))


def test_pass_hat_k_takes_seeds_as_trials_unless_episodes_were_repeated() -> None:
    seeds = only(
        [result("s/a", seed, float(seed < 3)) for seed in range(4)]
        + [result("s/b", seed, 1.0) for seed in range(2)]
    )
    # Task a: 3 of 4; task b: 2 of 2. pass^2 is (3/6 + 1) / 2.
    assert [(hat.k, hat.value, hat.units) for hat in seeds.pass_hat] == [
        (1, pytest.approx(0.875), 2),
        (2, pytest.approx(0.75), 2),
    ]
    assert not seeds.repeated
    trials = only(
        [result("s/a", 0, float(trial == 0), trial=trial) for trial in range(2)]
        + [result("s/a", 1, 1.0, trial=trial) for trial in range(2)]
    )
    # Episode 0: 1 of 2; episode 1: 2 of 2.
    assert [(hat.k, hat.value, hat.units) for hat in trials.pass_hat] == [
        (1, pytest.approx(0.75), 2),
        (2, pytest.approx(0.5), 2),
    ]
    assert trials.repeated


def test_agents_rubrics_and_settings_are_reported_apart_and_told_apart() -> None:
    made = report_on(
        [
            result("s/a", 0, 1.0, settings={"rubric": "r.v1", "temperature": 0.0}),
            result("s/a", 0, 0.0, settings={"rubric": "r.v1", "temperature": 1.0}),
            result("s/a", 0, 0.5, settings={"rubric": "r.v2", "temperature": 1.0}),
            result("s/a", 0, 0.5, agent="B"),
        ]
    )
    assert [(item.name, item.rubric, item.reward.mean) for item in made] == [
        ("A (temperature 0.0)", "r.v1", 1.0),
        ("A (temperature 1.0)", "r.v1", 0.0),
        ("A", "r.v2", 0.5),
        ("B", "r.v1", 0.5),
    ]


def test_an_episode_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InvalidResults, match="s/a by A, seed 0 is there 2 times"):
        report_on([result("s/a", 0, 1.0), result("s/a", 0, 1.0)])


def test_checks_say_over_how_many_episodes_they_held() -> None:
    made = only(
        [
            result("s/a", 0, 1.0, checks={"x": True, "y": True}),
            result("s/a", 1, 0.5, checks={"x": False, "y": True}),
            result("s/b", 0, 0.5, checks={"x": True}),
        ]
    )
    assert [tuple(check) for check in made.checks] == [("x", 2, 3), ("y", 2, 2)]


def test_tokens_cost_and_time_are_of_every_episode_that_called_a_model() -> None:
    made = only(
        [
            result("s/a", 0, 1.0, usage=usage()),
            result("s/a", 1, None, "invalid", usage=usage(cost_usd=None, latencies_s=[5.0])),
            result("s/a", 2, 1.0),
        ]
    )
    assert made.usage is not None
    assert made.usage._asdict() == {
        "episodes": 2, "priced": 1, "calls": 4, "malformed": 0, "prompt_tokens": 200,
        "completion_tokens": 40, "cost_usd": 0.25,
    }  # fmt: skip
    assert made.timing is not None
    # Of 1, 3 and 5 seconds.
    assert made.timing.latencies_s == (3.0, pytest.approx(4.6), pytest.approx(4.96))
    assert made.timing.retries == 2
    assert "timing" not in made.to_dict()
    assert made.to_dict(timing=True)["timing"]["replies"] == 3
    assert "Time" not in [section.title for section in sections([made])]
    assert "Time" in [section.title for section in sections([made], timing=True)]


def run(*specs: EpisodeSpec) -> list[EpisodeResult]:
    return [finished.result for finished in stream(specs)]


def test_figures_under_attack_are_those_of_the_suite() -> None:
    task = "backoffice/injected-instruction"
    suite = load_suite("backoffice")
    for agent in ("careful", "eager"):
        figures = attack_figures(find_agent(suite, suite.task(task), agent), range(4))
        made = only(
            run(
                *(
                    EpisodeSpec(task, agent, seed, parameters={"attack": attack})
                    for attack in (0, 1)
                    for seed in range(4)
                )
            )
        )
        assert made.attack == figures
    assert only(run(EpisodeSpec(task, "careful", 0))).attack is None


def test_every_suite_has_figures_by_check() -> None:
    for task, agent, check in (
        ("service/two-full-captures", "refund-first", "no refused write"),
        ("backoffice/damaged-item", "oracle", "correct-remedy"),
        ("tickets/hard", "oracle", "turn 2: keywords"),
    ):
        assert check in [item.name for item in only(run(EpisodeSpec(task, agent, 0))).checks]


# Pages.


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [
            name for name, _ in attrs if name in ("src", "href", "srcset") or name.startswith("on")
        ]

    def handle_data(self, data: str) -> None:
        self.words += data


HOSTILE = "<script>alert(1)</script>\"&'|`*_"


def hostile() -> list[EpisodeResult]:
    return [
        result(f"s/{HOSTILE}", 0, 1.0, agent=HOSTILE, checks={HOSTILE: True}),
        result("s/b", 0, -0.4, agent=HOSTILE, checks={HOSTILE: True}),
        result("s/b", 1, None, "error", agent=HOSTILE, detail=HOSTILE),
        result("s/b", 2, None, "invalid", agent=HOSTILE, termination=HOSTILE),
    ]


def test_the_page_needs_nothing_beside_it_and_runs_nothing() -> None:
    text = page(HOSTILE, report_on(hostile()), timing=True)
    made = Page(text)
    assert made.outside == []
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & set(made.tags)
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert HOSTILE in made.words
    assert "prefers-color-scheme:dark" in text
    assert made.tags.count("svg") >= 3


def test_markdown_shows_what_was_written_as_it_is() -> None:
    made = sections(report_on(hostile()))
    read = Page(MarkdownIt("commonmark").enable("table").render(markdown("T", made)))
    assert read.tags.count("table") == len(made)
    assert read.tags.count("td") == sum(len(row) for section in made for row in section.rows)
    assert "script" not in read.tags
    assert HOSTILE in read.words


def test_every_figure_of_the_table_is_on_the_page() -> None:
    made = report_on(MIXED)
    words = Page(page("T", made)).words
    for section in sections(made):
        assert section.title in words
        assert all(cell in words for row in section.rows for cell in row)


# Comparisons.


def side(rewards: Mapping[tuple[str, int], float | None], **changes: Any) -> list[EpisodeResult]:
    return [
        result(task, seed, reward, "reward" if reward is not None else "invalid", **changes)
        for (task, seed), reward in rewards.items()
    ]


def test_a_comparison_pairs_by_task_and_seed_and_names_what_flipped() -> None:
    a = side({("s/a", 0): 1.0, ("s/a", 1): 0.5, ("s/b", 0): 0.0, ("s/b", 1): 1.0, ("s/c", 0): 1.0})
    b = side(
        {("s/a", 0): 1.0, ("s/a", 1): 1.0, ("s/b", 0): 0.5, ("s/b", 1): None, ("s/d", 0): 1.0},
        agent="B",
    )
    made = compare(a, b)
    assert len(made.pairs) == 3
    # Differences 0, 0.5 in task a and 0.5 in task b: mean 1/3. They add up to -1/6 and 1/6 around
    # it, so the error is sqrt(2 * 2/36) / 3 = 1/9, and t for one degree is 12.7062.
    assert made.difference.mean == pytest.approx(1 / 3)
    assert made.difference.standard_error == pytest.approx(1 / 9)
    assert made.difference.high == pytest.approx(1 / 3 + 12.7062 / 9, abs=1e-4)
    assert not made.is_told_apart
    assert [str(pair.key) for pair in made.won] == ["s/a seed 1"]
    assert made.lost == ()
    assert (made.a.unmatched, made.b.unmatched) == (1, 1)
    assert (made.a.unjudged, made.b.unjudged) == ({}, {"invalid": 1})
    assert made.a.reward == pytest.approx(0.5)
    back = compare(b, a)
    assert [str(pair.key) for pair in back.lost] == ["s/a seed 1"]
    assert back.difference.mean == pytest.approx(-1 / 3)


def test_pairs_see_a_difference_that_the_spread_of_cases_hides() -> None:
    cases = {(f"s/{task}", seed): task / 12 for task in range(12) for seed in range(3)}
    better = {key: reward + 0.05 for key, reward in cases.items()}
    made = compare(side(cases), side(better, agent="B"))
    assert made.is_told_apart
    alone = only(side(cases)).reward
    assert alone.standard_error is not None
    assert alone.standard_error > 0.05


def test_one_pair_has_a_difference_and_no_interval() -> None:
    made = compare([result("s/a", 0, 0.0)], [result("s/a", 0, 1.0, agent="B")])
    assert made.difference.mean == 1.0
    assert not made.is_told_apart
    assert "One pair says nothing of others" in markdown("T", comparison_sections(made))


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([], MIXED, "A holds no results"),
        (MIXED, [result("s/z", 9, 1.0)], "share no episode: A has s/a seed 0 and 5 more"),
        (MIXED, [result("s/a", 0, 1.0, settings={"rubric": "r.v2"})], "different rubrics"),
        ([*MIXED, result("s/a", 0, 1.0, agent="B")], MIXED, "--a A takes those of one"),
        (MIXED, [*MIXED, result("s/a", 9, 1.0, settings={"rubric": "r.v1", "t": 1})],
         "in more than one setting"),
        (MIXED, [*MIXED, MIXED[0]], "B holds an episode more than once"),
        ([result("s/a", 0, None, "invalid")], MIXED, "none has a reward in both"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    a: list[EpisodeResult], b: list[EpisodeResult], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        compare(a, b)


# OpenEnv's lines.

START = re.compile(r"\[START\] task=\S+ env=\S+ model=\S+")
STEP = re.compile(
    r"\[STEP\] step=(\d+) action=(.+) reward=(-?\d+\.\d\d) done=(true|false) error=(.+)"
)
END = re.compile(r"\[END\] success=(true|false) steps=(\d+) score=([01]\.\d\d) rewards=(\S*)")


@pytest.mark.parametrize(
    ("task", "agent", "score"),
    [
        ("service/damaged-lamp", "oracle", "1.00"),
        ("service/two-full-captures", "refund-first", "0.00"),
        ("tickets/hard", "oracle", "1.00"),
        ("backoffice/damaged-item", "null", "0.00"),
    ],
)
def test_an_episode_is_three_kinds_of_lines(task: str, agent: str, score: str) -> None:
    (finished,) = stream([EpisodeSpec(task, agent, 0)])
    first, *steps, last = submission_lines(finished.episode())
    assert START.fullmatch(first)
    end = END.fullmatch(last)
    assert end
    assert end[3] == score
    assert end[1] == ("true" if score == "1.00" else "false")
    assert int(end[2]) == len(steps) == finished.result.actions
    read = [STEP.fullmatch(line) for line in steps]
    assert all(read)
    assert [int(line[1]) for line in read if line] == list(range(1, len(steps) + 1))
    assert [line[4] for line in read if line] == ["false"] * (len(steps) - 1) + ["true"] * bool(
        steps
    )
    rewards = [float(line[3]) for line in read if line]
    assert end[4] == ",".join(f"{reward:.2f}" for reward in rewards)
    assert sum(rewards) == pytest.approx(finished.result.reward, abs=0.005 * max(1, len(steps)))


def test_agents_are_told_apart_in_words() -> None:
    prices = [None, {"prompt": 1.0, "completion": 2.5, "cached": None}]
    found = report_on(
        [
            result("s/a", 0, 1.0, settings={"rubric": "r", "prices": price, "stop at call": stop})
            for price, stop in zip(prices, (False, True), strict=True)
        ]
    )
    assert [each.name for each in found] == [
        "A (prices none, stop at call off)",
        "A (prices prompt 1.0 completion 2.5, stop at call on)",
    ]
