import pytest

from zerosnet.errors import InputError
from zerosnet.explorer.bundle import bundle

TOOLS = """import { base } from "./base.js";
export const twice = (x) => base * x;
export class Box {}
export async function ask() {}
"""
MODULES = {
    "main.js": 'import { twice, Box } from "./tools.js";\nnew Box(twice(2));\n',
    "tools.js": TOOLS,
    "base.js": "export const base = 2;\n",
}


def test_modules_stand_before_those_that_import_them() -> None:
    script = bundle(MODULES, "main.js")
    places = [script.index(f"// {name}") for name in ("base.js", "tools.js", "main.js")]
    assert places == sorted(places)
    assert "const { twice, Box } = module_tools;" in script
    assert "return { twice, Box, ask };" in script
    assert "import" not in script and "export" not in script


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ({"main.js": 'import { a } from "./main.js";\n'}, "imports itself"),
        ({"main.js": 'import { a } from "./lost.js";\n'}, "lost.js is missing"),
        ({"main.js": "export default 1;\n"}, "expected named imports"),
        ({"main.js": 'import * as all from "./base.js";\n', "base.js": ""}, "expected named imports"),
    ],
)
def test_what_is_not_understood_is_named(modules: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        bundle(modules, "main.js")
