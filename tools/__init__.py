"""Programs for maintainers, run from the root of the repository: `python -m tools.page_numbers`. Not in the wheel."""
