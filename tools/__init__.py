"""Programs for maintainers, run from the root of the repository: `python -m tools.fill_pages`. Not in the wheel."""
