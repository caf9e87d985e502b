"""Public functions and classes that the storm leaves alone, each with its reason."""

from __future__ import annotations

import inspect

from ddlab import methods, pretraining, self_supervised, training
from tests import public_api

_WORDING = "a helper that words errors: its arguments, but for the value it judges, are written in ddlab's own source"
_RECORD = "a record that ddlab fills and does not look at; bent ones are thrown at all functions that take one"
_DRIVEN = "called by process.steps and process.run, which check config, inputs and state; called in every step"
_DESCRIBES = "written in class bodies by authors of methods; what is wrong shows when the module is imported"
_NO_ARGUMENTS = "it takes no arguments that it could be given wrongly"

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys(("errors.fail", "errors.one_of", "errors.DDLabError", "errors.NonFiniteError"), _WORDING),
    **dict.fromkeys(("parameters.Parameter", "parameters.parameter", "parameters.with_default"), _DESCRIBES),
    "errors.all_finite": "asked about tensors that its caller has looked at; called in every check",
    "process.Process": "a protocol for type checkers, which nobody makes an instance of",
    "process.Step": _RECORD,
    **dict.fromkeys(
        [f"explorers.{name}" for name in ("Change", "Chart", "Compute", "Html", "Lab", "Row", "Strip", "Tabs", "Value")],
        "written by authors of laboratories, whose arguments the storm is thrown at; what is wrong shows when one is opened",
    ),
    **dict.fromkeys(("explorers.Known", "explorers.Laboratory"), "made by a Lab, of what its author has declared"),
    "explorers.Sentence": "a line of text, whose trait checks what it is given; its state is keyword arguments of ipywidgets",
    **dict.fromkeys(
        (
            "augmentation.View", "distilled.HardLabels", "distilled.StoredLabels", "distilled.OnlineTeacher",
            "distilled.EpochLabels", "distilled.Representations", "bases.PrincipalBases", "storage_budget.Bill",
            "evaluation.Pretrained", "evaluation.Transfer",
            "evaluation.Evaluation", "evaluation.Probe", "evaluation.Architectures", "evaluation.Continual", "evaluation.Stage",
            "records.Outcome", "embeddings.Density", "embeddings.Embedding", "explorers.Frame", "explorers.Shown", "lessons.Budget",
            "lessons.Claim", "lessons.Verdict", "networks.Outputs", "optim.AdamState", "optim.SGDState",
            "self_supervised.Batch", "self_supervised.ObjectiveState", "theory.RestLossChange", "theory.VarianceParts",
            "theory.SimulatedErrors", "theory.MixtureInformation", "theory.RelabelledInformation", "theory.TableInformation",
            "theory.LipschitzConstants", "theory.ResolutionStage", "theory.GeneralisationBound",
            "theory.PrincipalComponents", "theory.LinearTransport",
        ),
        _RECORD,
    ),
}  # fmt: skip
for _record in ("DecisionBoundary", "DistilledSamples", "PredictiveRisk", "Projection", "RandomViewGradients", "Surface",
                "ToyValidation", "ViewObjective"):  # fmt: skip
    EXCEPTIONS[f"theory.{_record}"] = _RECORD
for _process in (training, pretraining, self_supervised, *(methods.get(name) for name in methods.names())):
    _room = _process.__name__.removeprefix("ddlab.")
    EXCEPTIONS |= {f"{_room}.{name}": _DRIVEN for name in ("total_steps", "init", "update", "finish")}
    EXCEPTIONS |= {f"{_room}.{name}": _RECORD for name in ("State", "Trace")}
for _shared in ("total_steps", "State", "Trace"):  # Boost's are KRR-ST's
    del EXCEPTIONS[f"methods.parameterised_self_supervised.{_shared}"]
EXCEPTIONS |= {f"methods.squeeze_recover_relabel.{name}": _DRIVEN for name in ("image_step", "gradient_step")}
# What Boost takes over from KRR-ST, and the parts of the steps of both.
EXCEPTIONS |= {
    f"methods.kernel_ridge_self_supervised.{name}": _DRIVEN
    for name in (
        "advanced",
        "begun",
        "filling_steps",
        "inner_spec",
        "inner_step",
        "outer_step",
        "pairs",
        "unlabelled_set",
    )
}
EXCEPTIONS |= {
    f"methods.parameterised_self_supervised.{name}": _DRIVEN
    for name in ("count_pairs", "factors", "image_start", "pairs", "representation_start")
}
EXCEPTIONS["methods.directed_weight_adjustment.Adjustment"] = _RECORD
EXCEPTIONS["methods.realism_selection.Mosaics"] = _RECORD
for _name, _value in public_api.callables().items():
    if not public_api.parameters(_value) and not (inspect.isclass(_value) and issubclass(_value, BaseException)):
        EXCEPTIONS.setdefault(_name, _NO_ARGUMENTS)
