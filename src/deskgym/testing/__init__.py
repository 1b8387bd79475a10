"""The conformance suite that every task passes, ours or yours.

```python
from deskgym.testing import assert_conforms

assert_conforms("service/damaged-lamp")
```

In a package's tests one line is enough: `test_conforms = conformance_test("returns-desk")`.
"""

from deskgym.testing.conformance import (
    CHECKS,
    assert_conforms,
    cases,
    check_conformance,
    conformance_test,
)
from deskgym.testing.finding import ConformanceCheck, Finding
from deskgym.testing.gate import GateResult, KindResult, gate
from deskgym.testing.subject import SEEDS

__all__ = [
    "CHECKS",
    "SEEDS",
    "ConformanceCheck",
    "Finding",
    "GateResult",
    "KindResult",
    "assert_conforms",
    "cases",
    "check_conformance",
    "conformance_test",
    "gate",
]
