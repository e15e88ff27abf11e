"""A function's parameters as a JSON Schema, and JSON arguments as what the function expects.

One pydantic model a function does both. Its fields have names of our own and the parameters'
names as aliases, so that a parameter may be called anything (``self``, ``schema``, ``_x``).
Functions that take only JSON's own types skip the conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import compact_json, well_formed
from pi_kernel.registry._native import is_native, wants_floats
from pi_kernel.registry._schema import SCHEMA_ERRORS, QuietSchema, without_class_titles
from pi_kernel.registry._signature import EMPTY, FunctionShape, Parameter
from pi_kernel.runtime.validation import ArgumentsInvalid

__all__ = ("Arguments",)


class Arguments:
    """The arguments of one function.

    Raises:
        PiKernelError: If a parameter's annotation has no JSON form.
    """

    def __init__(
        self, shape: FunctionShape, descriptions: Mapping[str, str], *, tool_name: str
    ) -> None:
        self._tool_name = tool_name
        parameters = {f"p{number}": parameter for number, parameter in enumerate(shape.parameters)}
        self._names = {field: parameter.name for field, parameter in parameters.items()}
        definitions: dict[str, Any] = {
            field: _model_field(parameter, descriptions.get(parameter.name))
            for field, parameter in parameters.items()
        }
        if shape.extras is not None:
            definitions["extras"] = _extras_field(shape.extras)
        try:
            self._model: type[BaseModel] = create_model("Arguments", **definitions)
            schema = self._model.model_json_schema(schema_generator=QuietSchema)
        except SCHEMA_ERRORS as error:
            named = self._names | {"extras": _EXTRAS}
            raise _refusal(definitions, named, error, tool_name=tool_name) from error
        fields = {
            self._names[field]: info
            for field, info in self._model.model_fields.items()
            if field in self._names
        }
        self._takes_extras = shape.extras is not None
        self.schema = _object_schema(schema)
        """The JSON Schema of all arguments."""
        self.field_defaults = {
            parameter.name: fields[parameter.name]
            for parameter in shape.parameters
            if _is_default_in_field(parameter, fields[parameter.name])
        }
        """Parameters whose default is in a ``Field(...)``, where Python does not look."""
        self.is_converting = shape.extras not in (None, Any) or not all(
            is_native(info) and info.alias == info.validation_alias == name
            for name, info in fields.items()
        )
        """Whether arguments have to go through `convert`; otherwise they fit as they are."""
        self._floats = tuple(name for name, info in fields.items() if wants_floats(info.annotation))

    def checker(self) -> Callable[..., None] | None:
        """Return what the pipeline runs after schema validation, None when that is nothing."""
        if self.is_converting:
            return self.check
        return self.set_floats if self._floats else None

    def set_floats(self, params: dict[str, Any], received: object = None) -> None:
        """Make 3 a float for a ``float`` parameter, in place: JSON does not tell it from 3.0."""
        del received
        for name in self._floats:
            value = params.get(name)
            if type(value) is int:
                with suppress(OverflowError):
                    params[name] = float(value)

    def check(self, params: dict[str, Any], received: object = None) -> None:
        """Raise what `convert` would raise; ``received`` are the arguments to show then."""
        self.convert(params, received)

    def convert(self, params: dict[str, Any], received: object = None) -> dict[str, Any]:
        """Return the function's arguments by name; defaults are left to the function.

        Raises:
            ArgumentsInvalid: If a value does not fit its annotation.
        """
        properties = self.schema["properties"]
        named = {name: value for name, value in params.items() if name in properties}
        extras = {name: value for name, value in params.items() if name not in properties}
        problems: list[tuple[tuple[int | str, ...], str]] = []
        if self._takes_extras:
            named[_EXTRAS] = extras
        else:
            problems += [((name,), "unknown field") for name in extras]
        try:
            filled = self._validated(named)
        except ValidationError as error:
            details = error.errors(include_url=False)
            problems[:0] = [(_path(one["loc"], params), _message(one)) for one in details]
        else:
            if not problems:
                return self._by_name(filled)
        # A union reports one place once a member; equal lines say nothing more.
        raise ArgumentsInvalid.of(
            self._tool_name,
            dict.fromkeys(problems),
            received=params if received is None else received,
        )

    def _validated(self, named: dict[str, Any]) -> BaseModel:
        try:
            text = well_formed(compact_json(named))
        except (TypeError, ValueError):
            # A hook put a Python object in, which may be just what is wanted.
            return self._model.model_validate(named)
        return self._model.model_validate_json(text)

    def _by_name(self, filled: BaseModel) -> dict[str, Any]:
        given = filled.model_fields_set
        values = {
            name: getattr(filled, field) for field, name in self._names.items() if field in given
        }
        return filled.__dict__["extras"] | values if self._takes_extras else values


_EXTRAS = "**"
"""The model's name for the object of all arguments that no parameter names. A field, because a
model's own setting for extra members would reach the classes inside it."""


def _extras_field(annotation: Any) -> tuple[Any, Any]:
    by_name: Any = dict
    return by_name[str, annotation], Field(alias=_EXTRAS)


def _model_field(parameter: Parameter, description: str | None) -> tuple[Any, Any]:
    """Return a model field that keeps what the annotation says and adds name and description."""
    default = Field() if parameter.default is EMPTY else parameter.default
    said = FieldInfo.from_annotated_attribute(parameter.annotation, default)
    added: dict[str, Any] = {}
    if said.alias is None and said.validation_alias is None:
        added["alias"] = parameter.name
    if said.description is None:
        added["description"] = next(filter(None, map(_spoken, said.metadata)), description)
    return Annotated[parameter.annotation, Field(**added)], default


def _is_default_in_field(parameter: Parameter, field: FieldInfo) -> bool:
    if isinstance(parameter.default, FieldInfo):
        return True
    return parameter.default is EMPTY and not field.is_required()


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return pydantic's schema of the model as that of one plain JSON object."""
    without_class_titles(schema)
    properties = dict(schema.get("properties", {}))
    extras = properties.pop(_EXTRAS, None)
    plain: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name in schema.get("required", ()) if name != _EXTRAS]
    if required:
        plain["required"] = required
    plain["additionalProperties"] = (
        False if extras is None else extras.get("additionalProperties", True)
    )
    if schema.get("$defs"):
        plain["$defs"] = schema["$defs"]
    return plain


def _refusal(
    definitions: Mapping[str, Any], names: Mapping[str, str], error: Exception, *, tool_name: str
) -> PiKernelError:
    """Return an error that names the parameters whose annotations fail when they are alone."""
    alone = {field: _failure({field: definition}) for field, definition in definitions.items()}
    failing = [field for field, failure in alone.items() if failure is not None]
    which = " or ".join(f'"{names[field]}"' for field in failing or definitions)
    reason = _first_sentence(next(filter(None, alone.values()), error))
    return PiKernelError(f'Tool "{tool_name}": parameter {which} cannot be given as JSON: {reason}')


def _failure(definitions: Mapping[str, Any]) -> Exception | None:
    try:
        create_model("Arguments", **definitions).model_json_schema()
    except SCHEMA_ERRORS as error:
        return error
    return None


def _first_sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". ")[0]


def _spoken(metadata: object) -> str | None:
    """Return the text of ``Annotated[int, "text"]`` or of a ``Doc("text")``."""
    if isinstance(metadata, str):
        return metadata
    text = getattr(metadata, "documentation", None)
    return text if isinstance(text, str) else None


def _path(location: tuple[int | str, ...], params: dict[str, Any]) -> tuple[int | str, ...]:
    """Return the path, without pydantic's names of union members and validators."""
    path: list[int | str] = []
    here: Any = params
    location = location[1:] if location[:1] == (_EXTRAS,) else location
    for position, step in enumerate(location, 1):
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            is_missing_member = isinstance(here, _OBJECT) and position == len(location)
            if not is_missing_member:
                continue
        path.append(step)
    return tuple(path)


_OBJECT: tuple[type[Any], ...] = (dict,)


def _message(problem: Mapping[str, Any]) -> str:
    kind = problem["type"]
    if kind in _PI_WORDS:
        return _PI_WORDS[kind]
    own = problem.get("ctx", {}).get("error")
    # A validator's own exception, without pydantic's prefix.
    return str(own) if isinstance(own, Exception) and str(own) else problem["msg"]


_PI_WORDS = {"missing": "missing", "extra_forbidden": "unknown field"}
