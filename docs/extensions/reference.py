"""The reference pages: a line `::: room NAME` becomes one entry for every public name of that room.

A room's `__init__.pyi` declares its public names and the modules that define them; mkdocstrings documents each name
there. The stub is read, not imported.
"""

import ast
import re
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src"
_ROOM = re.compile(r"^::: room (?P<name>[\w.]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the rooms in the Markdown of a page; MkDocs calls this for every page."""
    return _ROOM.sub(lambda match: "\n\n".join(f"::: {place}" for place in places(match["name"])), markdown)


def places(room: str) -> list[str]:
    """List the places where the public names of a room are defined: functions, then classes, then constants."""
    stub = SOURCE / room.replace(".", "/") / "__init__.pyi"
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    defined = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    ordered = sorted(defined, key=lambda name: (name.isupper(), name[0].isupper(), name.lower()))
    return [defined[name] for name in ordered]
