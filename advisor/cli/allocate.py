"""How many processes to run on which PEs, by real runs: what `fit` plans, makes and fits, and `advise` ranks."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simulator
from advisor.cli.declared import Given, is_given
from advisor.cli.options import print_json, print_warnings
from advisor.cli.outputs import finish
from advisor.cli.progress import progress_lines
from simulator import CalibrationError, Interrupted, ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.advise.process_counts import ProcessCountAdvice
    from advisor.advise.process_counts.construction import Wishes
    from advisor.verification.allocations import AllocationPredictions


KINDS_HELP = "Kinds that may be used: NAME:PES:MOST (how many PEs, most processes on one), separated by commas."


def fit_table(runs: Path, output: Path | None, *, as_json: bool) -> None:
    """Fit a model to real runs of a program on kinds of PEs; repeated rows are repetitions."""
    fitted = calibration.fit_allocation_table(runs)
    document = fitted.to_dict()
    write = None if output is None else partial(calibration.save_allocation_fit, fitted, output)
    finish(document, lambda: _print_fit(fitted, runs), as_json=as_json, write=write, said=f"model written to {output}")


def advise(
    model: Path,
    kinds: str,
    size: float,
    *,
    level: float,
    limits: tuple[list[str] | None, str | None],
    top: int | None,
    hostfiles: tuple[Path | None, list[str] | None],
    as_json: bool,
) -> None:
    """Rank every configuration at a problem size, by a model or by the runs themselves.

    Parameters
    ----------
    limits
        Memory of each kind of PE, and the bytes of one process.
    hostfiles
        Where host files are written, and the hosts of each kind.
    """
    from advisor.advise.process_counts import advise_allocation, check_kinds, parse_hosts, parse_kinds, render_choice

    named, (hostfile, hosts) = parse_kinds(kinds), hostfiles
    on_hosts = None if hosts is None else parse_hosts(hosts, named)
    if hostfile is not None:
        check_kinds(named, on_hosts)
    of_runs = model.suffix == ".csv"
    fitted = calibration.fit_allocation_table(model) if of_runs else calibration.load_allocation_fit(model)
    allowed, inputs = _limits(*limits, named), {str(model): files.digest(files.read_bytes(model))}
    with files.understood(model, "apportion fit"):
        advice = advise_allocation(fitted, named, size, level=level, limits=allowed, top=top, inputs=inputs)
        document = advice.to_dict()
    write = None if hostfile is None else lambda: document.update(_write_hosts(advice, hostfile, on_hosts))
    shown = {} if top is None else {"top": top}
    finish(document, lambda: print(render_choice(document, **shown)), as_json=as_json, write=write, said=None)
    if hostfile is not None and not as_json:
        print(f"\nhost files written: {', '.join(document['hostfiles'])}\n{document['commands']}", end="")


def _limits(memory: list[str] | None, footprint: str | None, kinds: dict[str, tuple[int, int]]) -> Any:
    """What memory allows."""
    from advisor.advise.process_counts import Limits, parse_memory

    if memory is None or footprint is None:
        return None
    return Limits(parse_memory(memory, kinds), footprint)


def _write_hosts(advice: "ProcessCountAdvice", hostfile: Path, hosts: dict[str, list[str]] | None) -> dict[str, Any]:
    """Write the host files; their names, and the commands that use them."""
    from advisor.advise.process_counts import host_commands, host_files, layout_of_advice

    layout = layout_of_advice(advice, hosts)
    texts = host_files(layout, str(hostfile))
    for name, text in texts.items():
        files.write_text(Path(name), text)
    return {"hostfiles": list(texts), "commands": host_commands(layout, str(hostfile))}


def _print_fit(fitted: "calibration.AllocationFit", runs: Path) -> None:
    measured = fitted.measured
    sizes = ", ".join(f"{size:g}" for size in measured.sizes)
    most = [f"{kind} up to {pes}x{each}" for kind, (pes, each) in zip(measured.kinds, measured.most, strict=True)]
    print(f"{runs}: {measured.runs} runs of {len(measured.allocations)} configurations at sizes {sizes}")
    print(f"kinds (PEs x processes on each): {', '.join(most)}; at most {measured.most_processes} processes in all")
    print(f"{'':<16}{'runs':>6}{'mean error':>12}{'largest':>10}{'within 90 % interval':>24}")
    for name, found in fitted.quality.items():
        print(
            f"{name:<16}{found['runs']:>6}{100 * found['mean_error']:>10.1f} %{100 * found['largest_error']:>8.1f} %"
            f"{100 * found['inside']:>22.0f} %"
        )
    print_warnings(fitted.warnings)


MOST_SIZE = 10**9


def wishes(sizes: str, at: str | None, *, budget: str | None, start: str, seed: int) -> "Wishes":
    """What a plan is for, read from its options."""
    from advisor.advise.process_counts.construction import Wishes

    asked = _sizes(sizes, "--sizes")
    return Wishes(
        asked,
        (2 * max(asked),) if at is None else _sizes(at, "--at"),
        None if budget is None else units.parse_duration(budget, field="--budget"),
        units.parse_duration(start, field="--start"),
        seed,
    )


def plan(
    cluster: Path,
    wished: "Wishes",
    *,
    most: str | None,
    work: str,
    kernel: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Propose construction runs with their cost: few, cheap ones that show what a model has to know.

    Alike PEs of the file are a kind, named after what their names have in common. Each kind runs alone, with every
    number of processes per PE, on several PEs, and together with the others; then whatever makes estimates at the sizes
    asked about surer per second.

    Parameters
    ----------
    work, kernel
        Units of volume of a run over N, and the kernel whose speeds say what runs cost.
    """
    from advisor.advise.process_counts.construction import plan_construction

    platform = simulator.load_platform(cluster)
    made = plan_construction(platform, wished, most=_most(most), work=work, kernel=kernel)
    document = made.to_dict()
    write = None if output is None else partial(files.write_json, output, document)
    finish(
        document,
        lambda: _print(made),
        as_json=as_json,
        write=write,
        said=f"plan written to {output}; next: apportion fit {output} --run --command ... -o runs.csv",
    )


def _sizes(text: str, field: str) -> tuple[float, ...]:
    cells = [cell.strip() for cell in text.split(",")]
    wrong = [cell for cell in cells if not (cell.isascii() and cell.isdigit() and 0 < int(cell[:12]) <= MOST_SIZE)]
    if wrong:
        raise ScenarioError(f"{field}: {wrong[0]!r} is no size; give whole numbers from 1 to {MOST_SIZE}")
    if len({int(cell) for cell in cells}) < len(cells):
        raise ScenarioError(f"{field}: {text!r} names a size twice; name each once")
    return tuple(sorted(map(float, cells)))


def _most(text: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for cell in text.split(",") if text else ():
        name, mark, count = (part.strip() for part in cell.partition("="))
        if not (mark and name and count.isascii() and count.isdigit() and 1 <= int(count) <= 64) or name in found:
            raise ScenarioError(f"--most: {cell!r} does not fit; give KIND=M with M from 1 to 64, each kind once")
        found[name] = int(count)
    return found


def _print(made: "calibration.ConstructionPlan") -> None:
    for kind in made.kinds:
        speed = "speed not known" if kind.speed is None else units.show_rate(kind.speed, "units/s")
        load = f", {kind.competitors:g} competitors" if kind.competitors else ""
        print(f"kind {kind.name}: {len(kind.pes)} PEs, up to {kind.most} processes on each, {speed}{load}")
    inside = [run for run in made.runs if not run.reserve]
    print(f"{'run':<44}{'times':>6}{'seconds':>10}  why")
    for run in inside:
        print(f"{made.label(*run.key):<44}{run.repetitions:>6}{run.expected_s:>10.3g}  {run.why}")
    count = sum(run.repetitions for run in inside)
    print(f"{count} runs, about {made.expected_s:.3g} s of the budget of {made.budget_s:.3g} s; ", end="")
    sizes = ", ".join(f"{size:g}" for size in made.at)
    print(f"every configuration at N {sizes} would take about {made.full_s:.3g} s ", end="")
    print(f"({made.expected_s / made.full_s:.1%})")
    if reserve := sum(run.repetitions for run in made.runs if run.reserve):
        print(f"{reserve} more runs are listed in case these cost less than guessed")
    print_warnings(made.notes)


SHOWN = 3
"""Runs left out that are named; --json has all."""


def _read_times(given: Given) -> str:
    timed = is_given(given["time"]) or is_given(given["phases"])
    return "with --time or --phases" if timed else "without --time and --phases"


@dataclass(frozen=True)
class Program:
    """What is run, and how its times are read."""

    command: str
    time: str | None
    phases: str | None
    before: Sequence[Path]
    read: str | None
    folder: Path | None
    local: bool


def run(
    plan: Path,
    program: Program,
    *,
    budget: str | None,
    limit: str | None,
    model: Path | None,
    level: float,
    output: Path,
    as_json: bool,
) -> None:
    """Make the runs of a plan, shuffled, within its budget; each finished run is on disk at once.

    Costs are corrected by what is measured, and what the budget does not pay for is left out. A run that fails, hangs
    or reports no time is named, and exit code 1 follows; the others are kept. With a model, what it predicted and the
    runs made now are compared, and kept for `apportion lab history`.
    """
    from advisor.verification.allocations import AllocationPredictions

    made = calibration.read_plan(plan)
    simulator.require_linux()
    work = output.with_name(f"{output.stem}.work") if program.folder is None else program.folder
    limits = calibration.Limits(
        made.budget_s if budget is None else units.parse_duration(budget, field="--budget"),
        None if limit is None else units.parse_duration(limit, field="--limit"),
    )
    chosen = _chosen(program, work)
    _check_hosts(made, chosen)
    predicted = None if model is None else AllocationPredictions(model, [kind.name for kind in made.kinds])
    files.make_folder(work)
    files.make_folder(output.parent)
    try:
        with files.alone(output), progress_lines(limits.budget_s) as on_progress:
            table = _table(made, chosen, output)
            before_now = len(table.done)
            found = calibration.make_runs(
                made, chosen, table, limits=limits, on_run=lambda label, _, share: on_progress(label, min(share, 1.0))
            )
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {output} keeps every run made, the same command goes on from there") from error
    document = _document(made, found, output) | _judged(predicted, table, before_now, level)
    if as_json:
        print_json(document)
    else:
        _print_runs(made, found, document)
    if found.failures:
        raise CalibrationError([*found.failures, f"{found.kept} runs kept in {output}"])


def _table(
    made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram", output: Path
) -> "calibration.RunTable":
    """The rows that are kept, those of earlier calls first; says what of them was damaged."""
    table = calibration.RunTable(
        output,
        [kind.name for kind in made.kinds],
        phases=chosen.reader.tells_phases,
        about=_about(made, chosen),
        machine=simulator.this_machine().to_dict(),
    )
    for line in table.warnings:
        print(f"warning: {line}", file=sys.stderr)
    return table


def _chosen(program: Program, folder: Path) -> "calibration.AllocatedProgram":
    read = program.read
    if read is not None and (Path(read).name != read or read in {"", ".", ".."}):
        raise ScenarioError(f"--read: {read!r} is no name of a file in the folder; give one without folders")
    reader = calibration.make_reader(program.time, program.phases)
    words, templates = calibration.parse_program(program.command, templates=program.before, local=program.local)
    return calibration.AllocatedProgram(words, folder, reader, templates, read, _host_files, local=program.local)


def _check_hosts(made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram") -> None:
    """Whether all hosts of a plan can stand in host files, where the command asks for any."""
    from advisor.advise.export.layout import ADVICE, check_hosts

    if chosen.wants_host_files:
        check_hosts((pe.host for kind in made.kinds for pe in kind.pes), "platform: node", advice=ADVICE)


def _host_files(ranks: "Sequence[calibration.PlacedRank]") -> dict[str, str]:
    """As launchers read them; host names that they do not take are refused."""
    from advisor.advise.export.hosts import mpich_hostfile, openmpi_hostfile, openmpi_rankfile
    from advisor.advise.export.layout import ADVICE, Layout, Rank, check_hosts

    check_hosts((rank.pe.host for rank in ranks), "platform: node", advice=ADVICE)
    places = tuple(Rank(rank.pe.host, rank.pe.name, rank.pe.cpu, number, 1) for number, rank in enumerate(ranks))
    layout = Layout("program", places)
    return {
        "hostfile": mpich_hostfile(layout),
        "hostfile.openmpi": openmpi_hostfile(layout),
        "rankfile.openmpi": openmpi_rankfile(layout),
    }


def _about(made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram") -> dict[str, Any]:
    """What must be the same for runs to stand in one table."""
    time = chosen.reader.time
    return {
        "kinds": [
            {name: documents.to_dict(kind)[name] for name in ("name", "pes", "competitors")} for kind in made.kinds
        ],
        "command": list(chosen.words),
        "time": None if time is None else time.pattern,
        "files": dict(chosen.templates),
        "local": chosen.local,
    }


def _document(made: "calibration.ConstructionPlan", found: "calibration.Campaign", output: Path) -> dict[str, Any]:
    return {
        "command": "fit",
        "output": str(output),
        "runs_made": found.made,
        "runs_kept": found.kept,
        "spent_s": found.spent_s,
        "budget_s": made.budget_s,
        "dropped": found.dropped,
        "failures": found.failures,
        "kinds": made.kinds_option,
    }


def _judged(
    predicted: "AllocationPredictions | None", table: "calibration.RunTable", before_now: int, level: float
) -> dict[str, Any]:
    """How often the model's intervals held, where one was named; each comparison is kept."""
    compared = () if predicted is None else predicted.compare(table.done[before_now:], level=level)
    calibration.keep_comparisons(compared)
    summary = calibration.summary_of(compared, level=level)
    return {"level": level, "intervals": documents.to_dict(summary)} if compared else {}


def _print_runs(made: "calibration.ConstructionPlan", found: "calibration.Campaign", document: dict[str, Any]) -> None:
    from advisor import wording
    from simulator.calibration import Coverage

    output = document["output"]
    print(f"{found.made} runs made, {found.kept} kept in {output}, {found.spent_s:.3g} s in all")
    if found.dropped:
        more = f" and {len(found.dropped) - SHOWN} more" if len(found.dropped) > SHOWN else ""
        left_out = f"{'; '.join(found.dropped[:SHOWN])}{more}"
        print(f"warning: the budget is used up, left out: {left_out}", file=sys.stderr)
    if intervals := document.get("intervals"):
        print(*wording.held_lines(documents.read(Coverage, intervals), document["level"]), sep="\n")
    if found.failures:
        return
    size = f"{made.at[-1]:g}"
    print(f"next: apportion fit {output} -o model.json")
    print(f"then: apportion advise model.json --kinds {made.kinds_option} --size {size}")
