"""`zerosnet doctor`: what is here, what is missing, and what for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from zerosnet.cli.main import app


@app.command(short_help="Show what is installed and found here, and what is missing.")
def doctor(
    data: Annotated[str | None, typer.Option(metavar="DIR", help="A folder to look for data sets in.")] = None,
    store: Annotated[str, typer.Option(help="The folder that holds the runs.")] = "runs",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Show versions, devices and the engine that each gets, optional parts, data sets, and the store.

    Data sets are read as a whole, so that a damaged file is found.
    """
    from zerosnet.errors import InputError

    if data is not None and not Path(data).is_dir():
        raise InputError(f"--data is {data}, which is no folder")
    import torch  # so that GPUs are in the environment  # noqa: F401

    from zerosnet.cli import checkup
    from zerosnet.environment import environment

    found = {
        "environment": environment(),
        "devices": checkup.devices(),
        "extras": checkup.extras(),
        "data": None if data is None else checkup.data_sets(Path(data)),
        "store": checkup.store(Path(store)),
    }
    if json:
        import json as encoder

        print(encoder.dumps(found, indent=2))
        return
    _show(found, data)


def _show(found: dict[str, Any], data: str | None) -> None:
    from zerosnet.cli.output import print_facts, print_table

    environment = found["environment"]
    packages = {"Python": environment["python"], **environment["packages"]}
    print_facts(
        f"zerosnet {environment['zerosnet']}",
        [
            ("versions", ", ".join(f"{name} {version}" for name, version in packages.items() if version)),
            ("missing", ", ".join(name for name, version in packages.items() if not version) or "nothing"),
            ("system", environment["platform"]),
            ("processor", f"{environment['cpu']['model']}, {environment['cpu']['cores']} cores"),
        ],
    )
    print()
    rows = [[row[key] for key in ("device", "name", "engine", "why")] for row in found["devices"]]
    print_table("Training", ("device", "", "engine", "why"), rows)
    print()
    rows = [[row["extra"], "yes" if row["installed"] else "no", row["for"], row["remedy"]] for row in found["extras"]]
    print_table("Optional parts", ("extra", "here", "for", "to get it"), rows)
    print()
    if found["data"] is None:
        print("Data sets: digits is always there; for others give --data DIR.")
    else:
        rows = [[row["dataset"], row["state"], row["remark"]] for row in found["data"]]
        print_table(f"Data sets in {data}", ("data set", "here", "remark"), rows)
    store = found["store"]
    print(f"\nStore {store['folder']}: {store['runs']} runs, {'can' if store['writable'] else 'CANNOT'} be written")
