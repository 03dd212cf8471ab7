"""The time for which a training follows the gradient flow."""

from math import fsum

from zerosnet.errors import InputError
from zerosnet.training.recipes.recipe import Recipe, lr_at


def flow_time(recipe: Recipe, images: int) -> float:
    """Compute the time for which SGD follows the gradient flow: the sum of learning rates, divided by 1 - momentum.

    SGD is Euler's scheme for w' = -grad L(w), its learning rate the step; momentum m makes a step 1 / (1 - m) times
    as long. `images`: how many the training set has.

    Examples:
        >>> from zerosnet.training import recipe
        >>> round(flow_time(recipe("paper", "cifar10"), images=50_000))
        32916
    """
    if recipe.optimiser != "sgd":
        raise InputError(f"optimiser is {recipe.optimiser!r}; expected 'sgd', whose steps follow the gradient")
    steps = images // recipe.batch
    rates = fsum(lr_at(recipe, step, steps) for step in range(recipe.epochs * steps))
    return rates / (1 - recipe.momentum)
