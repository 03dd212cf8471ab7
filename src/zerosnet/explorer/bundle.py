"""Join the page's modules into one script, since browsers load no modules from a disk.

The modules are simple on purpose: they import names from files beside them, export declarations, and have no cycles.
Each becomes a function that returns what it exports.
"""

import re
from collections.abc import Mapping

from zerosnet.errors import InputError

_IMPORT = re.compile(r'^import \{ (?P<names>[\w ,]+) \} from "\./(?P<file>[\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<rest>(?:async )?(?:function\*?|class|const|let) (?P<name>\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundle(modules: Mapping[str, str], first: str) -> str:
    """Join modules, given by file name, into a script that does what importing `first` does.

    Raises:
        InputError: A module imports itself in a circle, is missing, or is written in a way that is not understood.
    """
    order: list[str] = []
    _visit(first, modules, order, ())
    return '"use strict";\n(() => {\n' + "".join(_wrapped(name, modules[name]) for name in order) + "})();\n"


def _visit(name: str, modules: Mapping[str, str], order: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise InputError(f"module {name} imports itself, by {' and '.join(above)}; expected no circle")
    if name in order:
        return
    if name not in modules:
        raise InputError(f"module {name} is missing; {above[-1] if above else 'the page'} imports it")
    for match in _IMPORT.finditer(modules[name]):
        _visit(match["file"], modules, order, (*above, name))
    order.append(name)


def _wrapped(name: str, source: str) -> str:
    names = [match["name"] for match in _EXPORT.finditer(source)]
    body = _IMPORT.sub(lambda match: f"const {{ {match['names']} }} = {_variable(match['file'])};\n", source)
    body = _EXPORT.sub(lambda match: match["rest"], body)
    if (left := _LEFT.search(body)) is not None:
        raise InputError(f"module {name} has {left[0][:60]!r}; expected named imports and exported declarations")
    return f"// {name}\nconst {_variable(name)} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();\n"


def _variable(file: str) -> str:
    return "module_" + file.partition(".")[0]
