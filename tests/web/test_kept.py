"""What is kept: worked out once at a time, a bounded number of results, no failures."""

from __future__ import annotations

import asyncio
import threading

import pytest

from deskgym.web.kept import Kept


def test_who_asks_together_shares_one_result() -> None:
    calls: list[int] = []
    gate = threading.Event()

    def work() -> int:
        calls.append(1)
        assert gate.wait(10)
        return len(calls)

    async def ask() -> list[int]:
        kept = Kept()
        asked = [asyncio.ensure_future(kept.get("board", 1, work)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
        return [*await asyncio.gather(*asked), await kept.get("board", 1, work)]

    assert asyncio.run(ask()) == [1] * 6


def test_other_pages_are_answered_meanwhile() -> None:
    gate = threading.Event()

    async def ask() -> bool:
        kept = Kept()
        slow = asyncio.ensure_future(kept.get("board", 1, lambda: gate.wait(10)))
        await asyncio.sleep(0)  # would not come back if the loop were held up
        gate.set()
        return await slow

    assert asyncio.run(ask()) is True


def test_who_leaves_takes_no_result_from_others() -> None:
    gate = threading.Event()

    async def ask() -> str:
        kept = Kept()
        leaving = asyncio.ensure_future(kept.get("run", 1, lambda: gate.wait(10) and "done"))
        staying = asyncio.ensure_future(kept.get("run", 1, lambda: "again"))
        await asyncio.sleep(0)
        leaving.cancel()
        gate.set()
        return str(await staying)

    assert asyncio.run(ask()) == "done"


def test_the_ones_asked_for_longest_ago_go_first() -> None:
    async def ask() -> list[int]:
        kept = Kept(2)
        made: list[int] = []

        async def get(key: int) -> None:
            await kept.get("run", key, lambda: made.append(key))

        for key in (1, 2, 1, 3, 1, 2):
            await get(key)
        return made

    assert asyncio.run(ask()) == [1, 2, 3, 2]


def test_kinds_do_not_push_each_other_out() -> None:
    async def ask() -> list[str]:
        kept = Kept(1)
        made: list[str] = []
        for kind in ("run", "board", "run", "board"):
            await kept.get(kind, 1, lambda kind=kind: made.append(kind))
        return made

    assert asyncio.run(ask()) == ["run", "board"]


def test_a_failure_is_raised_and_not_kept() -> None:
    async def ask() -> str:
        kept = Kept()
        with pytest.raises(ZeroDivisionError):
            await kept.get("run", 1, lambda: 1 // 0)
        return await kept.get("run", 1, lambda: "well")

    assert asyncio.run(ask()) == "well"
