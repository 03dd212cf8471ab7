"""The import rules of the house: imports point one way, and `import zerosnet` is light."""

import ast
import importlib
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
from tests.best import best_of

import zerosnet

SOURCE = Path(zerosnet.__file__).parent

# room -> the rooms it may import directly; it may also import what those may
MAY_IMPORT = {
    "checks": set(),
    "errors": set(),
    "files": set(),
    "environment": set(),
    "lazy": set(),
    "numerics": set(),
    "models": {"numerics"},
    "kernels": {"models"},
    "data": set(),
    "robustness": {"models", "kernels", "data"},
    "training": {"models", "kernels", "data", "robustness"},
    "experiments": {"training", "robustness"},
    "report": {"experiments", "numerics"},
    "explorer": {"numerics", "report"},
}
EVERYWHERE = {"checks", "errors", "environment", "files", "lazy"}
NEVER_IN_NUMERICS = {"torch", "torchvision", "timm", "matplotlib", "sklearn", "scipy"}
DRAWN = {"plots.py": {"matplotlib"}}  # the pictures of values, loaded when `.plot()` is called
HEAVY = ("torch", "torchvision", "timm", "sympy", "matplotlib", "sklearn", "numpy", "typer")


def reachable(room: str) -> set[str]:
    rooms = {room} | EVERYWHERE
    for neighbour in MAY_IMPORT[room]:
        rooms |= reachable(neighbour)
    return rooms


def imported_modules(path: Path, typing_too: bool = True) -> set[str]:
    """List what a file imports; without `typing_too` what type checkers alone read is left out."""
    names = set()
    tree = ast.parse(path.read_text())
    if not typing_too:
        tree.body = [
            node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def files_of(room: str) -> list[Path]:
    single = SOURCE / f"{room}.py"
    return [single] if single.exists() else sorted((SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_one_way(room):
    allowed = reachable(room)
    for path in files_of(room):
        rooms = {name.split(".")[1] for name in imported_modules(path) if name.startswith("zerosnet.")}
        assert rooms - {"__version__"} <= allowed, f"{path.name} imports {rooms - allowed}"


def test_numerics_never_imports_torch_and_friends():
    for path in files_of("numerics"):
        packages = {name.split(".")[0] for name in imported_modules(path, typing_too=False)}
        assert not packages & NEVER_IN_NUMERICS - DRAWN.get(path.name, set()), path.name


def test_numerics_draws_without_loading_matplotlib_before():
    code = (
        "import sys, zerosnet.numerics as n, zerosnet.numerics.plots; f = n.forecast('euler'); n.design(3, 2);"
        "print([repr(f), f._repr_html_()] and 'matplotlib' in sys.modules)"
    )
    assert run(code).strip() == "False"


def rooms() -> list[str]:
    return [path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()]


@pytest.mark.parametrize("room", rooms())
def test_rooms_import_one_another_through_their_init_only(room):
    for path in files_of(room):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("zerosnet."):
                other = node.module.split(".")[1]
                assert other == room or other not in rooms() or node.module == f"zerosnet.{other}", (
                    f"{path.relative_to(SOURCE)}:{node.lineno} imports {node.module}"
                )


@pytest.mark.parametrize("room", sorted(set(rooms()) - {"cli"}))
def test_every_public_name_of_a_room_is_there_and_shadows_no_module(room):
    module = importlib.import_module(f"zerosnet.{room}")
    for name in module.__all__:
        assert not isinstance(getattr(module, name), ModuleType)
        assert not (SOURCE / room / f"{name}.py").exists() and not (SOURCE / room / name).is_dir(), name


@pytest.mark.parametrize("room", sorted(set(rooms()) - {"cli"}))
def test_a_room_is_entered_without_loading_anything_heavy(room):
    code = f"import sys, zerosnet.{room}; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_room_is_missing_from_the_rules():
    rooms = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms - {"__init__", "__main__", "cli"} <= set(MAY_IMPORT)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_zerosnet_is_light():
    loaded = run(f"import sys, zerosnet; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_numerics_works_where_torch_is_not_installed():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'torchvision', 'timm', 'matplotlib', 'scipy']));"
        "import zerosnet.numerics as n; print(n.root_condition(n.Scheme.parse('zerosnet(-9/5)')).zero_stable)"
    )
    assert run(code).strip() == "True"


def test_every_public_name_can_be_loaded():
    for name in zerosnet.__all__:
        assert getattr(zerosnet, name) is not None


def test_help_loads_nothing_heavy():
    heavy = tuple(set(HEAVY) - {"typer"})
    code = (
        "import sys; from zerosnet.cli.main import run; run(['--help']);"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "analyze" in result.stdout
    assert result.stderr.strip() == "[]"


@pytest.mark.timing
def test_help_answers_in_under_half_a_second():
    def once() -> float:
        start = time.perf_counter()
        run("from zerosnet.cli.main import run; run(['--help'])")
        return time.perf_counter() - start

    assert best_of(9, once, 0.5) < 0.5


def test_help_cuts_no_command_short_at_80_columns():
    printed = run("import os; os.environ['COLUMNS'] = '80'\nfrom zerosnet.cli.main import run; run(['--help'])")
    assert "..." not in printed.split("Commands:")[1]


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_rests_while_a_room_loads_and_then_is_as_before(collects):
    code = (
        f"import gc; {'' if collects else 'gc.disable(); '}before = gc.get_stats()[0]['collections'];"
        "from zerosnet.training import train; loading = gc.get_stats()[0]['collections'] - before;"
        "print(loading < 100, gc.isenabled())"
    )
    assert run(code).split() == ["True", str(collects)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("collects", [True, False])
def test_a_process_forked_while_another_thread_loads_collects_garbage_if_its_parent_did(collects):
    code = """
import gc, os, threading
from zerosnet.lazy import _uncollected
COLLECTS or gc.disable()
loads, ended = threading.Event(), threading.Event()
def load():
    with _uncollected():
        loads.set()
        ended.wait()
thread = threading.Thread(target=load)
thread.start()
loads.wait()
child = os.fork()
if child == 0:
    os._exit(gc.isenabled())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ended.set()
thread.join()
print(int(gc.isenabled()))
"""
    assert run(code.replace("COLLECTS", str(collects))).split() == [str(int(collects))] * 2


def test_the_garbage_collector_is_back_after_a_load_that_fails():
    code = "import gc, sys; sys.modules['zerosnet.training.engine'] = None\ntry: from zerosnet.training import train\n"
    assert run(f"{code}except ImportError: print(gc.isenabled())").strip() == "True"


@pytest.mark.parametrize("freezes", [True, False])
def test_modules_are_frozen_only_in_a_process_that_asks_for_it(freezes):
    code = f"import gc; from zerosnet import lazy; lazy.freezes = {freezes}; before = gc.get_freeze_count();"
    assert run(f"{code}from zerosnet.training import train; print(gc.get_freeze_count() > before)").strip() == str(
        freezes
    )


def test_the_command_asks_for_it():
    code = (
        "import sys, zerosnet.__main__ as command, zerosnet.cli.main as main; from zerosnet import lazy;"
        "main.run = lambda: 0 if lazy.freezes else 1; command.main()"
    )
    assert run(code) == ""
