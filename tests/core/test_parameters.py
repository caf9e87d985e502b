"""Configs: validated, described, and convertible to a short string and back."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlab import methods, networks
from ddlab.core import DDLabError, Parameters, parameter, parameters
from ddlab.networks import convnet
from ddlab.training import supervised
from tests.support import refuses


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    count: int = parameter(
        3, range=(1, 9), symbol="n", unit="images", help="How many.", explorable=(1, 5), step=1
    )
    rate: float = parameter(
        0.1, range=(0, None), open_low=True, scale="log", help="How fast.", source="table 1"
    )
    share: float = parameter(0.5, range=(0, 1), help="How much.")
    kind: str = parameter("a", choices=("a", "b,c=\"'", "ü"), help="Which.", explorable=True)
    flip: bool = parameter(False, help="Whether.")
    depth: int | None = parameter(None, range=(1, 8), help="How deep.")
    name: str = parameter("", help="Any text.")
    network: networks.NetworkSpec = parameter(networks.spec("resnet18"), help="An architecture.")

    def rules(self) -> None:
        if self.count == 9 and self.flip:
            raise DDLabError("count must be below 9 with flip; given 9.")


@dataclass(frozen=True, kw_only=True)
class Required(Parameters):
    count: int = parameter(range=(1, None), help="Has no default.")


SPECS = st.builds(
    lambda width, norm: networks.spec("convnet", width=width, norm=norm),
    st.integers(1, 2048),
    st.sampled_from(["batch", "group"]),
) | st.just(networks.spec("resnet18"))
CONFIGS = st.builds(
    Config,
    count=st.integers(1, 8),
    rate=st.floats(0, exclude_min=True, allow_infinity=False),
    share=st.floats(0, 1),
    kind=st.sampled_from(["a", "b,c=\"'", "ü"]),
    flip=st.booleans(),
    depth=st.none() | st.integers(1, 8),
    name=st.text(),
    network=SPECS,
)


@given(config=CONFIGS)
def test_string_round_trip(config: Config) -> None:
    assert Config.from_string(config.to_string()) == config


@given(
    text=st.text()
    | st.from_regex(r"(count|rate|flip|network|name)=[-\w\[\]{}\",.: ]*(,kind=.*)?", fullmatch=True)
)
def test_any_text_gives_a_config_or_our_error(text: str) -> None:
    try:
        assert isinstance(Config.from_string(text), Config)
    except DDLabError as problem:
        assert type(problem) is DDLabError and "; given " in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "count",
        "count=",
        "count=x",
        "count=3;rate=1",
        "=3",
        "count=3 rate=1",
        "count=" + "1" * 5000,
        "network=" + "[" * 100_000,
        "network=3",
        "network={}",
        'network={"family": "convnet", "options": 3}',
        'network={"family": "convnet", "options": {"x": 1}}',
        'network={"family": 3}',
        'network={"family": "convnet", "image_size": "ab"}',
        "network=null",
        "share=NaN",
        "share=Infinity",
        "count=3.5",
        'count="3"',
        "flip=1",
        "kind=null",
        "nothing=3",
    ],
)
def test_bad_texts(text: str) -> None:
    with refuses():
        Config.from_string(text)


@pytest.mark.parametrize("text", [None, 3, b"count=3", ["count=3"]])
def test_text_of_a_wrong_type(text: Any) -> None:
    with refuses("text"):
        Config.from_string(text)


def test_string_holds_what_differs() -> None:
    assert Config().to_string() == "" and Config.from_string("") == Config()
    assert Config(count=4, flip=True).to_string() == "count=4,flip=true"


def test_numbers_get_the_fields_type() -> None:
    config = Config(rate=1, share=0)
    assert type(config.rate) is float and type(config.share) is float
    assert (
        config == Config(rate=1.0, share=0.0)
        and config.to_string() == Config(rate=1.0, share=0.0).to_string()
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 0}, ["Config.count must be an integer in [1, 9]", "0"]),
        ({"count": 10}, ["count", "10"]),
        ({"count": 2.0}, ["count", "2.0"]),
        ({"count": True}, ["count", "True"]),
        ({"count": None}, ["count", "None"]),
        ({"count": "3"}, ["count", "'3'"]),
        ({"rate": 0}, ["rate must be a finite number above 0"]),
        ({"rate": math.nan}, ["rate", "nan"]),
        ({"rate": math.inf}, ["rate", "inf"]),
        ({"rate": "0.1"}, ["rate"]),
        ({"share": 1.5}, ["share must be a finite number in [0, 1]", "1.5"]),
        ({"kind": "b"}, ["kind must be one of"]),
        ({"kind": None}, ["kind"]),
        ({"flip": 1}, ["flip must be True or False"]),
        ({"depth": 0}, ["depth"]),
        ({"depth": "deep"}, ["depth"]),
        ({"name": 3}, ["name must be a text"]),
        ({"network": 3}, ["network must be a NetworkSpec", "3"]),
        ({"network": "convnett"}, ["network must be one of", "nearest: 'convnet'", "'convnett'"]),
        ({"count": 9, "flip": True}, ["count must be below 9 with flip"]),
        ({"cuont": 3}, ["a parameter of", "Config", "nearest: 'count'", "'cuont'"]),
    ],
)
def test_bad_values(changes: dict[str, Any], words: list[str]) -> None:
    with refuses(*words):
        Config(**changes)
    with refuses(*words):
        Config().replace(**changes)


def test_values_are_given_by_name() -> None:
    with refuses("given by name", "3"):
        Config(3)  # type: ignore[misc]


def test_a_field_without_default() -> None:
    assert Required(count=2).replace(count=3).count == 3
    assert Required.from_string(Required(count=2).to_string()) == Required(count=2)


def test_configs_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().count = 4  # type: ignore[misc]


def test_describe() -> None:
    described = parameters.describe(Config)
    assert list(described) == [field.name for field in dataclasses.fields(Config)]
    assert parameters.describe(Config(count=5)) == described
    count = described["count"]
    assert (count.name, count.type, count.default, count.symbol, count.range) == (
        "count",
        int,
        3,
        "n",
        (1, 9),
    )
    assert (count.unit, count.help, count.explorable, count.step, count.optional) == (
        "images",
        "How many.",
        (1, 5),
        1,
        False,
    )
    assert described["rate"].scale == "log" and described["rate"].source == "table 1"
    assert (
        described["kind"].choices == ("a", "b,c=\"'", "ü") and described["kind"].explorable is True
    )
    assert described["depth"].optional and described["depth"].type is int
    assert described["network"].type is networks.NetworkSpec


def test_an_architecture_by_its_name_is_its_spec() -> None:
    plain = Config(network=networks.spec("convnet"))
    named: Any = "convnet"
    for config in (
        Config(network=named),
        Config().replace(network=named),
        Config.from_string('network="convnet"'),
    ):
        assert (
            config == plain and config.to_dict() == plain.to_dict() and hash(config) == hash(plain)
        )


@pytest.mark.parametrize("bad", [3, "Config", None, int, object()])
def test_describe_of_something_else(bad: Any) -> None:
    with refuses("config"):
        parameters.describe(bad)


@pytest.mark.parametrize(
    "kind",
    [*(methods.get(name).Config for name in methods.names()), supervised.Config, convnet.Options],
)
def test_every_config_of_the_house(kind: type[Parameters]) -> None:
    """Defaults and sliders lie in the range; each field has its sentence; the presets survive the
    string.
    """
    for name, described in parameters.describe(kind).items():
        assert described.help.endswith("."), name
        assert described.check("x", described.default) == described.default
        if isinstance(described.explorable, tuple):
            for end in described.explorable:
                described.check("x", described.type(end))
        if described.scale == "log" and isinstance(described.explorable, tuple):
            assert described.explorable[0] >= 0
        if described.explorable is True:
            assert described.choices or described.type is bool
    for preset in ("teaching", "paper"):
        if hasattr(kind, preset):
            config = getattr(kind, preset)()
            assert type(config).from_string(config.to_string()) == config


def test_a_field_of_another_config_keeps_all_but_its_default() -> None:
    from ddlab.methods import dwa, sre2l

    ours = parameters.describe(dwa.Config)["lambda_var"]
    theirs = parameters.describe(sre2l.Config)["lambda_var"]
    assert (ours.default, theirs.default) == (0.11, 0.01) and ours.source != theirs.source
    assert dataclasses.replace(ours, default=theirs.default, source=theirs.source) == theirs
