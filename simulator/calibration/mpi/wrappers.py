"""The recorder's C source for one `mpi.h`: `recorder.c`, and a wrapper for each function that communicates."""

import re
from pathlib import Path

from simulator.base import files

MODES = {"": "STANDARD", "S": "SYNCHRONOUS", "B": "BUFFERED", "R": "STANDARD"}
"""What stands before `send` -> the mode that is recorded; a ready send is a standard one whose receive is there."""
SPLITS = {"split": 3, "split_type": 4}
COPIES = {
    **dict.fromkeys(("Comm_dup_with_info", "Comm_create", "Cart_sub"), 2),
    **dict.fromkeys(("Cart_create", "Graph_create"), 5),
    "Comm_dup": 1,
    "Dist_graph_create_adjacent": 9,
}
"""Call -> the place of the new communicator."""
COLLECTIVES = {
    "Barrier": "collected(BARRIER, 0, -1, $0, $name);",
    "Bcast": "collected(BCAST, bytes_of($1, $2), $3, $4, $name);",
    "Reduce": "collected(REDUCE, bytes_of($2, $3), $5, $6, $name);",
    **{
        name: f"collected({name.upper()}, bytes_of($2, $3), -1, $5, $name);" for name in ("Allreduce", "Scan", "Exscan")
    },
    "Gather": "collected(GATHER, $0 == MPI_IN_PLACE ? bytes_of($4, $5) : bytes_of($1, $2), $6, $7, $name);",
    "Gatherv": "collected(GATHER, $0 == MPI_IN_PLACE ? bytes_of($4[rank_in($8)], $6) : bytes_of($1, $2), "
    "$7, $8, $name);",
    "Scatter": "collected(SCATTER, $3 == MPI_IN_PLACE ? bytes_of($1, $2) : bytes_of($4, $5), $6, $7, $name);",
    "Scatterv": "collected(SCATTER, $4 == MPI_IN_PLACE ? bytes_of($1[rank_in($8)], $3) : bytes_of($5, $6), "
    "$7, $8, $name);",
    "Allgather": "collected(ALLGATHER, $0 == MPI_IN_PLACE ? bytes_of($4, $5) : bytes_of($1, $2), -1, $6, $name);",
    "Allgatherv": "collected(ALLGATHER, $0 == MPI_IN_PLACE ? bytes_of($4[rank_in($7)], $6) : bytes_of($1, $2), "
    "-1, $7, $name);",
    "Alltoall": "collected(ALLTOALL, $0 == MPI_IN_PLACE ? bytes_of($4, $5) : bytes_of($1, $2), -1, $6, $name);",
    "Alltoallv": "if ($0 == MPI_IN_PLACE) TO_EACH($5, $7, $8, $name); else TO_EACH($1, $3, $8, $name);",
    "Alltoallw": "if ($0 == MPI_IN_PLACE) TO_EACH($5, $7[i_], $8, $name); else TO_EACH($1, $3[i_], $8, $name);",
    "Reduce_scatter": "collected(REDUCE_SCATTER, bytes_of($2[rank_in($5)], $3), -1, $5, $name);",
    "Reduce_scatter_block": "collected(REDUCE_SCATTER, bytes_of($2, $3), -1, $5, $name);",
}
ONE, OWN = "MPI_Request own = *$0; ", "MPI_Status spare; if ({0} == MPI_STATUS_IGNORE) {0} = &spare;"
ALL = "MPI_Request *own = copied($0, $1); "
CALLS = {
    **{
        name: (before.replace("{0}", f"${status}") if status else before, after)
        for name, status, before, after in (
            ("Recv", 6, OWN, "received_from($3, $4, $5, $6, $name);"),
            ("Irecv", 0, "", "posted(POST_RECV, bytes_of($1, $2), $3, $4, $5, STANDARD, *$6, $name);"),
            ("Recv_init", 0, "", "prepared(POST_RECV, bytes_of($1, $2), $3, $4, $5, STANDARD, *$6, $name);"),
            ("Sendrecv", 11, OWN, "exchanged(bytes_of($1, $2), $3, $4, $8, $9, $10, $11, $name);"),
            ("Sendrecv_replace", 8, OWN, "exchanged(bytes_of($1, $2), $3, $4, $5, $6, $7, $8, $name);"),
            ("Start", 0, "", "started(*$0, $name);"),
            ("Startall", 0, "", "for (int i = 0; i < $0; i++) started($1[i], $name);"),
            ("Wait", 1, ONE + OWN, "waited(own, $1, 0);"),
            ("Test", 2, ONE + OWN, "if (*$1) waited(own, $2, 0); else polling = 1;"),
            ("Waitall", 0, ALL + "$2 = statuses_for($0, $2);", "waited_all($0, own, $2);"),
            ("Testall", 0, ALL + "$3 = statuses_for($0, $3);", "if (*$2) waited_all($0, own, $3); else polling = 1;"),
            ("Waitany", 3, ALL + OWN, "if (*$2 != MPI_UNDEFINED) waited(own[*$2], $3, CHOSEN);"),
            (
                *("Testany", 4, ALL + OWN),
                "if (!*$3) polling = 1; else if (*$2 != MPI_UNDEFINED) waited(own[*$2], $4, CHOSEN);",
            ),
            ("Waitsome", 0, ALL + "$4 = statuses_for($0, $4);", "waited_some(*$2, own, $3, $4);"),
            ("Testsome", 0, ALL + "$4 = statuses_for($0, $4);", "waited_some(*$2, own, $3, $4); polling = !*$2;"),
            ("Request_get_status", 0, "", "polling = !*$1;"),
            ("Request_free", 0, ONE, "freed(own);"),
            ("Probe", 0, "", ""),
            ("Iprobe", 0, "", "polling = !*$3;"),
            ("Mprobe", 4, OWN, "probed_message(*$3, $2, $4);"),
            ("Improbe", 5, OWN, "if (*$3) probed_message(*$4, $2, $5); else polling = 1;"),
            ("Mrecv", 4, "MPI_Message own = *$3; " + OWN, "received_message(own, $4, $name);"),
            ("Imrecv", 0, "MPI_Message own = *$3;", "posted_message(own, bytes_of($1, $2), *$4, $name);"),
            ("Comm_free", 0, "MPI_Comm own = *$0;", "take(&comm_ids, KEY(own));"),
            ("Comm_disconnect", 0, "MPI_Comm own = *$0;", "take(&comm_ids, KEY(own));"),
            ("Comm_create_group", 0, "", "made_comm(MPI_COMM_NULL, *$3, ALLREDUCE, $name);"),
        )
    },
    **{
        f"{mode}send".capitalize(): ("", f"sent(bytes_of($1, $2), $3, $4, $5, {said}, $name);")
        for mode, said in MODES.items()
    },
    **{
        f"I{mode.lower()}send": ("", f"posted(POST_SEND, bytes_of($1, $2), $3, $4, $5, {said}, *$6, $name);")
        for mode, said in MODES.items()
    },
    **{
        f"{mode}send_init".capitalize(): (
            *("", f"prepared(POST_SEND, bytes_of($1, $2), $3, $4, $5, {said}, *$6, $name);"),
        )
        for mode, said in MODES.items()
    },
    **{f"Comm_{name}": ("", f"made_comm($0, *${new}, ALLGATHER, $name);") for name, new in SPLITS.items()},
    **{name: ("", f"made_comm($0, *${new}, ALLREDUCE, $name);") for name, new in COPIES.items()},
    **{name: ("", after) for name, after in COLLECTIVES.items()},
}
"""Call -> C before and after it, with `$0`, `$1` ... for its arguments and `$name` for its name."""
LOCAL = re.compile(
    r"Abort|Address|Aint_\w+|(Add|Remove)_error_\w+|Alloc_mem|Free_mem|Attr_\w+|Buffer_\w+"
    r"|Cart_(coords|get|map|rank|shift)|Cartdim_get|Graph_(get|map|neighbors|neighbors_count)|Graphdims_get"
    r"|Dist_graph_neighbors\w*|Topo_test|Dims_create"
    r"|Comm_(rank|size|group|compare|test_inter|[gs]et_\w+|remote_\w+|\w*keyval|delete_attr|\w*errhandler)"
    r"|Err(or|handler)_\w+|Finalized|Initialized|Is_thread_main|Query_\w+|GPU_\w+|Get_(?!accumulate)\w+|Group_\w+"
    r"|Info_\w+|Keyval_\w+|Op_\w+|Reduce_local|Pack\w*|Unpack\w*|Register_datarep|Status_\w+|T_\w+|Type_\w+"
    r"|Wtick|Wtime|NULL_\w+|\w+_FN|\w+_(f2c|c2f|f082c|c2f08|f2f08|f082f|fromint|toint)"
)
"""Calls that neither send nor wait for anything: the rank computes."""
OF_RECORDER = {"Init", "Init_thread", "Finalize", "Pcontrol"}
_DECLARED = re.compile(r"\bint\s+(MPIX?)_(\w+)\s*\(([^;{]*)\)\s*(?:__attribute__[^;]*)?;")
_WORD = re.compile(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)$")


def source_for(header: str) -> str:
    """C source of the recorder.

    `header`: what the preprocessor makes of `#include <mpi.h>`.
    """
    own = files.read_text(Path(__file__).with_name("recorder.c"))
    found = dict[str, str]()
    for kind, name, parameters in _DECLARED.findall(header):
        if not LOCAL.fullmatch(name.removesuffix("_c")) and name not in OF_RECORDER:
            found[f"{kind}_{name}"] = _wrapper(kind, name, parameters)
    return "#define _GNU_SOURCE\n#include <mpi.h>\n" + own + "".join(found.values())


def _wrapper(kind: str, name: str, parameters: str) -> str:
    """One wrapper; a call that is not known is counted by its name."""
    full, words = f"{kind}_{name}", [" ".join(one.split()) for one in parameters.split(",")]
    words = [] if words == ["void"] else words
    declared = ", ".join(_WORD.sub(rf"a{place}\2", one) for place, one in enumerate(words)) or "void"
    given = ", ".join(f"a{place}" for place in range(len(words)))
    base = name if name in CALLS else name.removesuffix("_c")
    before, after = CALLS[base] if kind == "MPI" and base in CALLS else ('unknown($name, "");', "")
    body = re.sub(
        r"\$(\d+)", r"a\1", f"    {before}\n    int code = real({given});\n    if (code == MPI_SUCCESS) {{ {after} }}"
    )
    return (
        f"\nPUBLIC int P{full}({declared})\n{{\n    static __typeof__(P{full}) *real;\n"
        f'    if (!real) real = next_of("P{full}");\n'
        f'    if (!enter(__builtin_return_address(0), "{full}")) return real({given});\n'
        + body.replace("$name", f'"{full}"')
        + f'\n    return leave(code, "{full}");\n}}\n'
        f'PUBLIC int {full}({declared}) __attribute__((alias("P{full}")));\n'
    )
