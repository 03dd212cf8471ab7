"""The reasons why a machine or a network has no kernels."""

import torch

from zerosnet.kernels.chips import CHIPS, IMAGE, WIDTHS
from zerosnet.kernels.compile import KernelsUnavailable, compile_all
from zerosnet.kernels.interface import MAX_STEPS
from zerosnet.kernels.sizes import Sizes
from zerosnet.models import Network


def reason_against(
    network: Network, size: tuple[int, int], conv_dtype: torch.dtype | None, device: torch.device
) -> str | None:
    """Give the reason why the kernels cannot train this network here, in a few words; None if they can."""
    return (
        reason_against_device(device)
        or reason_against_network(network, size, conv_dtype)
        or reason_against_compiler(device)
    )


def reason_against_device(device: torch.device) -> str | None:
    """Give the reason why a device has no kernels; None if it has."""
    if device.type != "cuda":
        return "there is no CUDA device"
    properties = torch.cuda.get_device_properties(device)
    capability = (properties.major, properties.minor)
    chip = next((chip for chip in CHIPS if chip.capability == capability), None)
    if chip is None:
        known = ", ".join(f"{chip.name} {chip.capability[0]}.{chip.capability[1]}" for chip in CHIPS)
        return (
            f"{properties.name} has compute capability {capability[0]}.{capability[1]}; there are kernels for {known}"
        )
    if missing := [shape for shape in WIDTHS if shape not in chip.shapes]:
        channels, width = missing[0]
        return f"there are no kernels for {channels} channels of {width} x {width} pixels on {chip.name}"
    needed, there = most_shared_memory(), getattr(properties, "shared_memory_per_block_optin", 0)
    if needed > there:
        return f"{properties.name} has {there} bytes of shared memory per block; the kernels need {needed}"
    return None


def reason_against_compiler(device: torch.device) -> str | None:
    """Compile the kernels, once for the process; give the reason if that fails, else None."""
    try:
        compile_all(WIDTHS, device.index or 0)
    except KernelsUnavailable as error:
        return str(error)
    return None


def reason_against_network(network: Network, size: tuple[int, int], conv_dtype: torch.dtype | None) -> str | None:
    """Give the reason why a network has no kernels; None if it has."""
    config, structure = network.config, network.config.structure
    plans = config.plans()
    reasons = {
        "its structure is not that of the CIFAR-size networks": structure.size != "cifar",
        "it has no batch norms": not structure.normalised,
        f"its blocks are {structure.block}, not basic": structure.block != "basic",
        f"its images are {size[0]} x {size[1]}, not {IMAGE[0]} x {IMAGE[1]}": tuple(size) != IMAGE,
        "its images have more than 3 channels": config.in_chans > 3,
        "its scheme has several betas": plans[0].keep_slopes > 0,
        f"its scheme has more than {MAX_STEPS} steps": plans[0].keep_states > MAX_STEPS,
        "its projections are shared": config.stage_change == "project-shared",
        "its convolutions are not in bf16": conv_dtype is not torch.bfloat16,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


DECLARED = 16 * 1024  # bytes of shared memory: the most that a convolution declares itself, beside what it asks for


def most_shared_memory() -> int:
    """Bytes of shared memory that the hungriest kernel asks for, what it declares itself included."""
    sizes = [Sizes(channels, width, 1, 1, 1) for channels, width in WIDTHS]
    return DECLARED + max(max(size.inner_shared, size.backward_shared) for size in sizes)
