"""Put together the folder of a Hugging Face Space, or of any other place that builds an image.

    python tools/space.py openenv-service build/space

The folder holds the package's sources beside the Space's own files, so `docker build` and
`openenv validate` work in it as they stand.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SPACES: Final = ROOT / "spaces"
SOURCES: Final = ("pyproject.toml", "LICENSE")
IGNORED: Final = shutil.ignore_patterns("__pycache__", "*.pyc")


def assemble(space: str, folder: Path) -> None:
    """Write the folder of a space.

    Raises:
        ValueError: there is no such space, or the folder is there and not empty.
    """
    known = sorted(path.name for path in SPACES.iterdir() if path.is_dir())
    if space not in known:
        raise ValueError(f"there is no space {space!r} (known: {', '.join(known)})")
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty")
    shutil.copytree(SPACES / space, folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "src", folder / "src", ignore=IGNORED)
    for name in SOURCES:
        shutil.copy(ROOT / name, folder / name)


def main() -> None:
    """Run the command line."""
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/space.py SPACE FOLDER")
    try:
        assemble(sys.argv[1], Path(sys.argv[2]))
    except ValueError as error:
        sys.exit(f"space: {error}")


if __name__ == "__main__":
    main()
