from zerosnet.experiments import Ablation


def curve(*accuracies: float) -> Ablation:
    return Ablation("run", 100, 0.95, accuracies, (0.1,) * len(accuracies), 3)


def test_used_blocks_are_the_fewest_that_reach_the_whole_accuracy():
    assert curve(0.1, 0.5, 0.945, 0.95, 0.95).used_blocks == 2


def test_a_curve_that_falls_again_needs_the_later_blocks_too():
    assert curve(0.1, 0.95, 0.3, 0.95).used_blocks == 3


def test_a_network_whose_last_block_matters_uses_all():
    assert curve(0.1, 0.2, 0.3).used_blocks == 3


def test_a_network_that_needs_no_block_uses_none():
    assert curve(0.95, 0.95).used_blocks == 0


def test_ablation_goes_to_json_and_back():
    one = curve(0.1, 0.9)
    assert Ablation.from_json(one.to_json()) == one
