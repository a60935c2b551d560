"""Strong or weak scaling on a page and on a terminal: makespan, speed-up and efficiency by the number of nodes."""

from advisor import wording
from advisor.report.origin import timeless_section
from advisor.whatif.scaling import Scaled, Scaling
from simulator import blocks, plots

KINDS = {
    "strong": "the same problem on more nodes",
    "weak": "a problem that grows with the nodes, so that the work per node stays",
}
HOW = (
    "Speed-up: how many times as much work is done in a second as on the fewest nodes, replication by replication. "
    "Efficiency: speed-up over how much more the PEs can do together (speeds at an equal share, mean loads)."
)


def scaling_page(found: Scaling) -> blocks.Page:
    """What was asked, and the table with its figure."""
    named = [
        plots.Apart.of(wording.counted(one.step.nodes, "node"), one.speed_up, one.speed_up)
        for one in found.points
        if one.speed_up is not None and one is not found.points[0]
    ]
    caption = "Speed-up against the fewest nodes, with its interval."
    figure = blocks.Figure(plots.gains(named, level=found.drawn.level), caption)
    shown = (blocks.SideBySide(figure, (_table(found),)),) if named else (_table(found),)
    facts = {
        "Scenario": found.scenario,
        "Scaling": f"{found.kind}: {KINDS[found.kind]}",
        "Nodes": "; ".join(f"{one.step.nodes}: {one.step.which}" for one in found.points),
        "Configurations": "what is advised at each step"
        if found.question == "advised"
        else "equal, by-speed: the faster one",
    }
    failed = [
        blocks.Text(f"failed: {wording.counted(one.step.nodes, 'node')}: {one.error}")
        for one in found.points
        if one.error
    ]
    return blocks.Page(
        title=f"{found.scenario}: {found.kind} scaling",
        answer=found.sentence,
        sections=(
            blocks.Section("asked", "What was asked", (blocks.pairs(facts),)),
            blocks.Section("scaling", "Speed-up and efficiency", (*shown, *failed)),
            timeless_section(found.provenance),
        ),
        command="whatif",
        settings=f"{wording.replications_text(found.drawn)}, seed {found.drawn.seed}",
        warnings=found.warnings,
        facts=blocks.pairs({"Rests on": f"{wording.rests_text(found.drawn)}; predicted"}),
        rows=_table(found),
    )


def _table(found: Scaling) -> blocks.Table:
    grows = found.parameter is not None
    head = ["nodes", *([found.parameter or "", "work"] if grows else []), "configuration", "makespan, predicted"]
    head += ["speed-up", "efficiency"]
    rows = [_row(found, one, grows=grows) for one in found.points]
    said = [line] if (line := wording.interval_line(found.drawn)) else []
    return blocks.table("", head, rows, note="\n".join([*said, HOW]))


def _row(found: Scaling, one: Scaled, *, grows: bool) -> list[str]:
    first = one is found.points[0]
    advice = "" if one.advice is None else f": {one.advice.recommended}"
    return [
        str(one.step.nodes),
        *([str(one.step.size), f"{one.step.work:.4g}"] if grows else []),
        f"{one.configuration or 'failed'}{advice}",
        wording.with_interval(one.makespan_s),
        "1" if first else wording.with_interval(one.speed_up, ""),
        "1" if first else wording.with_interval(one.efficiency, ""),
    ]
