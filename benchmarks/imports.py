"""What `import deskgym` and a first episode cost beyond the two packages that the core needs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.measure import Figure

FIRST_EPISODE = "import deskgym; deskgym.make('service/damaged-lamp').reset()"


def _seconds(statement: str) -> float:
    """The fastest of seven fresh interpreters."""
    fastest = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def figures() -> Iterator[Figure]:
    """Measure the import, and the way to the first observation."""
    floor_s = _seconds("import apsw, pydantic; pydantic.BaseModel")
    deskgym_s = _seconds("import deskgym")
    first_s = _seconds(FIRST_EPISODE)
    yield Figure("import apsw and pydantic, with its BaseModel", f"{floor_s:.3f} s")
    yield Figure("import deskgym", f"{deskgym_s:.3f} s")
    yield Figure("  more", f"{deskgym_s - floor_s:.3f} s", "0.1 s")
    yield Figure("import deskgym, make and reset", f"{first_s:.3f} s")
    yield Figure("  more", f"{first_s - floor_s:.3f} s")
