"""`/openenv/{suite}`: every suite as an OpenEnv environment, and each alone at the root.

OpenEnv brings FastAPI and Gradio and takes seconds to import, so it is imported while the server
already answers; a suite that is served alone imports it before it answers anything.
"""

from deskgym.serve.openenv.door import door

__all__ = ["door"]
