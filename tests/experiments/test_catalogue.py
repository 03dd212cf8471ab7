from tests.experiments.made_up import finish

from zerosnet.experiments import EXPERIMENTS, Evidence, listing, read_evidence
from zerosnet.training import Store


def test_listing_counts_what_is_done_and_what_is_left(tmp_path):
    store = Store(tmp_path)
    spec = EXPERIMENTS["table-robustness"].specs("full")[0]
    finish(store, spec, 0.9)
    listed = {one.name: one for one in listing(read_evidence(store), "full")}
    assert len(listed) == len(EXPERIMENTS) >= 16
    one = listed["table-robustness"]
    assert (one.status, one.runs_done, one.runs, one.attacks_done, one.attacks) == ("partial", 1, 33, 0, 33)
    assert one.left.networks == 32
    assert listed["table-parameters"].status == "computed"
    assert listed["scan-disc"].status == "not run"
    assert {one.status for one in listing(Evidence(), "demo") if one.name == "table-imagenet"} == {"not at this scale"}


def test_a_number_of_the_store_counts_as_measured_beside_those_of_the_package(tmp_path):
    before = {one.name: one for one in listing(Evidence(), "full")}
    store = Store(tmp_path)
    for spec in EXPERIMENTS["table-preresnet-alpha"].specs("full")[:5]:
        finish(store, spec, 0.9)
    after = {one.name: one for one in listing(read_evidence(store), "full")}["table-preresnet-alpha"]
    assert (after.measured, after.numbers) == (5, 5)
    assert before["table-preresnet-alpha"].numbers == 5
