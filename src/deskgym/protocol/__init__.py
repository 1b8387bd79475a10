"""The raw-text tool protocol, for models without native tool calling.

```
<tool_call>{"name": "get_order", "arguments": {"order_id": "S-410"}}</tool_call>
```

`catalogue` teaches it to a model, `parse` reads what the model wrote, `Stream` reads it while it
is being written, and `format_result` and `format_error` write what goes back.
"""

from deskgym.protocol.catalogue import catalogue
from deskgym.protocol.message import format_call, format_error, format_result
from deskgym.protocol.parsed import (
    CALL_CHARACTERS_MAX,
    DEPTH_MAX,
    ERROR_CODES,
    NUMBER_CHARACTERS_MAX,
    STOP_SEQUENCE,
    CallError,
    Parsed,
)
from deskgym.protocol.reading import read_native_call
from deskgym.protocol.stream import Stream, parse

__all__ = [
    "CALL_CHARACTERS_MAX",
    "DEPTH_MAX",
    "ERROR_CODES",
    "NUMBER_CHARACTERS_MAX",
    "STOP_SEQUENCE",
    "CallError",
    "Parsed",
    "Stream",
    "catalogue",
    "format_call",
    "format_error",
    "format_result",
    "parse",
    "read_native_call",
]
