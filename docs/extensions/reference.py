"""The reference pages: a line `::: room NAME` becomes one entry for every public name of that room.

Public is what a room's `__init__` lists in `__all__`, and each name is documented where it is defined: several modules
bear the name of the function in them (`design.design`), which no tool tells apart by the room's name alone. The source
is read, not imported.
"""

import ast
import re
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src"
_ROOM = re.compile(r"^::: room (?P<name>[\w.]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs with the Markdown of every page."""
    return _ROOM.sub(lambda match: "\n\n".join(f"::: {place}" for place in places(match["name"])), markdown)


def places(room: str) -> list[str]:
    """Where the public names of a room are defined: functions, then classes, then constants."""
    tree = ast.parse((SOURCE / room.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    assigned = {
        getattr(node.targets[0], "id", ""): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    defined = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    late = {name: f"{module}.{name}" for name, module in assigned.get("_LATE", {}).items()}  # loaded on first use
    ordered = sorted(assigned["__all__"], key=lambda name: (name.isupper(), name[0].isupper(), name.lower()))
    return [(defined | late)[name] for name in ordered]
