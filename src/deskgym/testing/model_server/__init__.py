"""A scripted model server, for tests of agents and evaluations without a model.

It speaks Chat Completions and Messages over real HTTP on loopback, streaming or not, and answers
with what a function of the request says: words, calls, delays, errors and garbage.

```python
with ModelServer(play_script(task.control("oracle").script)) as server:
    options = AgentOptions(ModelOptions(base_url=server.url("openai"), api_key="any"))
    async with open_agent("openai:scripted", options) as agents:
        ...
```
"""

from deskgym.testing.model_server.player import (
    Player,
    Script,
    play_controls,
    play_script,
    playback,
    read_replies,
    with_faults,
)
from deskgym.testing.model_server.reply import Drop, Fail, Half, RawCall, Reply, Say, Send, Stall
from deskgym.testing.model_server.request import ModelRequest, Provider
from deskgym.testing.model_server.server import ModelServer

__all__ = [
    "Drop",
    "Fail",
    "Half",
    "ModelRequest",
    "ModelServer",
    "Player",
    "Provider",
    "RawCall",
    "Reply",
    "Say",
    "Script",
    "Send",
    "Stall",
    "play_controls",
    "play_script",
    "playback",
    "read_replies",
    "with_faults",
]
