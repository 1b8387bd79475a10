"""The client: episodes on a server, with the interface that they have in this process.

```python
env = deskgym.make("service/damaged-lamp")
env = deskgym.Client("http://127.0.0.1:8000").make("service/damaged-lamp")
```

It needs httpx: `pip install 'deskgym[client]'`.
"""

from deskgym.errors import MissingExtra

try:
    import httpx as _httpx  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as error:
    raise MissingExtra("deskgym.Client", "client") from error

from deskgym.client.asynchronous import AsyncClient, AsyncServedEnvironment
from deskgym.client.calls import RecordingPage, ReplayResult, TaskSpec
from deskgym.client.synchronous import Client, ServedEnvironment

__all__ = [
    "AsyncClient",
    "AsyncServedEnvironment",
    "Client",
    "RecordingPage",
    "ReplayResult",
    "ServedEnvironment",
    "TaskSpec",
]
