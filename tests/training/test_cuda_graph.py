import torch

from zerosnet.training.fused.cuda_graph import Lead, captured, graph_pool, unchanged

CPU = torch.device("cpu")


def test_without_a_gpu_a_function_is_simply_called() -> None:
    counter = torch.zeros(1)

    def count() -> None:
        counter.add_(1)

    assert captured(count, [counter], CPU, graph_pool(CPU)) is count
    assert counter == 0


def test_warm_up_calls_leave_the_state_unchanged() -> None:
    parameter = torch.nn.Parameter(torch.randn(3))
    buffer, before = torch.arange(3), parameter.detach().clone()
    place = parameter.data_ptr()
    with unchanged([parameter, buffer]), torch.no_grad():
        parameter.mul_(float("nan"))
        buffer.zero_()
    assert torch.equal(parameter, before) and buffer.tolist() == [0, 1, 2]
    assert parameter.data_ptr() == place


def test_the_host_never_waits_on_a_cpu() -> None:
    lead = Lead(CPU)
    for _ in range(100):
        lead.step()
    assert not lead._marks
