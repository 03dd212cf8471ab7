"""The explorer as a live page of the site: `live/index.html`, computed while the site is built.

`ZEROSNET_LIVE_STEP` is the step of its sliders; a coarser one is computed sooner.
"""

import os
import tempfile
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from zerosnet.explorer import export_page

STEP = "1/20"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page; MkDocs calls this with the files of the site."""
    folder = exported(os.environ.get("ZEROSNET_LIVE_STEP", STEP))
    for path in sorted(folder.rglob("*.*")):
        files.append(File.generated(config, f"live/{path.relative_to(folder).as_posix()}", abs_src_path=str(path)))
    return files


@cache
def exported(step: str) -> Path:
    """Compute the page once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="zerosnet-live-"))
    export_page(folder, step)
    return folder
