"""The application `seg` of a scenario: a graph, a template and the PEs' resource models put together."""

from simulator.base.document import Document
from simulator.base.errors import ScenarioError
from simulator.models.resource import HardwareModel
from simulator.platform.named_files import NamedFiles
from simulator.platform.nodes import Platform
from simulator.programs.graphs.nodes import Seg
from simulator.programs.templates.making import make_seg_work
from simulator.programs.templates.work import Asked
from simulator.scenario_file.forms import SegApplicationForm, StepForm
from simulator.scenario_file.scenario import Application
from simulator.scenario_file.segs.reading import load_seg, seg_of


def seg_application(
    form: SegApplicationForm, document: Document, named: NamedFiles, *, platform: Platform
) -> Application:
    """The application that a form means, on a platform whose PEs have resource models.

    Raises
    ------
    ScenarioError
        With one line per fault, at its place.
    """
    seg = _graph(form, document, named)
    with document.at("application"):
        if form.model is not None:
            raise ScenarioError("model: one found, none allowed with seg, whose costs follow from resource models")
        for pe in platform.pes:
            if form.kernel in pe.speeds:
                allowed = f"a kernel without them allowed: speeds of seg follow from the resource of {pe.name}"
                raise ScenarioError(f"kernel: {form.kernel!r}, of which {pe.name} has speeds, found, {allowed}")
        work = make_seg_work(seg, _asked(form), _resources(platform))
    memory = None if form.memory is None else form.memory.use()
    return Application(form.name, form.kernel, form.parameters, memory=memory, prepared=work)


def _graph(form: SegApplicationForm, document: Document, named: NamedFiles) -> Seg:
    if isinstance(form.graph, str):
        with document.at("application", "graph"):
            return load_seg(named.path(form.graph))
    return seg_of(form.graph, document, at=("application", "graph"))


def _asked(form: SegApplicationForm) -> Asked:
    steps = {
        name: (step.graph, step.arguments) if isinstance(step, StepForm) else (step, {})
        for name, step in form.steps.items()
    }
    return Asked(
        form.template,
        form.units,
        form.parameters,
        form.iterations,
        steps,
        form.messages,
        form.grid_rows,
        form.footprint,
        form.resource_model,
    )


def _resources(platform: Platform) -> tuple[HardwareModel, ...]:
    """The unlike resource models of the PEs that have one."""
    found = {id(pe.resource): pe.resource for pe in platform.pes if pe.resource is not None}
    if not found:
        name = platform.pes[0].name
        raise ScenarioError(f"resource_model: no PE with a resource model found, one such as {name} with one allowed")
    return tuple(found.values())
