"""Photograph the first screen of the report for the docs: python docs/figures/report_page.py (needs Chromium)"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from zerosnet.report import write_report

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "docs" / "images" / "report.png"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--window-size=1040,1400",
]


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(Path(folder) / "report.html", [ROOT / "results" / "runs"])
        page.write_text(page.read_text(encoding="utf-8").replace(str(ROOT) + "/", ""), encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", f"--screenshot={IMAGE}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
    print(f"docs/images/{IMAGE.name}")


if __name__ == "__main__":
    main()
