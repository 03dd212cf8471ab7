"""The paper's tables as its own source has them, found anew: what the transcription is held against."""

import re
from pathlib import Path

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "paper.tex"

LABELS = {
    "table-preresnet-alpha": "1OrderAcc",
    "table-lmresnet-k": "tab:2ndAcc",
    "table-zerosnet-cifar10": "tab:ZeroSNetC10",
    "table-comparison": "tab:CompC",
    "table-imagenet": "tab:CompI",
    "table-robustness": "tab:Rob",
    "table-uniform-noise": "tab:RandTest",
    "table-gaussian-noise": "tab:RandnTest",
    "table-constant-noise": "tab:ConstTest",
    "table-pgd": "tab:PGDC10",
    "table-fgsm": "tab:FGSMMNIST",
    "table-generalisation-gap": "tab:GeneralizationC100",
    "table-parameters": "tab:Parameters",
    "table-run-time": "tab:time",
    "table-coefficients": "tab:Mapping",
}
_TABULAR = re.compile(r"\\begin\{tabular\}\{[^\n]*\}\n(.*?)\\end\{tabular\}.*?\\label\{([^}]*)\}", re.DOTALL)
_WORDS = {r"\alpha": "alpha", r"\beta": "beta", r"\delta": "delta", r"\epsilon": "eps", r"\mu": "mu"}


def tables_of_the_paper() -> dict[str, list[list[str]]]:
    """Label -> rows of cells, the header first; accents, dollars and layout gone, bold as **x**."""
    found = {}
    for body, label in _TABULAR.findall(PAPER.read_text()):
        rows = [[_cell(cell) for cell in row.split("&")] for row in body.replace(r"\hline", "").split(r"\\")]
        found[label] = [row for row in rows if any(row)]
    return found


def _cell(text: str) -> str:
    text = text.replace(r"\boldmath{}", "").replace(r"\unboldmath{}", "")
    text = re.sub(r"\\textbf\{([^{}]*)\}", r"**\1**", text)
    text = text.replace("$^{*}$", "*").replace(r"$^{\dagger}$", "†").replace(r"$^{*{\dagger}}$", "*†")
    text = text.replace(r"$\pm$", "±").replace(r"\%", "%").replace(r"\#", "#")
    for command, word in _WORDS.items():
        text = text.replace(command, word)
    return " ".join(text.replace("$", "").split())
