"""What a file may say of a software execution graph, as it is written."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, model_validator
from pydantic_core import PydanticCustomError

from simulator.base.form import Form, Name, number_or_text
from simulator.models.resource import Method


def _formula_text(value: Any) -> str:
    try:
        found = number_or_text(value)
    except ValueError:
        raise PydanticCustomError("formula", "a number or a formula allowed") from None
    return found if isinstance(found, str) else repr(found)


Expression = Annotated[str, PlainValidator(_formula_text, json_schema_input_type=float | str)]
"""A formula of the graph's parameters, or a number."""


class GuessForm(Form):
    """An amount that is guessed."""

    low: Annotated[float, Field(ge=0)]
    """The least it can be."""
    high: Annotated[float, Field(ge=0)]
    """The most it can be."""
    likely: Annotated[float, Field(ge=0)] | None = None
    """The likely value; the middle if not said."""


AmountForm = Annotated[
    Annotated[Annotated[float, Field(ge=0)], Tag("<number>")] | Annotated[GuessForm, Tag("<guess>")],
    Discriminator(lambda value: "<guess>" if isinstance(value, dict) else "<number>"),
]
RuvsForm = dict[Method, dict[str, AmountForm]]
"""What one execution uses, by method."""


class ProcessForm(Form):
    """A step without loops and branches."""

    process: Name
    """Its name."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""


class LoopForm(Form):
    """What is done `count` times; the RUV is that of an iteration's own bookkeeping."""

    loop: Name
    """Its name."""
    count: Expression
    """How often: a number or a formula of the graph's parameters."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""
    do: "Body"
    """What is done, in order."""


class ArmForm(Form):
    """What is done with a probability; `else` is what the others leave."""

    probability: Expression
    """A number or a formula of the graph's parameters; or `else`: what the others leave."""
    do: "Body"
    """What is done, in order."""


class BranchForm(Form):
    """One of several arms; the RUV is that of the test."""

    branch: Name
    """Its name."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""
    arms: list[ArmForm] = Field(min_length=1)
    """One of these is taken."""


class SequenceForm(Form):
    """Parts with a name of their own, one after the other."""

    sequence: Name
    """Its name."""
    do: "Body"
    """What is done, in order."""


class CallForm(Form):
    """Another graph, with arguments in place of its parameters; the RUV is that of the call itself."""

    call: Name
    """The graph that is called; no recursion."""
    name: Name = "call"
    """What the call is called."""
    arguments: dict[str, Expression] = Field(default={})
    """Formulas for all of its parameters."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""


_KINDS = ("process", "loop", "branch", "sequence", "call")


class OtherForm(Form):
    """What is no node."""

    @model_validator(mode="before")
    @classmethod
    def _refused(cls, data: Any) -> Any:
        found = " and ".join(map(str, data)) or "nothing" if isinstance(data, dict) else repr(data)
        raise PydanticCustomError("unknown_key", f"{found} found, one of {', '.join(_KINDS)} allowed")


def _kind(value: Any) -> str:
    found = [kind for kind in _KINDS if isinstance(value, dict) and kind in value]
    return f"<{found[0]}>" if len(found) == 1 else "<other>"


NodeForm = Annotated[
    Annotated[ProcessForm, Tag("<process>")]
    | Annotated[LoopForm, Tag("<loop>")]
    | Annotated[BranchForm, Tag("<branch>")]
    | Annotated[SequenceForm, Tag("<sequence>")]
    | Annotated[CallForm, Tag("<call>")]
    | Annotated[OtherForm, Tag("<other>")],
    Discriminator(_kind),
]
Body = list[NodeForm]


class GraphForm(Form):
    """A graph."""

    parameters: list[Name] = Field(default=[])
    """The names that its formulas use."""
    working_set: Expression | None = None
    """Bytes that its accesses go through, as a formula; the nearest memory level if not said."""
    body: Body
    """What is done, in order."""


class SegForm(Form):
    """Graphs that may call each other; the first is where execution begins."""

    format: Literal[1]
    """Always `1`."""
    kind: Literal["seg"]
    """Always `seg`."""
    graphs: dict[Name, GraphForm] = Field(min_length=1)
    """By name; the first one is where execution begins."""


for _form in (LoopForm, ArmForm, BranchForm, SequenceForm, GraphForm, SegForm):
    _form.model_rebuild()
