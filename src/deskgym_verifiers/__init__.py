"""The name by which verifiers finds deskgym: `vf-eval deskgym-verifiers`.

verifiers imports a plugin by the top-level module that its id names. What is here is
`deskgym.adapters.verifiers`; use that in programs.
"""

from deskgym.adapters.verifiers import (
    DeskgymEnv,
    DeskgymHarness,
    DeskgymTaskset,
    load_environment,
)

__all__ = ["DeskgymEnv", "DeskgymHarness", "DeskgymTaskset", "load_environment"]
