"""Write a data set for NeMo Gym: `python make_rows.py service --seeds 1000 > data/train.jsonl`."""

from __future__ import annotations

import argparse
import json
import sys

from deskgym.adapters.nemo_gym import rows


def main() -> None:
    """Write a line for each task and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+", help="ids of tasks, and suites for all of theirs")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from the first")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    for row in rows(asked.tasks, range(asked.first, asked.first + asked.seeds)):
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
