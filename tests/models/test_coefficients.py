"""Fixed and trained coefficients."""

from fractions import Fraction

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.models import create_model, diagnose, extract, model_card
from zerosnet.models.stepping.laws import LambdaLaw, LmLaw
from zerosnet.numerics import LM_BETAS, Scheme, lm, zerosnet


def close(scheme: Scheme, other: Scheme) -> bool:
    return [*scheme.to_float().alphas, *scheme.to_float().betas] == pytest.approx(
        [*other.to_float().alphas, *other.to_float().betas], abs=1e-12
    )


def test_tra_trains_lambda_in_every_block_from_the_third_on_starting_at_one() -> None:
    model = create_model("zerosnet20_tra")
    (lambdas,) = model.coefficient_parameters()
    assert lambdas.flatten().tolist() == [1.0] * 7
    assert model.schemes() == [Scheme([1], [1])] * 2 + [zerosnet(1).to_float()] * 7


@pytest.mark.parametrize("number", [-1.8, 0.1, 7.0, 1e-3, -123.0])
def test_the_lambda_law_is_the_papers_family(number: float) -> None:
    model = create_model("zerosnet20_tra")
    (lambdas,) = model.coefficient_parameters()
    lambdas.data.fill_(number)
    assert close(model.schemes()[-1], zerosnet(lambdas[0].item()))


@pytest.mark.parametrize("beta", LM_BETAS)
def test_the_lm_law_is_the_family_with_its_three_betas(beta: str) -> None:
    model = create_model("lmresnet20", beta=beta)
    (k,) = model.coefficient_parameters()
    k.data.fill_(-0.3)
    assert close(model.schemes()[-1], lm(k[0].item(), beta=beta))


def test_lm_starts_between_minus_a_tenth_and_zero() -> None:
    (k,) = create_model("lmresnet110", seed=4).coefficient_parameters()
    assert k.numel() == 54 - 3 and -0.1 <= k.min() < -0.08 and -0.02 < k.max() <= 0


def test_trained_alphas_add_up_to_one_exactly() -> None:
    for name in ("zerosnet20_tra", "lmresnet20"):
        model = create_model(name, seed=2)
        (values,) = model.coefficient_parameters()
        values.data += torch.randn(values.shape, generator=torch.Generator().manual_seed(5))
        for scheme in model.schemes():
            assert sum(map(Fraction, scheme.alphas)) == 1


@pytest.mark.parametrize(
    ("name", "number"), [("zerosnet20_tra", 0.0), ("zerosnet20_tra", torch.nan), ("zerosnet20_stable", torch.nan)]
)
def test_only_the_replica_with_infinite_coefficients_has_no_schemes(name: str, number: float) -> None:
    model = create_model(name, replicas=2, seed=0)
    before = model.schemes()
    (values,) = model.coefficient_parameters()
    values.data[1] = number  # in the first of the two
    assert model.schemes() == [[], before[1]]
    single = create_model(name)
    single.load_state_dict(extract(model.state_dict(), 0, 2))
    assert single.schemes() == []
    assert "not finite" in model_card(single)
    with pytest.raises(InputError, match="not finite"):
        diagnose(single, torch.randn(2, 3, 8, 8))


@pytest.mark.parametrize("name", ["zerosnet20_tra", "lmresnet20", "zerosnet20_stable"])
def test_a_shared_law_has_one_set_of_numbers_for_all_blocks(name: str) -> None:
    model = create_model(name, shared=True, seed=0)
    (values,) = model.coefficient_parameters()
    assert values.shape[0] == 1
    assert len(set(model.schemes())) == 2  # the start-up and the one law
    model(torch.randn(2, 3, 8, 8)).square().sum().backward()
    assert values.grad is not None and values.grad.abs().min() > 0


@pytest.mark.parametrize(
    ("law", "scheme"),
    [(LambdaLaw(), zerosnet("-9/5")), (LmLaw(1), lm("-1/4")), (LmLaw(0), lm("-1/4", beta="original"))],
)
def test_values_invert_a_law(law: LambdaLaw | LmLaw, scheme: Scheme) -> None:
    base = law.base(torch.tensor([law.values(scheme)], dtype=torch.float64))
    beta = law.beta(base)
    assert close(Scheme(law.alphas(base)[0].tolist(), [1.0 if beta is None else float(beta)]), scheme)


@pytest.mark.parametrize("name", ["zerosnet20_tra", "lmresnet20", "zerosnet20_stable"])
def test_the_gradient_of_a_coefficient_parameter_is_the_difference_quotient(name: str) -> None:
    model = create_model(name, seed=3).double().eval()
    (values,) = model.coefficient_parameters()
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def loss() -> torch.Tensor:
        return model(x).square().sum()

    loss().backward()
    assert values.grad is not None
    for index in ((0, 0), (values.shape[0] - 1, values.shape[1] - 1)):
        ends = []
        for step in (1e-6, -2e-6):
            values.data[index] += step
            ends.append(loss().item())
        values.data[index] += 1e-6
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(values.grad[index].item(), rel=1e-5)
