"""The audit: attacks on our own rewards. High reward must mean solved.

```python
from deskgym.audit import audit

report = audit(["returns-desk"], seeds=range(20))
assert not report.findings, report.findings[0]
```
"""

from deskgym.audit.attack import Attack, Target
from deskgym.audit.attacks import ATTACKS
from deskgym.audit.checklist import Assessment
from deskgym.audit.finding import Finding, Section, Table
from deskgym.audit.page import page
from deskgym.audit.report import Report, audit, audit_suite

__all__ = [
    "ATTACKS",
    "Assessment",
    "Attack",
    "Finding",
    "Report",
    "Section",
    "Table",
    "Target",
    "audit",
    "audit_suite",
    "page",
]
