"""What perturbations do: noises, attacks and protocols, as functions of a network and images.

Images are in [0, 1] everywhere; a network's normalisation is inside it (`Normalised`). Nothing here knows of runs.
"""

from zerosnet.robustness.attacks import Attack, AttackOutcome, attack_images, climb, fgsm, pgd
from zerosnet.robustness.checks import sanity_checks
from zerosnet.robustness.corruptions import Corruptions, find_corruptions
from zerosnet.robustness.measures import ProtocolOptions
from zerosnet.robustness.noises import PAPER_NOISES, Noise, add_noise, constant, gaussian, random_signs, uniform
from zerosnet.robustness.normalised import Normalised, frozen
from zerosnet.robustness.protocols import PROTOCOLS, Protocol, protocol, run_protocol
from zerosnet.robustness.result import Check, ProtocolResult, ResultRow
from zerosnet.robustness.subject import Subject, subject, under_attack, under_noises, under_transfer

__all__ = [
    "PAPER_NOISES",
    "PROTOCOLS",
    "AttackOutcome",
    "Attack",
    "Check",
    "Corruptions",
    "Noise",
    "Normalised",
    "ProtocolOptions",
    "Protocol",
    "ProtocolResult",
    "ResultRow",
    "Subject",
    "add_noise",
    "attack_images",
    "climb",
    "constant",
    "fgsm",
    "find_corruptions",
    "frozen",
    "gaussian",
    "pgd",
    "protocol",
    "random_signs",
    "run_protocol",
    "sanity_checks",
    "subject",
    "under_attack",
    "under_noises",
    "under_transfer",
    "uniform",
]
