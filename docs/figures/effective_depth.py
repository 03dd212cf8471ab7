"""Why an unstable network is shallow: the size of the state, and what every block still adds to it, at initialisation.

Measured with `zerosnet.models.diagnosis.measure` on 32 random images, 56 layers, seed 0, batch statistics.
"""

from typing import TYPE_CHECKING

from zerosnet.report.figures.style import BLUE, GREY, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zerosnet.models import Diagnosis

SCHEMES = {
    "1.84, 0.74, 0.74": ("1,1,1;1", VERMILION),
    "λ = −1/2": ("zerosnet(-1/2)", VERMILION),
    "λ = −1/5": ("zerosnet(-1/5)", VERMILION),
    "λ = 1/2": ("zerosnet(1/2)", BLUE),
    "λ = 10": ("zerosnet(10)", BLUE),
    "λ = −9/5": ("zerosnet(-9/5)", BLUE),
}


def diagnosis(scheme: str, model: str = "zerosnet56") -> "Diagnosis":
    import torch

    from zerosnet.models import create_model, diagnose

    images = torch.randn(32, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    return diagnose(create_model(model, scheme=scheme, seed=0), images)


def effective_depth_figure() -> "Figure":
    with styled():
        figure = new_figure(11, 4)
        sizes, shares = figure.subplots(1, 2)
        for (name, (scheme, colour)), marker in zip(SCHEMES.items(), MARKERS):
            blocks = diagnosis(scheme).blocks
            look = {"color": colour, "marker": marker, "markevery": 3, "label": name}
            sizes.plot([block.index for block in blocks], [block.state_rms for block in blocks], **look)
            shares.plot([block.index for block in blocks], [block.ratio for block in blocks], **look)
        shares.axhline(2**-9, color=GREY, linewidth=0.8, linestyle=":")
        shares.text(26.5, 2**-9, "lost in bf16 below", fontsize=7.5, color=GREY, va="bottom", ha="right")
        shares.axhline(2**-25, color=GREY, linewidth=0.8, linestyle=":")
        shares.text(0, 2**-25, "lost in fp32 below", fontsize=7.5, color=GREY, va="bottom")
        for axes, title in (
            (sizes, "Size of the state, rms($y_{n+1}$)"),
            (shares, "What a block adds, rms($\\beta f$) / rms($y_{n+1}$)"),
        ):
            axes.set_yscale("log")
            axes.set_xlabel("block n")
            axes.set_title(title, loc="left")
        sizes.legend(loc="upper left", title="orange: not zero-stable", title_fontsize=8)
    return figure
