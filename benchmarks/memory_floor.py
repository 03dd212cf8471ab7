"""The memory floor: bytes that the kernels of a training step must move, each activation counted once per kernel.

In units of U, one bf16 activation (K, B, W, W, C), a block with a d-step scheme moves

    first convolution     2             high half of y in, z out
    second convolution    (5 + 3d) / 2  z and 24 bits of d states in, 24 bits of a state out
    its backward          3             G and z in, dz out
    backward of the first 4             dz, z and y in, dy out
    gradient recursion    3 + d         dy, y and d later gradients in, G out
"""

from zerosnet.models import BlockPlan, Network

IMAGE = 32
BYTES = 2  # of a bf16 number


def block_units(steps: int) -> float:
    """Units of U that a block moves in one training step."""
    return 2 + (5 + 3 * steps) / 2 + 3 + 4 + (3 + steps)


def bottleneck_units(steps: int) -> float:
    """Units that a bottleneck block would move: U is an activation inside f, and the state is four times as wide.

    Forward: 1x1 (y in, z out), 3x3, 1x1 with the multistep sum (z and 24 bits of d states in, 24 bits out).
    Backward: the last 1x1 (G and z in, dz out), the 3x3, the first 1x1 (dz, z and y in, dy out), the recursion.
    """
    state = 4
    forward = (state + 1) + 2 + (1 + 1.5 * state * (steps + 1))
    return forward + (state + 2) + 4 + (2 + 2 * state) + state * (3 + steps)


def change_units(steps: int) -> float:
    """Units of the new width's U that the patches and projections of a stage change move beside that.

    The old width's activation is 2 U: patches out 9/2 and in, their gradients out and in, y twice, dy out. A projection
    takes a quarter of a state (in, out) and multiplies it (in, 1 out); backwards it gives the gradient of that quarter
    (1 in, out), which goes into the state's (in), and the weight's (both in).
    """
    quarter = 0.5
    return 4 * 4.5 + 3 * 2 + steps * (2 * quarter + quarter + 1 + 1 + quarter + quarter + quarter + 1)


def step_bytes(network: Network, *, batch: int) -> int:
    """Bytes of a training step of a fused network."""
    total = 0.0
    for plan in network.config.plans():
        steps = plan.keep_states if plan.multistep else 1
        units = block_units(steps) + (0 if plan.source == plan.target else change_units(len(plan.states)))
        total += units * unit_bytes(plan, network.replicas, batch)
    first = unit_bytes(network.config.plans()[0], network.replicas, batch)
    return int(total + 3 * first)  # stem: y_0 out, its gradient in, and the images


def unit_bytes(plan: BlockPlan, replicas: int, batch: int) -> int:
    """U of a block: one activation of its output's shape."""
    size = IMAGE // plan.target.stride
    return BYTES * replicas * batch * size * size * plan.target.channels
