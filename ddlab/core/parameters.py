"""One description of each hyper-parameter, used for validation, sliders and documentation.

A config is a frozen, keyword-only dataclass whose fields are made by `parameter(...)`:

    @dataclass(frozen=True, kw_only=True)
    class Config(Parameters):
        iterations: int = parameter(1000, symbol="T", range=(1, None), help="Image updates of one
        batch.")

Each field is checked on construction. Rules across fields stand apart, in the method `rules`.
"""

import dataclasses
import functools
import json
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal, Self

from . import boundary, errors


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What is known about one field of a config.

    Attributes:
        name, type, optional: filled in by `describe`;
        optional: None is allowed too.
        symbol: LaTeX, as in the paper.
        help: one sentence on what it does.
        source: paper, section or table the default comes from.
        range: what is allowed, ends included; None leaves an end open. `open_low` excludes the
            lower end.
        step, scale: of the slider.
        unit: of the value.
        choices: the allowed values, where they are few.
        explorable: (low, high) of the slider; True to offer a choice or a switch; None for no
            control.
    """

    name: str = ""
    type: "type" = object  # quoted: the name of the field is also that of the annotation
    default: Any = dataclasses.MISSING
    symbol: str = ""
    range: tuple[float | None, float | None] = (None, None)
    open_low: bool = False
    step: float | None = None
    scale: Literal["linear", "log"] = "linear"
    choices: tuple[Any, ...] | None = None
    unit: str = ""
    help: str = ""
    source: str = ""
    explorable: tuple[float, float] | bool | None = None
    optional: bool = False

    def check(self, argument: str, value: Any) -> Any:
        """Return `value` if it is allowed, as int where an int is meant; else raise `DDLabError`."""
        # None means "as the method decides" and lies outside of every range.
        if value is None and self.optional:
            return value
        if self.choices is not None:
            return errors.check_choice(argument, value, self.choices)
        check = boundary.of_kind(self.type, *self.range, self.open_low)
        return value if check is None else check(argument, value)


def parameter(default: Any = dataclasses.MISSING, *, help: str, **described: Any) -> Any:
    """Return a dataclass field that carries its description.

    The attributes are those of `Parameter`; a field without a default is required.
    """
    # It travels in the dataclass field itself, so validation, sliders and documentation read one
    # place.
    description = Parameter(default=default, help=help, **described)
    return dataclasses.field(default=default, metadata={"parameter": description})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of every config.

    It is checked on construction, comparable, and convertible to a short string and back.
    """

    def __new__(cls, *arguments: Any, **values: Any) -> Self:
        # Runs before the generated __init__, whose TypeError would be Python's sentence and not
        # ours.
        if arguments:
            errors.fail(f"the arguments of {_owner(cls)}", "given by name", arguments[0])
        # The misspelt name is refused before any value is looked at: it is the likelier mistake.
        cls._check_known(values)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        # "dm.Config.learning_rate" says where to look; "learning_rate" alone could be one of six.
        owner = _owner(type(self))
        for name, description in _describe(type(self)).items():
            object.__setattr__(
                self, name, description.check(f"{owner}.{name}", getattr(self, name))
            )
        self.rules()

    def rules(self) -> None:
        """Rules across fields; raise `DDLabError` where one is broken."""

    @classmethod
    def preset(cls, changes: dict[str, Any], /, **settings: Any) -> Self:
        """Return these settings, but for what a caller changes."""
        return cls(**settings | changes)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Only these are checked, and the rules across fields: the others were checked before.
        """
        self._check_known(changes)
        # `dataclasses.replace` would run every check again, and a press replaces fields many times.
        values = {name: getattr(self, name) for name in _describe(type(self))}
        return self._of_checked(values | changes, changes)

    def part(self, config: type[errors.Kind]) -> errors.Kind:
        """Return the config that these settings extend, with every field as it is here.

        Only fields of which the config says something else than these settings are checked again.
        """
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(config)  # type: ignore[arg-type]
        }
        # A plain dataclass checks itself on construction, if at all.
        if not issubclass(config, Parameters):
            return config(**values)
        return config._of_checked(values, _described_otherwise(type(self), config))

    @classmethod
    def _of_checked(cls, values: dict[str, Any], unchecked: typing.Iterable[str]) -> Self:
        """Return a config of these values, of which only some were not checked before."""
        # Past `__init__`, whose `__post_init__` would check all fields once more.
        config = object.__new__(cls)
        # A frozen dataclass refuses assignment, not its dictionary.
        fields = vars(config)
        fields.update(values)
        for name in unchecked:
            argument = f"{_owner(cls)}.{name}"
            fields[name] = _describe(cls)[name].check(argument, values[name])
        # Rules compare fields with each other, so one changed field can break a rule about an
        # unchanged one.
        config.rules()
        return config

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types, nested configs included."""
        return {name: _plain(getattr(self, name)) for name in describe(self)}

    def to_string(self) -> str:
        """Return the fields that differ from their defaults, as "learning_rate=0.1,iterations=50"."""
        described = describe(self)
        # Only what differs from the defaults: the text names a run, and it must stay short enough
        # to read.
        changed = {
            name: getattr(self, name)
            for name in described
            if getattr(self, name) != described[name].default
        }
        return ",".join(f"{name}={json.dumps(_plain(value))}" for name, value in changed.items())

    @classmethod
    def from_string(cls, text: str) -> Self:
        """Return the config that `to_string` described."""
        errors.check_choice("the type of text", type(text).__name__, ("str",))
        # Not split at commas: a value may be a list or a text that holds one. `raw_decode` says
        # where a value ends.
        decoder = json.JSONDecoder()
        values = {}
        position = 0
        described = describe(cls)
        while position < len(text):
            name, equals, _ = text[position:].partition("=")
            if not equals:
                errors.fail("text", "name=value pairs joined by commas", text)
            cls._check_known({name: None})
            try:
                value, position = decoder.raw_decode(text, position + len(name) + 1)
            # Not JSON, a number of thousands of digits, or nested too deeply.
            except (ValueError, RecursionError):
                errors.fail(f"the value of {name} in text", "a JSON value", text[position:])
            # A nested config was written as a dict by `to_string`.
            restore = getattr(described[name].type, "from_dict", None)
            values[name] = restore(value) if restore else value
            if position < len(text) and text[position] != ",":
                errors.fail("text", "name=value pairs joined by commas", text)
            position += 1
        return cls(**values)

    @classmethod
    def _check_known(cls, names: typing.Iterable[str]) -> None:
        # `dataclasses.fields` builds a new tuple each time; this is the dict that it reads.
        allowed = cls.__dataclass_fields__
        for name in names:
            if name not in allowed:
                errors.check_choice(f"a parameter of {_owner(cls)}", name, list(allowed))


def with_default(config: type[Parameters], name: str, default: Any, *, source: str) -> Any:
    """Return a field of another config with another default.

    All else of its description stays as it is there.
    """
    description = dataclasses.replace(describe(config)[name], default=default, source=source)
    return dataclasses.field(default=default, metadata={"parameter": description})


def narrow(config: type[Parameters], **choices: tuple[Any, ...]) -> Any:
    """Return a subclass of `config` whose fields take only these choices.

    An explorer offers the classes of one dataset so.

    Where the default is none of them, the first one is. Its name stays that of `config`.
    """
    fields = []
    for name, allowed in choices.items():
        description = describe(config)[errors.check_choice("a field", name, list(describe(config)))]
        # "cat" cannot stay the default of an explorer whose data have no cats.
        default = description.default if description.default in allowed else allowed[0]
        restricted = dataclasses.replace(
            description, choices=tuple(allowed), default=default, explorable=True
        )
        hint = typing.get_type_hints(config)[name]
        fields.append(
            (name, hint, dataclasses.field(default=default, metadata={"parameter": restricted}))
        )
    return _extend(config, fields)


def with_field(config: type[Parameters], **fields: tuple[Any, Any]) -> Any:
    """Return a subclass of `config` with more fields: name -> (annotation, `parameter(...)`).

    Its name stays that of `config`.
    """
    return _extend(config, [(name, hint, field) for name, (hint, field) in fields.items()])


def _extend(config: type[Parameters], fields: list[tuple[str, Any, Any]]) -> Any:
    # Errors, `repr` and the keys of remembered results use these names; a narrowed config counts as
    # the config that it narrows.
    namespace = {
        "__module__": config.__module__,
        "__qualname__": config.__qualname__,
        "__doc__": config.__doc__,
    }
    return dataclasses.make_dataclass(
        config.__name__, fields, bases=(config,), namespace=namespace, frozen=True, kw_only=True
    )


def describe(config: type[Parameters] | Parameters) -> dict[str, Parameter]:
    """Return the `Parameter` of each field, in order, with name and type filled in."""
    owner = config if isinstance(config, type) else type(config)
    if not dataclasses.is_dataclass(owner):
        errors.fail("config", "a config or its class", config)
    return dict(_describe(owner))


@functools.cache  # reading type hints takes longer than all the checks of a config
def _describe(owner: type) -> dict[str, Parameter]:
    hints = typing.get_type_hints(owner)  # each base in the words of its own module
    described = {}
    for field in dataclasses.fields(owner):
        hint, optional = _without_none(hints[field.name])
        # `tuple[float, float]` is checked as a tuple, a `Literal` as the text that it is (its
        # choices are in `choices`).
        plain = typing.get_origin(hint) or hint
        plain = str if plain is Literal else plain
        # A field without a description (a nested config) is still shown by `describe`, with no
        # range and no control.
        base = field.metadata.get("parameter", Parameter(default=field.default))
        described[field.name] = dataclasses.replace(
            base, name=field.name, type=plain, optional=optional
        )
    return described


@functools.cache
def _described_otherwise(settings: type, config: type) -> tuple[str, ...]:
    """Return the fields of `config` that may take other values there than in `settings`."""
    names = []
    for name, description in _describe(config).items():
        ours = _describe(settings)[name]
        if (ours.type, ours.optional, ours.range, ours.open_low, ours.choices) != (
            description.type,
            description.optional,
            description.range,
            description.open_low,
            description.choices,
        ):
            names.append(name)
    return tuple(names)


@functools.cache
def _owner(cls: type) -> str:
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__qualname__}"


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value


def _without_none(hint: Any) -> tuple[Any, bool]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        members = [part for part in typing.get_args(hint) if part is not type(None)]
        return (members[0] if len(members) == 1 else object), len(members) < len(
            typing.get_args(hint)
        )
    return hint, False
