import getpass
import json
import subprocess
import sys
from pathlib import Path

from zerosnet.environment import environment


def test_environment_is_json_and_names_what_a_result_depends_on():
    record = environment()
    assert json.loads(json.dumps(record)) == record
    assert record["packages"]["torch"] and record["cpu"]["cores"] >= 1
    assert record["python"].split(".")[0] == "3"


def test_environment_holds_no_paths_and_no_user_names():
    record = environment()
    record["packages"] = record["cpu"] = None
    text = json.dumps(record)
    assert str(Path.home()) not in text
    user = getpass.getuser()
    assert f'"{user}"' not in text and f"/{user}/" not in text
    assert str(Path(__file__).resolve().parents[1]) not in text


def test_environment_does_not_load_heavy_packages():
    code = (
        "import sys; from zerosnet.environment import environment; environment();"
        "print([m for m in ('torch', 'timm', 'sklearn', 'triton', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
