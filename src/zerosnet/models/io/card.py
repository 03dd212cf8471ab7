"""The card of a network: what it is, which scheme it follows, how it was trained, and what that gave."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from zerosnet.models.network import Network
from zerosnet.models.parameters import parameter_count
from zerosnet.numerics import Scheme, order, root_condition

_MOST_SCHEMES = 12  # in a table


def model_card(model: Network, facts: Mapping[str, Any] | None = None) -> str:
    """The card as Markdown, with the hub's metadata at its head.

    facts  all of them optional: `run` (its id), `dataset`, `seed`, `metrics` (name -> fraction), `recipe` (a mapping),
           `command`, `environment` (`zerosnet.environment.environment()`), `input` (input_size, mean, std),
           `pretrained` (its name if it comes with the package), `weights` (the type they are stored in),
           `prediction` (what was known before training: effective_depth, blocks, accuracy in % and interval)
    """
    known = dict(facts or {})
    name = model.config.name or "network"
    sections = [
        _metadata(name, known),
        f"# {name}\n\n{_headline(model, known)}",
        "## Use\n\n" + _use(model, known),
        "## Scheme\n\n" + _scheme(model),
        _results(known),
        _training(known),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _metadata(name: str, facts: Mapping[str, Any]) -> str:
    """YAML, each value written as JSON, which is YAML too."""
    fields: dict[str, Any] = {
        "library_name": "zerosnet",
        "pipeline_tag": "image-classification",
        "tags": ["zerosnet", "image-classification", "linear-multistep", "zero-stability"],
    }
    if facts.get("dataset"):
        fields["datasets"] = [facts["dataset"]]
    if facts.get("dataset") and facts.get("metrics"):
        metrics = [{"type": "accuracy", "name": key, "value": value} for key, value in facts["metrics"].items()]
        dataset = {"type": facts["dataset"], "name": facts["dataset"]}
        fields["metrics"] = ["accuracy"]
        fields["model-index"] = [
            {
                "name": name,
                "results": [{"task": {"type": "image-classification"}, "dataset": dataset, "metrics": metrics}],
            }
        ]
    return "\n".join(["---", *(f"{key}: {json.dumps(value)}" for key, value in fields.items()), "---"])


def _headline(model: Network, facts: Mapping[str, Any]) -> str:
    structure = model.config.structure
    text = (
        f"A residual network of {structure.depth} layers ({sum(structure.blocks)} {structure.block} blocks, "
        f"{parameter_count(model):,} parameters) whose blocks are the steps of a linear multistep scheme"
    )
    if model.replicas > 1:
        text += f"; {model.replicas} such networks side by side"
    if facts.get("dataset"):
        text += f", trained on {facts['dataset']}"
    return text + "."


def _use(model: Network, facts: Mapping[str, Any]) -> str:
    size = (facts.get("input") or {}).get("input_size") or model.default_cfg["input_size"]
    scale = facts.get("input") or model.default_cfg
    channels = model.replicas * model.in_chans
    if facts.get("pretrained"):
        load, call = "load_model", f'load_model("{facts["pretrained"]}").eval()'
    else:
        load, call = "from_pretrained", 'from_pretrained("OWNER/NAME").eval()  # or the folder that holds this file'
    return _code(
        "python",
        f"from zerosnet.models import {load}",
        "",
        f"model = {call}",
        f"logits = model(images)  # (B, {channels}, {size[-2]}, {size[-1]}), (pixels of [0, 1] - mean) / deviation",
        f"# mean {_tuple(scale['mean'])}, deviation {_tuple(scale['std'])}",
    )


def _scheme(model: Network) -> str:
    """List the schemes of the blocks, each with its verdict; if there are many, count the verdicts."""
    each = model.schemes() if model.replicas == 1 else [scheme for replica in model.schemes() for scheme in replica]
    counts = Counter(each)
    trained = "" if model.config.law is None else "The coefficients are parameters too; these are their values now. "
    own = _own_schemes(model)
    if not counts:
        return "The coefficients are parameters too, and not finite any more."
    if len(counts) > _MOST_SCHEMES:
        kinds = Counter(root_condition(scheme).kind for scheme in each)
        return (
            trained
            + own
            + "By the root condition: "
            + ", ".join(f"{n} blocks {kind}" for kind, n in kinds.items())
            + "."
        )
    rows = [
        (f"`{_short(scheme)}`", str(count), str(order(scheme)), root_condition(scheme).kind)
        for scheme, count in counts.items()
    ]
    table = _table(("alphas;betas", "blocks", "order", "root condition"), rows)
    formula = max(counts, key=lambda scheme: (scheme.steps, counts[scheme]))
    equation = "" if trained else f"$$ {formula.to_latex()} $$\n\n"
    start = "Blocks with too short a history are one-step.\n\n" if len({s.steps for s in counts}) > 1 else ""
    return f"{trained}{own}{equation}{start}{table}"


def _own_schemes(model: Network) -> str:
    """Describe how the schemes of fixed blocks differ, if they do."""
    initial = _initial_growth(model)
    if model.config.block_schemes:
        return f"Every block has a scheme of its own.\n\n{initial}"
    if not model.config.beta_growth:
        return initial
    growths = ", ".join(dict.fromkeys(map(str, model.config.beta_growth)))
    schemes = ", ".join(dict.fromkeys(f"`{_short(scheme)}`" for scheme in model.config.schemes))
    return f"From one multistep block to the next the betas of {schemes} are multiplied by {growths}.\n\n{initial}"


def _initial_growth(model: Network) -> str:
    growths = ", ".join(dict.fromkeys(map(str, model.config.init_growth)))
    return f"The last convolution of each multistep block started {growths} times as large.\n\n" if growths else ""


def _results(facts: Mapping[str, Any]) -> str:
    if not facts.get("metrics"):
        return ""
    rows = [(name, f"{100 * value:.2f} %") for name, value in facts["metrics"].items()]
    stored = f"\n\nThe weights are stored in {facts['weights']}." if facts.get("weights") else ""
    return "## Results\n\n" + _table(("", "accuracy"), [*_predicted(facts), *rows]) + _depth(facts) + stored


def _predicted(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Make the line of the accuracy that was predicted before training, if the law knows such networks."""
    known = facts.get("prediction") or {}
    if known.get("accuracy") is None:
        return []
    low, high = known["interval"]
    return [("test, predicted before training", f"{known['accuracy']:.1f} % (90 % interval {low:.1f} to {high:.1f})")]


def _depth(facts: Mapping[str, Any]) -> str:
    known = facts.get("prediction") or {}
    if known.get("effective_depth") is None:
        return ""
    used = known.get("used_depth")
    measured = "" if used is None else f"; the trained network uses {used}"
    return (
        f"\n\nEffective depth, from the coefficients alone: {known['effective_depth']:.1f} of {known['blocks']} blocks"
        f"{measured}."
    )


def _training(facts: Mapping[str, Any]) -> str:
    parts = []
    if facts.get("recipe"):
        settings = {"run": facts.get("run"), "seed": facts.get("seed"), **facts["recipe"]}
        rows = [(key.replace("_", " "), _text(value)) for key, value in settings.items() if value is not None]
        parts.append(_table(("recipe", ""), rows))
    if facts.get("command"):
        parts.append("Made with\n\n" + _code("shell", facts["command"]))
    if facts.get("environment"):
        parts.append(_table(("hardware and software", ""), _environment_rows(facts["environment"])))
    return "## Training\n\n" + "\n\n".join(parts) if parts else ""


def _environment_rows(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    gpu, cpu = environment.get("gpu") or {}, environment.get("cpu") or {}
    packages = {name: version for name, version in (environment.get("packages") or {}).items() if version}
    rows = {
        "GPU": ", ".join(gpu.get("names", [])),
        "CPU": f"{cpu.get('model')}, {cpu.get('cores')} cores" if cpu else "",
        "kernels": environment.get("kernels"),
        "arithmetic": environment.get("arithmetic"),
        "zerosnet": environment.get("zerosnet"),
        "Python": environment.get("python"),
        **packages,
    }
    return [(name, str(value)) for name, value in rows.items() if value]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _code(language: str, *lines: str) -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def _short(scheme: Scheme) -> str:
    """Exact coefficients as they are, others to six digits."""
    groups = (scheme.alphas, scheme.betas)
    return ";".join(",".join(f"{c:.6g}" if isinstance(c, float) else str(c) for c in group) for group in groups)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key.replace('_', ' ')} {_text(item)}" for key, item in value.items() if item is not None)
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _tuple(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"
