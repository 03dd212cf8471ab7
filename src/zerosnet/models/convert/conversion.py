"""Bring your own network: the residual stages of any network, advanced by a multistep scheme, with the same weights."""

import copy
from collections.abc import Iterable

import torch
from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.convert.branch_lists import branch_lists, nothing_found
from zerosnet.models.convert.probe import example_for, residual_chains
from zerosnet.models.convert.stage import BranchStage, MultistepStage, Place
from zerosnet.models.network import Network
from zerosnet.models.reading.calls import Example, copied_arguments, evaluation, require_weights
from zerosnet.numerics import Scheme


@torch.inference_mode(False)  # a copy that is made in inference mode could not be trained
def multistep(model: nn.Module, scheme: Scheme | str, *, example: Example | None = None) -> nn.Module:
    """Copy a network and advance its chains of residual blocks by a scheme; the given network is untouched.

    Args:
        model: Any network with residual blocks in an `nn.Sequential`, or in an `nn.ModuleList` that it goes through
            in order: ResNets, ConvNeXts, vision transformers, language models, or your own. Blocks may take and return
            tuples, dictionaries and keyword arguments, and write over their input. Or a network that adds the branches
            of an `nn.ModuleList` itself, by y = y + f(y) and nothing else.
        scheme: A Scheme or its text, such as "zerosnet(-9/5)".
        example: What the network takes, to find the blocks with: a tensor, a tuple of arguments or a dictionary; by
            default a batch that the network seems made for.

    Every block that keeps the shape of the state, with an activation after the sum or before it, is a step with
    f(y) = block(y) - y. The history restarts where the shape changes, and blocks are one-step until it is long enough;
    a chain that is too short for the scheme stays as it is. Names of parameters do not change, and neither do the
    outputs with Euler's scheme "1;1".

    Which blocks are steps is not guessed from names: the copy is run once on the example, in evaluation mode, and a
    block counts if it returns the shape that it gets and its output is a sum of which its input is a term
    (`zerosnet.models.convert.probe`).

    Examples:
        >>> from timm import create_model
        >>> model = multistep(create_model("resnet34"), "zerosnet(-9/5)")
        >>> [name for name, module in model.named_children() if isinstance(module, MultistepStage)]
        ['layer1', 'layer2', 'layer3']
    """
    if isinstance(model, Network):
        raise InputError("model is a network of this package; expected another one (create_model takes a scheme)")
    require_weights(model)
    given = Scheme.parse(scheme) if isinstance(scheme, str) else scheme
    if not isinstance(given, Scheme):
        raise InputError(f"scheme is {scheme!r}; expected a Scheme or its text")
    converted = copy.deepcopy(model)
    seen: Example = example_for(converted) if example is None else example
    chains, kind = residual_chains(converted, seen), MultistepStage
    if not chains:
        chains, kind = branch_lists(converted, seen), BranchStage
    if not chains:
        raise InputError(nothing_found(model, seen))
    rooms = {name: longest_run(steps_of(places)) for name, places in chains.items()}
    _check_room(given, rooms)
    stages: dict[nn.Module, MultistepStage] = {}  # a chain that stands under several names becomes one stage
    found = {name: converted.get_submodule(name) for name in chains}
    for name, chain in found.items():
        if rooms[name] < given.steps:
            continue
        if chain not in stages:
            stages[chain] = _stage(kind, chain, chains[name], given)
        if not name:
            return stages[chain]
        parent, _, child = name.rpartition(".")
        setattr(converted.get_submodule(parent), child, stages[chain])
    _check_passes(converted, seen, stages.values())
    return converted


def _check_passes(model: nn.Module, example: Example, stages: Iterable[MultistepStage]) -> None:
    """Run a converted network once: a list of modules that it does not go through in order has no steps."""
    args, kwargs = copied_arguments(example)
    watched = {stage: set[nn.Module]() for stage in stages}
    for stage, passed in watched.items():
        stage.watch = passed
    with torch.no_grad(), evaluation(model):
        model(*args, **kwargs)
    for stage, passed in watched.items():
        stage.watch = None
        name = next(name for name, module in model.named_modules() if module is stage)
        if stage in passed:
            raise InputError(
                f"{type(model).__name__} calls a block of {name!r} more than once in a pass through it, so that it has "
                "no one history; expected one state that goes through all blocks in order"
            )
        if passed != set(stage.children()):
            raise InputError(
                f"{type(model).__name__} does not go through {name!r} in order ({len(passed)} of {len(stage)} blocks "
                "were steps); expected a loop over all of it, in order, not blocks by their index"
            )


def steps_of(places: tuple[Place | None, ...]) -> tuple[bool, ...]:
    """Find which blocks of a chain are steps."""
    return tuple(place is not None for place in places)


def longest_run(residual: tuple[bool, ...]) -> int:
    """The most blocks in a row that are steps: how many steps a scheme may have here."""
    return max(map(len, "".join("x" if step else " " for step in residual).split()), default=0)


def _check_room(scheme: Scheme, rooms: dict[str, int]) -> None:
    name, room = max(rooms.items(), key=lambda item: item[1])
    if scheme.steps > room:
        where = f"in {name!r}" if name else "in all"
        raise InputError(
            f"scheme is {scheme}, with {scheme.steps} steps; the longest chain of residual blocks that keep the shape, "
            f"{where}, has {room}: expected a scheme of at most {room} step{'s' * (room > 1)}, or a deeper network"
        )


def _stage(
    kind: type[MultistepStage], chain: nn.Module, places: tuple[Place | None, ...], scheme: Scheme
) -> MultistepStage:
    """Turn a chain into a stage with the same blocks (one may stand several times), names, mode and hooks."""
    blocks = {name: block for name, block in chain._modules.items() if block is not None}
    known = [place or Place() for place in places]
    stage = kind(blocks, steps_of(places), scheme, known)
    stage.training = chain.training
    for attribute, hooks in vars(chain).items():
        if attribute.endswith("hooks") or "_hooks_" in attribute:
            setattr(stage, attribute, hooks)
    return stage
