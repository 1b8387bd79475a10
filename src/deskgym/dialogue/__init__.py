"""Dialogue: an agent and a customer through one episode, within budgets, with one result.

```python
async with open_agent("openai:MODEL", options) as agents:
    agent = agents.agent_for(environment.suite, environment.task)
    episode = await play_dialogue(environment, agent, seed=0)
```
"""

from deskgym.dialogue.episode import PlayedEpisode, Termination
from deskgym.dialogue.limits import Limits
from deskgym.dialogue.play import play_dialogue

__all__ = ["Limits", "PlayedEpisode", "Termination", "play_dialogue"]
