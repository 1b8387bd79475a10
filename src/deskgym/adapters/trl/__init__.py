"""TRL: environments whose methods are a suite's tools, and the data set that starts episodes.

```python
from deskgym.adapters.trl import dataset, environment_factory

trainer = GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=dataset("service", range(1000)),
    environment_factory=environment_factory("service"),
)
```
"""
# pyright: basic

from deskgym.adapters.trl.environment import (
    OnFailure,
    environment_factory,
    environment_of,
    record,
    where_judged,
)
from deskgym.adapters.trl.rows import dataset
from deskgym.adapters.unjudged import Unjudged

__all__ = [
    "OnFailure",
    "Unjudged",
    "dataset",
    "environment_factory",
    "environment_of",
    "record",
    "where_judged",
]
