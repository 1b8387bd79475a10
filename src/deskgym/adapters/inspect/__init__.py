"""deskgym in Inspect: a task for each suite, by entry point.

```bash
inspect eval deskgym/service --model openai/MODEL -T task=damaged-lamp -T seeds=0-9
```
"""
# pyright: basic, reportMissingImports=false

from deskgym.errors import MissingExtra

try:
    import inspect_ai as _inspect_ai
except ModuleNotFoundError as _error:
    if _error.name != "inspect_ai":
        raise
    raise MissingExtra("deskgym.adapters.inspect", "inspect") from _error

from deskgym.adapters.inspect.provider import scripted_models
from deskgym.adapters.inspect.scoring import deskgym_scorer, recording_in
from deskgym.adapters.inspect.solver import desk_agent
from deskgym.adapters.inspect.tasks import backoffice, desk_task, service, tickets

del _inspect_ai

__all__ = [
    "backoffice",
    "desk_agent",
    "desk_task",
    "deskgym_scorer",
    "recording_in",
    "scripted_models",
    "service",
    "tickets",
]
