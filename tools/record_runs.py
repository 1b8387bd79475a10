"""Makes the recorded runs that come with the back office: `python tools/record_runs.py`.

Two agents, eight tasks and three seeds are 48 runs. The tests replay each of them.
"""

from __future__ import annotations

from deskgym.agents import OF_SUITE
from deskgym.evaluate import EpisodeSpec, run_episodes
from deskgym.recording import shipped
from deskgym.suite import load_suite

SUITE = "backoffice"
SEEDS = (1, 2, 3)


def main() -> None:
    """Run and write them anew."""
    specs = [
        EpisodeSpec(f"{SUITE}/{task.name}", agent, seed)
        for agent in OF_SUITE[SUITE]
        for task in load_suite(SUITE).tasks
        for seed in SEEDS
    ]
    lines = [recording.to_json() for recording in run_episodes(specs)]
    shipped(SUITE).write_bytes(b"\n".join(lines) + b"\n")
    print(f"{len(lines)} runs in {shipped(SUITE).name}, {sum(map(len, lines)) / 1000:,.0f} KB")


if __name__ == "__main__":
    main()
