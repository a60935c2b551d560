"""What a makespan waits for, in words."""

from advisor.report.timelines import MOST_ROWS, Waited, waits_table, waits_text


def part(what, where, share, *, held_up=0.0, steps=1):
    return Waited(what, where, 2 * share, held_up, steps, share)


def test_the_sentence_names_pe_and_link():
    parts = [part("computing", "slow3", 0.74), part("message", "lan", 0.21), part("computing", "fast1", 0.05)]
    assert waits_text(parts) == ("74 % of the makespan is slow3 computing, 21 % messages over lan, 5 % fast1 computing")


def test_many_links_and_pes_are_summed_up():
    links = [part("message", f"n{k} (up)", 0.1) for k in range(3)]
    pes = [part("computing", f"pe{k}", 0.7 / 4) for k in range(4)]
    assert waits_text([*pes, *links]) == (
        "30 % of the makespan is messages over 3 links, above all n0 (up), "
        "18 % pe0 computing, 18 % pe1 computing, 35 % 2 more PEs"
    )
    most = [part("message", "n0 (up)", 0.5), part("message", "within n1", 0.1), part("computing", "pe", 0.4)]
    assert waits_text(most).startswith("60 % of the makespan is messages, most of it over n0 (up), 40 % pe")


def test_what_others_cost_is_told():
    parts = [part("computing", "busy", 0.6, held_up=0.6), part("message", "within n1", 0.4, held_up=0.2)]
    assert waits_text(parts) == (
        "60 % of the makespan is busy computing (50 % of that lost to load and sharing), "
        "40 % messages within n1 (25 % of that waiting for links in use)"
    )


def test_a_table_of_many_parts_sums_up_the_rest():
    found = waits_table([part("computing", f"pe{k}", 0.05, held_up=0.01) for k in range(20)], "What")
    assert len(found.rows) == MOST_ROWS + 1
    assert found.rows[-1] == ("8 more", "40.0 %", "800 ms", "80 ms", "8")
