"""What a makespan waits for, in words."""

from advisor.report.timelines import MOST_ROWS, Waited, waits_table, waits_text


def part(what, where, share, *, held_up=0.0, steps=1):
    return Waited(what, where, 2 * share, held_up, steps, share)


def test_the_sentence_names_pe_and_link():
    parts = [part("computing", "slow3", 0.74), part("message", "lan", 0.21), part("computing", "fast1", 0.05)]
    assert waits_text(parts) == ("74 % of the makespan is slow3 computing, 21 % messages over lan, 5 % fast1 computing")


def test_messages_are_summed_up_and_what_is_little_is_left_out():
    links = [part("message", f"n{k} (up)", 0.1) for k in range(3)]
    pes = [part("computing", "pe0", 0.69), part("computing", "pe1", 0.01)]
    assert waits_text([*pes, *links]) == "69 % of the makespan is pe0 computing, 30 % messages over 3 links"
    assert waits_text([part("message", "within n1", 1.0)]) == "100 % of the makespan is messages within n1"
    assert waits_text([]) == "nothing took any time"


def test_a_table_of_many_parts_sums_up_the_rest():
    found = waits_table([part("computing", f"pe{k}", 0.05, held_up=0.01) for k in range(20)], "What")
    assert len(found.rows) == MOST_ROWS + 1
    assert found.rows[-1] == ("8 more", "40.0 %", "800 ms", "80 ms", "8")
