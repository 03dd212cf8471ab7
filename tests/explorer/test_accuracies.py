import pytest

from zerosnet.explorer.documents import accuracies_document


def test_measured_and_printed_are_kept_apart_and_have_a_modulus():
    document = accuracies_document()
    assert document["measured"]
    for entry in document["measured"]:
        assert entry["runs"] >= 1
        assert entry["parasitic_modulus"] >= 0
        assert 10 < entry["accuracy"] <= 100
    printed = {(entry["model"], entry["scheme"]): entry for entry in document["printed"]}
    optimum = printed["zerosnet56", "1/3,5/9,1/9;16/9"]
    assert (optimum["accuracy"], optimum["deviation"]) == (94.04, 0.12)
    assert optimum["parasitic_modulus"] == pytest.approx(1 / 3)
    assert len(document["printed"]) == 39
