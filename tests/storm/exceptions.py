"""Public functions and classes that the storm leaves alone, each with its reason."""

from __future__ import annotations

import inspect

from ddlab import methods
from ddlab.training import pretraining, self_supervised, supervised
from tests import public_api

_WORDING = "a helper that words errors: its arguments, but for the value it judges, are written in ddlab's own source"
_RECORD = "a record that ddlab fills and does not look at; bent ones are thrown at all functions that take one"
_DRIVEN = "called by process.steps and process.run, which check config, inputs and state; called in every step"
_DESCRIBES = "written in class bodies by authors of methods; what is wrong shows when the module is imported"
_DECLARED = "written in the declaration of a laboratory by its author; what is wrong shows when it is made"
_NO_ARGUMENTS = "it takes no arguments that it could be given wrongly"

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys(
        ("core.errors.fail", "core.errors.one_of", "core.errors.DDLabError", "core.errors.NonFiniteError"), _WORDING
    ),
    **dict.fromkeys(
        (
            "core.parameters.Parameter",
            "core.parameters.parameter",
            "core.parameters.with_default",
            "core.parameters.narrowed",
        ),
        _DESCRIBES,
    ),
    "core.errors.all_finite": "asked about tensors that its caller has looked at; called in every check",
    "runs.process.Process": "a protocol for type checkers, which nobody makes an instance of",
    "runs.process.Step": _RECORD,
    "runs.source": "a hash of the code of whatever it is given",
    **dict.fromkeys(("runs.look", "runs.default_look"), _DRIVEN),
    **{
        f"explorers.{name}": _DECLARED
        for name in (
            "Change",
            "Chart",
            "Column",
            "Compute",
            "Html",
            "Known",
            "Lab",
            "Laboratory",
            "Row",
            "Strip",
            "Tabs",
            "Value",
        )
    },
    "explorers.Sentence": "a line of text, whose trait checks what it is given; its state is keyword arguments of ipywidgets",
    **dict.fromkeys(
        (
            "data.augmentation.View",
            "distilled.HardLabels",
            "distilled.StoredLabels",
            "distilled.OnlineTeacher",
            "distilled.EpochLabels",
            "distilled.Representations",
            "distilled.bases.PrincipalBases",
            "distilled.storage_budget.Bill",
            "evaluation.Pretrained",
            "evaluation.Transfer",
            "evaluation.Evaluation",
            "evaluation.Probe",
            "evaluation.Architectures",
            "evaluation.Continual",
            "evaluation.Stage",
            "records.Outcome",
            "evaluation.embeddings.Density",
            "evaluation.embeddings.Embedding",
            "runs.Frame",
            "runs.Number",
            "lessons.claims_on_trial.trial_card.Shown",
            "lessons.Budget",
            "lessons.Claim",
            "lessons.Verdict",
            "networks.Outputs",
            "core.optimisers.AdamState",
            "core.optimisers.SGDState",
            "training.self_supervised.Batch",
            "training.self_supervised.ObjectiveState",
            "theory.RestLossChange",
            "theory.VarianceParts",
            "theory.SimulatedErrors",
            "theory.MixtureInformation",
            "theory.RelabelledInformation",
            "theory.TableInformation",
            "theory.LipschitzConstants",
            "theory.ResolutionStage",
            "theory.GeneralisationBound",
            "theory.PrincipalComponents",
            "theory.LinearTransport",
        ),
        _RECORD,
    ),
}
for _record in ("DecisionBoundary", "DistilledSamples", "PredictiveRisk", "Projection", "RandomViewGradients", "Surface",
                "ToyValidation", "ViewObjective"):  # fmt: skip
    EXCEPTIONS[f"theory.{_record}"] = _RECORD
for _process in (supervised, pretraining, self_supervised, *(methods.get(name) for name in methods.names())):
    _room = _process.__name__.removeprefix("ddlab.")
    EXCEPTIONS |= {f"{_room}.{name}": _DRIVEN for name in ("total_steps", "init", "update", "finish", "look")}
    EXCEPTIONS |= {f"{_room}.{name}": _RECORD for name in ("State", "Trace")}
for _shared in ("total_steps", "State", "Trace"):  # Boost's are KRR-ST's
    del EXCEPTIONS[f"methods.boost.{_shared}"]
EXCEPTIONS |= {f"methods.sre2l.{name}": _DRIVEN for name in ("image_step", "gradient_step")}
# What Boost takes over from KRR-ST, and the parts of the steps of both.
EXCEPTIONS |= {
    f"methods.krr_st.{name}": _DRIVEN
    for name in (
        "advanced",
        "begun",
        "filling_steps",
        "inner_spec",
        "inner_step",
        "outer_step",
        "pairs",
        "phase_numbers",
        "unlabelled_set",
    )
}
EXCEPTIONS |= {
    f"methods.boost.{name}": _DRIVEN
    for name in ("count_pairs", "factors", "image_start", "pairs", "representation_start")
}
EXCEPTIONS["methods.fadrm.prefix"] = _DRIVEN
EXCEPTIONS["methods.dwa.Adjustment"] = _RECORD
EXCEPTIONS["methods.rded.Mosaics"] = _RECORD
for _name, _value in public_api.callables().items():
    if not public_api.parameters(_value) and not (inspect.isclass(_value) and issubclass(_value, BaseException)):
        EXCEPTIONS.setdefault(_name, _NO_ARGUMENTS)
