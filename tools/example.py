"""The example package of docs/writing-a-task.md: its files as Markdown, and how to install it.

The page takes each file from here, so it shows what the tests run.
"""

import os
import shutil
import sys
import tomllib
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "returns_desk"
LANGUAGES = {".py": "python", ".toml": "toml"}


def shown(name: str) -> str:
    """A file of the package as a Markdown block."""
    path = FOLDER / name
    return f"```{LANGUAGES[path.suffix]}\n{path.read_text('utf-8').strip()}\n```"


project = partial(shown, "pyproject.toml")
tools = partial(shown, "src/returns_desk/tools.py")
rubric = partial(shown, "src/returns_desk/rubric.py")
shop = partial(shown, "src/returns_desk/shop.py")
task = partial(shown, "src/returns_desk/tasks/cracked_mug.py")
suite = partial(shown, "src/returns_desk/__init__.py")
test = partial(shown, "tests/test_returns_desk.py")


def tree() -> str:
    """The package's files as a Markdown block."""
    files = sorted(
        path.relative_to(FOLDER)
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix in LANGUAGES and "__pycache__" not in path.parts
    )
    lines = ["returns_desk/"]
    seen: set[Path] = set()
    for path in sorted(files, key=lambda path: (len(path.parts) > 1, path)):
        for parent in [*path.parents][-2::-1]:
            if parent not in seen:
                seen.add(parent)
                lines.append(f"{'  ' * len(parent.parts)}{parent.name}/")
        lines.append(f"{'  ' * len(path.parts)}{path.name}")
    return "\n".join(("```text", *lines, "```"))


def install(folder: Path) -> None:
    """Put the package into a folder as an installer leaves it, without a network or a build."""
    facts = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(FOLDER / "src", folder, dirs_exist_ok=True, ignore=ignored)
    name, version = facts["name"], facts["version"]
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, points in facts["entry-points"].items():
        lines += [f"[{group}]", *(f"{point} = {place}" for point, place in points.items()), ""]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


def installed() -> str:
    """The command that installs the package; it is there for the rest of the page."""
    folder = Path.cwd() / "site-packages"
    install(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    return "```console\n$ pip install --editable returns_desk\n```"


def checks() -> str:
    """The conformance checks as a Markdown table."""
    from deskgym.testing import CHECKS

    rows = [f"| `{check.name}` | {check.sentence} |" for check in CHECKS]
    return "\n".join(("| check | what has to be so |", "|---|---|", *rows))
