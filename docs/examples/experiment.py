"""A new experiment: does a fourth state help? Euler's scheme and the optimal ones of three and four steps."""

from zerosnet.experiments import Cell, Column, Experiment, TableRow, TrainingPlan
from zerosnet.numerics import Scheme, design, root_condition

SCHEMES: dict[str, Scheme | None] = {
    "Euler": Scheme([1], [1]),
    "3 steps": design(3, 2).scheme,
    "4 steps": design(4, 2).scheme,
}
ACCURACY = Column("accuracy", "test %", ours=True)


def more_steps() -> Experiment:
    rows, cells = [], []
    for name, scheme in SCHEMES.items():
        assert scheme is not None
        moduli = ", ".join(f"{m:.2f}" for m in root_condition(scheme).moduli)
        rows.append(TableRow(name, (name, moduli), scheme, root_condition(scheme).zero_stable, ours=True))
        cells.append(Cell(name, ACCURACY.key, training=TrainingPlan("zerosnet20", scheme=scheme)))
    return Experiment(
        name="more-steps",
        title="Order 2 with more steps",
        reference="ours",
        what="test accuracy on CIFAR-10 of 20 layers, %",
        heads=("scheme", "moduli"),
        columns=(ACCURACY,),
        rows=tuple(rows),
        cells=tuple(cells),
    )
