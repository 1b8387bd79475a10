"""The ids in Gymnasium's registry: each task and each suite, in text and by a menu."""

from __future__ import annotations

from typing import Final

import gymnasium

from deskgym.suite import load_suite, suite_names

NAMESPACE: Final = "deskgym"
_MODULE: Final = "deskgym.adapters.gymnasium"
_KINDS: Final = {
    "": ("text_env:TextEnv", "vector:TextVectorEnv"),
    ".menu": ("menu_env:MenuEnv", "vector:MenuVectorEnv"),
}


def env_ids() -> tuple[str, ...]:
    """Every id of deskgym in the registry, such as `deskgym/service.damaged-lamp.menu-v0`."""
    return tuple(name for name, spec in gymnasium.registry.items() if spec.namespace == NAMESPACE)


def register_envs() -> None:
    """Register every task of every suite that is installed, and every suite. It can be repeated.

    `.menu` is the discrete variant. A suite's id draws a task for each episode.
    """
    for suite_name in suite_names():
        suite = load_suite(suite_name)
        ids = [suite_name, *(f"{suite_name}/{task.name}" for task in suite.tasks)]
        for task in ids:
            for suffix, (single, vector) in _KINDS.items():
                name = f"{NAMESPACE}/{task.replace('/', '.')}{suffix}-v0"
                if name not in gymnasium.registry:
                    gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
                        name,
                        entry_point=f"{_MODULE}.{single}",
                        vector_entry_point=f"{_MODULE}.{vector}",
                        kwargs={"task": task},
                    )
