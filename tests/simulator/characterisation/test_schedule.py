"""Cycles of machine code: loops by hand, bound by their chain, by a unit, or by how many instructions can begin."""

import pytest

from simulator.characterisation.derive.machine.assembly import LOAD_CYCLES, WIDTH, Body, cycles_of


def loop(*lines):
    """A block that jumps to itself."""
    return [Body((".L1",), (*lines, "decq %rcx", "jne .L1"))]


@pytest.mark.parametrize(
    ("lines", "cycles"),
    [
        (["vaddsd %xmm1, %xmm0, %xmm0"], 3.0),
        (["vaddsd %xmm1, %xmm0, %xmm0", "vaddsd %xmm2, %xmm0, %xmm0"], 6.0),
        (["vaddsd %xmm1, %xmm0, %xmm0", "vaddsd %xmm2, %xmm3, %xmm3"], 3.0),
        (["vmulsd %xmm1, %xmm0, %xmm0", "vaddsd %xmm2, %xmm0, %xmm0"], 6.0),
        (["vmulsd %xmm1, %xmm2, %xmm3", "vaddsd %xmm3, %xmm0, %xmm0"], 3.0),
        (["vdivsd %xmm1, %xmm2, %xmm3", "vaddsd %xmm3, %xmm0, %xmm0"], 5.0),
        (["vdivsd %xmm1, %xmm0, %xmm0"], 13.0),
        (["vmovupd (%rdi,%rax,8), %ymm0", "vmovupd %ymm0, (%rsi,%rax,8)", "addq $4, %rax"], 1.0),
        (["vmovupd (%rdi,%rax,8), %ymm0"] * 6 + ["addq $4, %rax"], 3.0),
        (["movq (%rax), %rax"], LOAD_CYCLES),
        (["vaddsd (%rdi,%rax,8), %xmm0, %xmm0", "incq %rax"], 3.0),
        (["imulq %rbx, %rax", "xorq %rdx, %rax"], 4.0),
        (["addl %ebx, %eax"], 1.0),
        (["addq %rbx, %rax", "addq %rbx, %r8", "addq %rbx, %r9", "addq %rbx, %r10", "addq %rbx, %r11"], 1.5),
        (["vxorps %xmm0, %xmm0, %xmm0", "vaddsd %xmm1, %xmm0, %xmm0"], 1.0),
        (["nop"], 1.0),
    ],
)
def test_a_loop_of_one_block(lines, cycles):
    assert cycles_of(loop(*lines)) == [pytest.approx(cycles)]


def test_many_instructions_that_nothing_joins_begin_at_the_width():
    lines = [f"movl $1, %r{k}d" for k in range(8, 16)] * 3
    assert cycles_of([Body((), tuple(lines))]) == [pytest.approx(len(lines) / WIDTH)]


def test_a_block_alone_has_no_chain():
    assert cycles_of([Body((), ("vdivsd %xmm1, %xmm0, %xmm0",))]) == [5.0]


def test_a_chain_through_two_blocks_is_shared_by_their_own_work():
    """A test that leaves the loop lies between; six cycles of chain on blocks with one cycle of a unit each."""
    first = Body((".L1",), ("vaddsd %xmm1, %xmm0, %xmm0", "ucomisd %xmm0, %xmm2", "je .Lout"))
    second = Body((), ("vaddsd %xmm3, %xmm0, %xmm0", "decq %rcx", "jne .L1"))
    outside = Body((".Lout",), ("vdivsd %xmm1, %xmm0, %xmm0",))
    found = cycles_of([first, second, outside])
    assert found[0] + found[1] == pytest.approx(6.0)
    assert found[2] == 5.0


def test_only_the_innermost_loop_has_the_chain():
    outer = Body((".L1",), ("vaddsd %xmm1, %xmm5, %xmm5",))
    inner = Body((".L2",), ("vaddsd %xmm1, %xmm0, %xmm0", "decq %rcx", "jne .L2"))
    end = Body((), ("vdivsd %xmm1, %xmm5, %xmm5", "decq %rdx", "jne .L1"))
    assert cycles_of([outer, inner, end]) == [pytest.approx(0.5), pytest.approx(3.0), pytest.approx(5.0)]


def test_a_jump_over_an_arm_is_followed():
    """The arm behind the jump is no part of the path: its division does not lengthen the chain."""
    then = Body((".L1",), ("vaddsd %xmm1, %xmm0, %xmm0", "jmp .L3"))
    arm = Body((".L2",), ("vdivsd %xmm1, %xmm0, %xmm0",))
    end = Body((".L3",), ("decq %rcx", "jne .L1"))
    found = cycles_of([then, arm, end])
    assert found[0] + found[2] == pytest.approx(3.0)
