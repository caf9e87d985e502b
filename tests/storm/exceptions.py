"""Public functions and classes that the storm leaves alone, each with its reason."""

from __future__ import annotations

import inspect

from tests import public_api
from tests.storm.good import DRIVEN, RECORD

_WORDING = "a helper that words errors: its arguments, but for the value it judges, are written in ddlab's own source"
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
    **dict.fromkeys(
        ("core.errors.is_dense", "core.errors.kind_of", "core.errors.numberless"),
        "asked about tensors and devices that its caller has looked at",
    ),
    "core.errors.all_finite": "asked about tensors that its caller has looked at; called in every check",
    "runs.process.Process": "a protocol for type checkers, which nobody makes an instance of",
    "runs.process.Step": RECORD,
    **dict.fromkeys(
        (
            "core.storage.Streamed",
            "core.storage.by_version",
            "core.storage.kept_fingerprint",
            "core.storage.kept_while_unchanged",
            "core.storage.know_fingerprint",
            "core.storage.made_from",
            "runs.checkpoint.as_json",
            "runs.checkpoint.check_comes_back",
            "runs.process.check_goes_on",
        ),
        "called by what loads, keeps and drives, with arguments that it has checked",
    ),
    "runs.process.Finished": "a tuple, whose items are checked where a checkpoint is written",
    "runs.source": "a hash of the code of whatever it is given",
    **dict.fromkeys(("methods.kernels.network_kernel", "methods.kernels.variances"), DRIVEN),
    **dict.fromkeys(("runs.look", "runs.default_look"), DRIVEN),
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
            "distilled.RegressionLabels",
            "distilled.Representations",
            "evaluation.Approximation",
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
            "methods.own.FromLoss",
            "methods.own.State",
            "methods.own.Trace",
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
        RECORD,
    ),
}
for _record in ("DecisionBoundary", "DistilledSamples", "PredictiveRisk", "Projection", "RandomViewGradients", "Surface",
                "ToyValidation", "ViewObjective"):  # fmt: skip
    EXCEPTIONS[f"theory.{_record}"] = RECORD
for _name, _value in public_api.callables().items():
    if not public_api.parameters(_value) and not (inspect.isclass(_value) and issubclass(_value, BaseException)):
        EXCEPTIONS.setdefault(_name, _NO_ARGUMENTS)
