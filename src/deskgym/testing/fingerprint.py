"""Fingerprints of a task's episodes, to compare what two processes make of them."""

from __future__ import annotations

import sys
from hashlib import sha256

import orjson

from deskgym.testing.subject import Subject, subjects
from deskgym.testing.trace import Moment


def fingerprints(subject: Subject) -> list[list[str]]:
    """A short hash of each moment of each episode, in order."""
    return [
        [_fingerprint(moment) for moment in episode.trace.moments] for episode in subject.episodes
    ]


def _fingerprint(moment: Moment) -> str:
    action = b"" if moment.action is None else moment.action.to_json()
    changes = orjson.dumps([change.to_dict() for change in moment.changes])
    parts = (action, moment.observation, changes, moment.digest.encode(), *moment.scores)
    return sha256(b"\n".join(parts)).hexdigest()[:16]


def main() -> None:
    """Print the fingerprints of a task, named with its seeds by the arguments, as JSON."""
    (subject,) = subjects(sys.argv[1], [int(seed) for seed in sys.argv[2:]])
    sys.stdout.buffer.write(orjson.dumps(fingerprints(subject)))
