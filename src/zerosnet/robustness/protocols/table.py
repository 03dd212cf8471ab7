"""The protocols, as values: what is measured, and notes on how to read the numbers.

The paper's own (`paper-*`) run as they were; those that a reviewer of today would ask for stand beside them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from zerosnet.errors import InputError, did_you_mean
from zerosnet.robustness.attacks.autoattack import require_autoattack
from zerosnet.robustness.attacks.sanity import sanity_checks
from zerosnet.robustness.perturbations.corruptions import NotGiven
from zerosnet.robustness.protocols import measures
from zerosnet.robustness.protocols.attacked import Subject
from zerosnet.robustness.protocols.measures import ProtocolOptions
from zerosnet.robustness.protocols.names import SMOOTHING, sigma_of
from zerosnet.robustness.protocols.result import Measurement, ProtocolResult, rows_of
from zerosnet.robustness.smoothing import IMAGES

DEPTH = "the paper does not state the depth of its networks; 56 layers is our reading"


@dataclass(frozen=True)
class Protocol:
    """A protocol and how it is measured.

    dataset       the paper's; a run of any data set can be used
    recipe        what the paper's networks were trained with; None for protocols that are not the paper's
    adversarial   its numbers come with sanity checks
    surrogate     it needs a second network, on which examples are made
    fused         it can take several networks at once
    images        the number of images unless an option tells otherwise; None for all
    restarts      it makes restarts, whose number is an option
    radii         its eps is an option
    passes        the passes of an image that it takes at most; None if they were not counted
    corrupted     it reads corrupted images from files if there are any
    samples       it draws noisy samples, whose number is an option
    ready         called before any work; raises an error if something is missing
    notes_on      notes that depend on the options
    """

    name: str
    what: str
    measure: Callable[[Subject, ProtocolOptions], list[Measurement]]
    notes: tuple[str, ...] = ()
    dataset: str = "cifar10"
    recipe: str | None = None
    adversarial: bool = True
    surrogate: bool = False
    fused: bool = True
    images: int | None = None
    restarts: bool = False
    radii: bool = False
    passes: Callable[[ProtocolOptions], int] | None = None
    corrupted: bool = False
    samples: bool = False
    ready: Callable[[], object] = lambda: None
    notes_on: Callable[[ProtocolOptions], tuple[str, ...]] = lambda options: ()


_ALL = (
    Protocol(
        name="paper-noise",
        what="uniform, Gaussian and constant noise, all levels of the appendix",
        measure=measures.paper_noise,
        notes=("images in [0, 1], clipped after injection, normalised inside the network: our reading",),
        recipe="paper",
        adversarial=False,
        passes=measures.noise_passes,
    ),
    Protocol(
        name="paper-fgsm",
        what="FGSM on 100 images as in the paper, and on all of them",
        measure=measures.paper_fgsm,
        notes=(
            "the paper's eps are for inputs in [-1, 1]; in [0, 1] they are half",
            "the paper used 100 random test images; which ones is not known, ours are chosen by seed 1",
            DEPTH,
        ),
        dataset="mnist",
        recipe="mnist-fgsm",
        passes=measures.fgsm_passes,
    ),
    Protocol(
        name="paper-pgd",
        what="PGD examples made on a surrogate, as in the source the paper follows; white-box PGD beside them",
        measure=measures.paper_pgd,
        notes=(
            "a transfer test, not white-box robustness; without projection it reaches 7/4 eps",
            "the paper does not name its surrogate; ours is PreResNet-20, trained normally with seed 1",
            "the paper does not state the number of steps at test time; ours is 7, as in training",
            DEPTH,
        ),
        recipe="pgd-paper",
        surrogate=True,
        passes=measures.pgd_passes,
    ),
    Protocol(
        name="pgd-whitebox",
        what="PGD-20 and PGD-50, step eps/4, five restarts, on the network itself, at 0.25/255 to 8/255",
        measure=measures.pgd_whitebox,
        restarts=True,
        radii=True,
        passes=measures.whitebox_passes,
    ),
    Protocol(
        name="autoattack",
        what="AutoAttack, standard version, L-infinity 8/255; needs `pip install pyautoattack`",
        measure=measures.autoattack,
        fused=False,
        radii=True,
        ready=require_autoattack,
    ),
    Protocol(
        name="corruptions",
        what="common corruptions at five severities: CIFAR-10-C or the like from npy files, or else made by code",
        measure=measures.corruptions,
        adversarial=False,
        passes=measures.corruption_passes,
        corrupted=True,
        notes_on=measures.corruption_notes,
    ),
    Protocol(
        name=SMOOTHING,
        what="randomised smoothing by noise of 0.25: certified accuracy over L2 radii, 500 images, 10,000 samples",
        measure=measures.smoothing,
        notes=(
            "certificates of the smoothed network, each wrong with probability 0.001; for networks of recipe noise",
            "radii are in the L2 norm of images of [0, 1]; an answer that is not certain is an abstention",
        ),
        adversarial=False,
        images=IMAGES,
        passes=measures.smoothing_passes,
        samples=True,
    ),
)
PROTOCOLS = {protocol.name: protocol for protocol in _ALL}


def protocol(name: str) -> Protocol:
    """Find a protocol by name; smoothing has one for every noise, such as `smoothing-0.5`."""
    sigma = sigma_of(name) if isinstance(name, str) and name not in PROTOCOLS else None
    if sigma is not None:
        return replace(PROTOCOLS[SMOOTHING], name=name, measure=partial(measures.smoothing, sigma=sigma))
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise InputError(f"protocol is {name!r}{did_you_mean(name, PROTOCOLS)}; expected one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def run_protocol(
    name: str, target: Subject, options: ProtocolOptions | None = None, *, known: Sequence[float | None] | None = None
) -> list[ProtocolResult]:
    """Run a protocol on a subject; one result per replica.

    `known` is the clean accuracy that training measured for each replica on the same images: a sanity check.
    """
    chosen, options = protocol(name), options or ProtocolOptions()
    chosen.ready()
    if chosen.surrogate and target.surrogate is None:
        raise InputError(f"protocol {name} makes its examples on a surrogate, and there is none")
    if not chosen.fused and target.replicas > 1:
        raise InputError(f"protocol {name} takes one network at a time, not {target.replicas} fused ones")
    if known is not None and len(known) != target.replicas:
        raise InputError(f"known has {len(known)} accuracies; expected one per network: {target.replicas}")
    part = target.chosen(options.images or chosen.images)
    expected = known if known is not None and part is target else [None] * target.replicas
    settings = {"images": len(part), "of": len(target), "classes": target.num_classes}
    try:
        measured = chosen.measure(part, options)
    except NotGiven as missing:
        return [ProtocolResult(name, notes=chosen.notes, settings=settings, not_run=str(missing))] * target.replicas
    results, notes = [], (*chosen.notes, *chosen.notes_on(options))
    for replica in range(target.replicas):
        rows = rows_of(measured, replica)
        checks = sanity_checks(rows, target.num_classes, expected[replica]) if chosen.adversarial else ()
        results.append(ProtocolResult(name, rows, checks, notes, settings))
    return results
