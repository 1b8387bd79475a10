from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.store.draw import Draw, shifted


def drawn(purpose: str, seed: int, count: int) -> int:
    """The number behind a draw, from SHA-256 alone."""
    return int(sha256(f"{purpose}:{seed}:{count}".encode()).hexdigest()[:16], 16)


def test_draws_are_the_sha_256_of_purpose_seed_and_count():
    draw = Draw(7, "shop")
    assert [draw.integer(0, 999) for _ in range(5)] == [
        drawn("shop", 7, count) % 1000 for count in range(1, 6)
    ]


def test_draws_are_what_they_always_were():
    draw = Draw(0, "service/lamp")
    assert [draw.integer(1, 100) for _ in range(6)] == [60, 4, 32, 75, 72, 75]


def test_a_picked_item_is_one_draw():
    items = ("a", "b", "c", "d", "e")
    assert Draw(7, "shop").pick(items) == items[drawn("shop", 7, 1) % 5]


def test_a_shuffle_swaps_from_the_last_place_down():
    assert Draw(7, "shop").shuffled("abc") == shuffled_by_hand()


def shuffled_by_hand() -> list[str]:
    items = ["a", "b", "c"]
    first = drawn("shop", 7, 1) % 3
    items[2], items[first] = items[first], items[2]
    second = drawn("shop", 7, 2) % 2
    items[1], items[second] = items[second], items[1]
    return items


@given(st.integers(), st.lists(st.integers(), max_size=20))
def test_a_shuffle_keeps_every_item_and_leaves_the_list_alone(seed: int, items: list[int]):
    given_items = list(items)
    assert sorted(Draw(seed, "shop").shuffled(items)) == sorted(items)
    assert items == given_items


@given(st.integers(0, 2**31), st.integers(-1000, 1000), st.integers(0, 1000))
def test_a_draw_lies_between_its_bounds(seed: int, low: int, width: int):
    draw = Draw(seed, "shop")
    assert all(low <= draw.integer(low, low + width) <= low + width for _ in range(20))


def test_both_bounds_and_all_between_are_drawn_alike():
    draw = Draw(0, "shop")
    counts = [0] * 6
    for _ in range(6_000):
        counts[draw.integer(10, 15) - 10] += 1
    # Five standard deviations of a fair die are 144.
    assert all(abs(count - 1_000) < 144 for count in counts)


def test_streams_of_another_seed_or_purpose_differ():
    streams = [Draw(1, "shop"), Draw(2, "shop"), Draw(1, "inbox")]
    assert len({tuple(draw.integer(0, 2**40) for _ in range(3)) for draw in streams}) == 3


@pytest.mark.parametrize(
    ("time", "by", "expected"),
    [
        ("2028-02-28T12:00:00Z", {"days": 1}, "2028-02-29T12:00:00Z"),
        ("2028-02-28T12:00:00Z", {"days": 2}, "2028-03-01T12:00:00Z"),
        ("2027-02-28T12:00:00Z", {"days": 1}, "2027-03-01T12:00:00Z"),
        ("2028-03-01T00:00:00Z", {"minutes": -1}, "2028-02-29T23:59:00Z"),
        ("2026-12-31T23:30:00Z", {"hours": 1}, "2027-01-01T00:30:00Z"),
        # Clocks change in Europe on that night; the store's do not.
        ("2026-03-28T23:00:00Z", {"hours": 24}, "2026-03-29T23:00:00Z"),
        ("2026-01-01T00:00:00Z", {"days": -1, "hours": 23, "minutes": 61}, "2026-01-01T00:01:00Z"),
        ("2026-01-01T00:00:00Z", {}, "2026-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_shifted_on_the_calendar(time: str, by: dict[str, int], expected: str):
    assert shifted(time, **by) == expected
