"""`zerosnet attack`: what it shows of results that a store holds, and what is missing."""

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.cli.main import run


@pytest.fixture
def store(tmp_path):
    for spec in specs_of_rows():
        write_run(tmp_path, spec)
    return tmp_path


def attack(capsys, store, *arguments, protocol="paper-noise"):
    code = run(["attack", *arguments, "--store", str(store), "--protocol", protocol, "--device", "cpu"])
    return code, capsys.readouterr().out


def test_ten_runs_fit_into_a_hundred_columns(capsys, store):
    names = [spec.id for spec in specs_of_rows(seeds=(1,))]
    code, out = attack(capsys, store, *names)
    assert code == 0
    assert max(len(line.rstrip()) for line in out.splitlines() if not line.startswith("note")) <= 110
    listed, table = out.split("accuracy, %")
    assert [line.split() for line in listed.splitlines() if line.strip()] == [
        [str(number), name] for number, name in enumerate(names, start=1)
    ]
    assert table.splitlines()[0].split() == [str(number) for number in range(1, 11)]
    assert len(next(line for line in table.splitlines() if "clean" in line).split()) >= 10 + 1


def test_a_single_run_is_named_above_its_column(capsys, store):
    name = specs_of_rows()[0].id
    code, out = attack(capsys, store, name)
    assert code == 0 and out.startswith(f"{name}\n")


def test_checks_that_were_not_made_are_named_once_and_no_warnings(capsys, store):
    code, out = attack(capsys, store, *(spec.id for spec in specs_of_rows(seeds=(1, 2))[:2]), protocol="paper-pgd")
    lines = [line for line in out.splitlines() if "eps 0.5" in line]
    assert code == 0 and lines == ["sanity check not made: eps 0.5 leaves about nothing: no attack of that eps"]


@pytest.mark.parametrize(
    ("dataset", "folder"), [("cifar10", "CIFAR-10-C"), ("cifar100", "CIFAR-100-C"), ("svhn", "svhn-C")]
)
def test_missing_corruptions_come_with_a_remedy(dataset, folder):
    import torch
    from tests.robustness.attackable import small_convolution

    from zerosnet.robustness import subject
    from zerosnet.robustness.perturbations.corruptions import NotGiven
    from zerosnet.robustness.protocols.measures import ProtocolOptions, corruptions

    target = subject(small_convolution(), torch.rand(2, 1, 8, 8), torch.tensor([0, 1]))
    with pytest.raises(NotGiven, match=f"put its npy files into DIR/{folder} and give --data DIR"):
        corruptions(target, ProtocolOptions(dataset=dataset))
