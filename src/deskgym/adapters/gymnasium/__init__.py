"""deskgym's tasks as Gymnasium environments: in text, by a menu, and many at once.

```python
import gymnasium
import deskgym.adapters.gymnasium  # registers the ids

env = gymnasium.make("deskgym/service.damaged-lamp-v0")  # text in, text out
env = gymnasium.make("deskgym/service.damaged-lamp.menu-v0")  # Discrete, with a mask
many = gymnasium.make_vec("deskgym/backoffice.menu-v0", num_envs=64)  # a suite's tasks
```
"""

from deskgym.errors import MissingExtra

try:
    import gymnasium as _gymnasium
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise MissingExtra("deskgym.adapters.gymnasium", "gymnasium") from None

from deskgym.adapters.gymnasium.features import Features
from deskgym.adapters.gymnasium.memory import Memory
from deskgym.adapters.gymnasium.menu import Family, Menu, menu_of
from deskgym.adapters.gymnasium.menu_env import MenuEnv
from deskgym.adapters.gymnasium.registration import env_ids, register_envs
from deskgym.adapters.gymnasium.text_env import AnyText, TextEnv
from deskgym.adapters.gymnasium.vector import MenuVectorEnv, TextVectorEnv

__all__ = [
    "AnyText",
    "Family",
    "Features",
    "Memory",
    "Menu",
    "MenuEnv",
    "MenuVectorEnv",
    "TextEnv",
    "TextVectorEnv",
    "env_ids",
    "menu_of",
    "register_envs",
]

register_envs()
del _gymnasium
