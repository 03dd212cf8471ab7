import torch

from zerosnet.training.fused.cuda_graph import unchanged


def test_warm_up_calls_leave_the_state_unchanged() -> None:
    parameter = torch.nn.Parameter(torch.randn(3))
    buffer, before = torch.arange(3), parameter.detach().clone()
    place = parameter.data_ptr()
    with unchanged([parameter, buffer]), torch.no_grad():
        parameter.mul_(float("nan"))
        buffer.zero_()
    assert torch.equal(parameter, before) and buffer.tolist() == [0, 1, 2]
    assert parameter.data_ptr() == place
