"""The measured runs that come with the repository, but not with every copy of it."""

from pathlib import Path

import pytest

RUNS = Path(__file__).parents[1] / "results" / "runs"
needs_runs = pytest.mark.skipif(not RUNS.exists(), reason="there are no measured runs beside this copy")
