"""The agent's door: one episode's tools over the Model Context Protocol.

Over HTTP at `/episodes/{id}/mcp` with a token that belongs to the episode, and over stdio with
`deskgym mcp`. It shows what an agent may see: tools, the policy, the customer's words and what each
call found or did. The reward, its checks and the state of the world are the trainer's.
"""

from deskgym.serve.mcp.door import door

__all__ = ["door"]
