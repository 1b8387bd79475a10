"""`python -m benchmarks [NAME…]`: print the figures, and the bounds that they are held to."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator

import apsw

from benchmarks import (
    adapters,
    backoffice,
    doors,
    evaluation,
    imports,
    memory,
    postgres,
    ray,
    rollouts,
    runstore,
    scaling,
    serve,
    service,
    tickets,
    web,
)
from benchmarks.measure import Figure

BENCHMARKS: dict[str, Callable[[], Iterator[Figure]]] = {
    "import": imports.figures,
    "service": service.figures,
    "backoffice": backoffice.figures,
    "tickets": tickets.figures,
    "memory": memory.figures,
    "evaluation": evaluation.figures,
    "scaling": scaling.figures,
    "runstore": runstore.figures,
    "postgres": postgres.figures,
    "serve": serve.figures,
    "doors": doors.figures,
    "rollouts": rollouts.figures,
    "ray": ray.figures,
    "adapters": adapters.figures,
    "web": web.figures,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, all by default."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)} (known: {', '.join(BENCHMARKS)})")
        return 2
    print(f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}")
    for name in names or BENCHMARKS:
        print(f"\n{name}")
        for figure in BENCHMARKS[name]():
            held_to = "at least" if figure.at_least else "at most"
            bound = f"   ({held_to} {figure.bound})" if figure.bound else ""
            print(f"  {figure.name:<66}{figure.value:>16}{bound}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
