"""Verdicts on the paper's sentences, each from its printed numbers."""

import pytest
from tests.experiments.paper_source import PAPER

from zerosnet.experiments import EXPERIMENTS, FAILS, HOLDS, PARTLY, claims

FOUND = {claim.name: claim for claim in claims()}


def test_every_claim_has_a_verdict_a_reason_and_an_experiment():
    for claim in FOUND.values():
        assert claim.verdict in (HOLDS, PARTLY, FAILS)
        assert claim.because and claim.experiment in EXPERIMENTS
    assert len(FOUND) == len(claims()) >= 20


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("12.38 against 6.40", "holds", "12.38 and 6.40"),
        ("bold is best", "partly", "71.25 is bold below 71.32 and 71.3"),
        ("bold is best under noise", "partly", "92.53 in bold below 92.56"),
        ("optimal in practice", "partly", "delta = 0.03, delta = 0.035, delta = 0.04"),
        ("optimal in practice", "partly", "93.68 against 93.72"),
        ("gap over ten rows", "holds", "0.67 at 32 layers"),
        ("alpha = 1 is best", "partly", "0.03 over alpha = 0.7"),
        ("ZeroSNets outperform", "partly", "10 of 10 rivals"),
        ("gap falls with the moduli", "partly", "3 of 5"),
        ("better under FGSM", "partly", "21 against 22"),
        ("better under PGD", "holds", "3 of 3"),
        ("beta = 2k+1 is consistent", "does not hold", "0 of the 4"),
        ("parameters of LM-ResNet", "does not hold", "1.74M"),
        ("mapping to roots", "holds", "10 of 10"),
        ("ZeroSNets are consistent", "partly", "6 of the 10"),
        ("stable region", "partly", "lambda = -1"),
        ("main and appendix agree", "holds", "60 of 60"),
        ("PGD reductions", "holds", "12 reductions"),
        ("repeated roots", "partly", "only lambda = -9/5 has a repeated one, lambda = 1/2 and 10 have a pair"),
        ("outperform under noise", "holds", "18 of 18 columns of the three tables, by 9.31 (delta = 0)"),
        ("Opt is competitive with Tra", "holds", "of 10 comparisons"),
        ("robust where zero-stable", "partly", "delta = 0.04 (29.56 and 20.23)"),
        ("robust where zero-stable", "partly", "falls from 94.04 to 74.49 at delta = 0.04"),
        ("other noises", "holds", "17 of 17 levels"),
        ("bold is best under noise", "partly", "of 18 columns"),
    ],
)
def test_verdict(name, verdict, words):
    assert FOUND[name].verdict == verdict
    assert words in FOUND[name].because


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source does not lie beside this copy")
@pytest.mark.parametrize(
    "name", ["repeated roots", "outperform under noise", "Opt is competitive with Tra", "robust where zero-stable"]
)
def test_the_sentence_stands_in_the_paper_word_for_word(name):
    paper = " ".join(PAPER.read_text(encoding="utf-8").replace("$", "").replace(r"\lambda", "lambda").split())
    assert FOUND[name].text in paper
