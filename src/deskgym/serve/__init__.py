"""The server: one ASGI app with a door for trainers, one for agents, and two published shapes.

`deskgym serve` runs it; `create_app` makes it for a server of one's own. It needs the packages of
`deskgym[serve]`, which `import deskgym` does not load.
"""

from deskgym.serve.app import create_app
from deskgym.serve.door import Door
from deskgym.serve.service import Service
from deskgym.serve.settings import Settings

__all__ = ["Door", "Service", "Settings", "create_app"]
