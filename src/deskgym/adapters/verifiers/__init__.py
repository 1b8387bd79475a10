"""deskgym in verifiers (0.4 and later, its v1 API): a taskset, a harness and an environment.

```python
from deskgym.adapters.verifiers import load_environment

environment = load_environment("service/damaged-lamp", seeds="0-99")
```

`vf-eval deskgym-verifiers` finds the same by its name. Everything runs in the trainer's process;
only the model's calls go over verifiers' interception, so that its trace holds them.
"""
# pyright: basic, reportMissingImports=false

from deskgym.errors import MissingExtra

try:
    import verifiers.v1 as _v1
except ModuleNotFoundError as _error:
    if _error.name not in ("verifiers", "verifiers.v1"):
        raise
    raise MissingExtra("deskgym.adapters.verifiers", "verifiers") from _error

from deskgym.adapters.verifiers.environment import (
    DeskgymEnv,
    DeskgymEnvConfig,
    load_environment,
)
from deskgym.adapters.verifiers.harness import (
    CustomerConfig,
    DeskgymHarness,
    DeskgymHarnessConfig,
)
from deskgym.adapters.verifiers.saved import recordings
from deskgym.adapters.verifiers.taskset import (
    DeskgymData,
    DeskgymTask,
    DeskgymTaskset,
    DeskgymTasksetConfig,
)

del _v1

__all__ = [
    "CustomerConfig",
    "DeskgymData",
    "DeskgymEnv",
    "DeskgymEnvConfig",
    "DeskgymHarness",
    "DeskgymHarnessConfig",
    "DeskgymTask",
    "DeskgymTaskset",
    "DeskgymTasksetConfig",
    "load_environment",
    "recordings",
]
