"""Runs side by side as lanes of one block, so that a vector unit looks at many of them at once.

All runs of a cell walk the same schedule and differ only in their arms and their luck, so a block
of runs can go through it in lockstep. Statistic of slot i in lane l stands at i * L + l of a flat
array. `_first_highest` is the one thing that compilers do not vectorise by themselves: the argmax
over slots for `WIDTH` lanes at a time. It is written in LLVM's own vectors, which become whatever
the processor has; each lane's arithmetic is that of the scalar loop, operation by operation.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import use
from handful.core import rng, shuffle
from handful.policies import schedule
from handful.simulation.kernels.world import as_int, as_word

WIDTH = 16
"""Lanes that are looked at together: enough independent work to hide each other's latency."""

_F64 = ir.DoubleType()
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_FLOATS = ir.VectorType(_F64, WIDTH)
_INTS = ir.VectorType(_I64, WIDTH)


@use
def best_slots(hat: Floats, wide: Floats, L: int, m: int, g: float, best: Ints) -> None:
    """For each of L lanes, the first slot with the highest hat + g wide.

    Kernels know `_first_highest` through this function only: by itself it has another identity in
    each process, and no kernel that refers to it would be found in the cache.
    """
    for lane in range(0, L, WIDTH):
        _first_highest(hat, wide, lane, L, m, g, best)


@use
def challengers(
    rank: int, starts: Ints, first: int, L: int, K: int, rows: int, columns: int, rounds: int,
    keys: Words, arms: Ints, halves: Words,
) -> None:  # fmt: skip
    """The challenger of this rank in each of L lanes, to arms[first], ..., arms[first + L - 1].

    All lanes go through one round of the shuffle together. Their positions are the rank or the one
    after it, so there is one division for all of them.
    """
    left = as_word(rank) // columns
    right = as_word(rank) % columns
    for lane in range(L):
        column = right + as_word(schedule.challenger(rank, starts[lane]) - rank)
        wraps = column == columns
        halves[lane] = left + as_word(wraps)
        halves[L + lane] = as_word(0) if wraps else column
    late = as_word(0)
    for _ in range(rounds >> as_word(1)):
        for lane in range(L):
            halves[lane], halves[L + lane] = shuffle.stirred(
                halves[lane], halves[L + lane], rows, columns, keys[lane] + late
            )
        late += as_word(2) * as_word(rng.GOLDEN)
    for lane in range(L):
        x = halves[lane] * columns + halves[L + lane]
        if x >= K:
            x = shuffle.forward(x, K, rows, columns, rounds, keys[lane])
        arms[first + lane] = as_int(x)


@use
def most_played_lanes(n: Ints, m: int, L: int, best: Ints) -> None:
    """`recommend.most_played` of each of L lanes."""
    for lane in range(L):
        best[lane] = 0
    for i in range(1, m):
        for lane in range(L):
            if n[i * L + lane] > n[best[lane] * L + lane]:
                best[lane] = i


@intrinsic
def _first_highest(
    context: Any, hat: Any, wide: Any, at: Any, stride: Any, m: Any, g: Any, out: Any
) -> Any:
    """For lanes at, ..., at + WIDTH - 1: out[lane] = the first slot with the highest hat + g wide.

    hat and wide are flat arrays with `stride` lanes, m is the number of slots, at least 1.
    """
    signature = types.void(hat, wide, types.int64, types.int64, types.int64, types.float64, out)
    return signature, _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    hat, wide, at, stride, m, g, out = arguments

    def data(position: int, value: Any) -> Any:
        kind = signature.args[position]
        return context.make_array(kind)(context, builder, value).data

    def all_lanes(value: Any, kind: Any) -> Any:
        none = ir.Constant(kind, ir.Undefined)
        one = builder.insert_element(none, value, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(one, none, zeros)

    def load(array: Any, offset: Any) -> Any:
        pointer = builder.bitcast(builder.gep(array, [offset]), _FLOATS.as_pointer())
        return builder.load(pointer, align=8)

    hats, wides, outs = data(0, hat), data(1, wide), data(6, out)
    growth = all_lanes(g, _FLOATS)

    def score(offset: Any) -> Any:
        # A product and a sum, never fused: the bits of the rule's own score.
        return builder.fadd(load(hats, offset), builder.fmul(growth, load(wides, offset)))

    before = builder.block
    start = score(at)
    loop = builder.append_basic_block("slots")
    body = builder.append_basic_block("slot")
    done = builder.append_basic_block("done")
    builder.branch(loop)

    builder.position_at_end(loop)
    i = builder.phi(_I64)
    offset = builder.phi(_I64)
    best = builder.phi(_FLOATS)
    index = builder.phi(_INTS)
    builder.cbranch(builder.icmp_signed("<", i, m), body, done)

    builder.position_at_end(body)
    next_offset = builder.add(offset, stride)
    x = score(next_offset)
    better = builder.fcmp_ordered(">", x, best)
    incoming = (
        (i, ir.Constant(_I64, 1), builder.add(i, ir.Constant(_I64, 1))),
        (offset, at, next_offset),
        (best, start, builder.select(better, x, best)),
        (
            index,
            ir.Constant(_INTS, [0] * WIDTH),
            builder.select(better, all_lanes(i, _INTS), index),
        ),
    )
    for phi, first, following in incoming:
        phi.add_incoming(first, before)
        phi.add_incoming(following, body)
    builder.branch(loop)

    builder.position_at_end(done)
    pointer = builder.bitcast(builder.gep(outs, [at]), _INTS.as_pointer())
    builder.store(index, pointer, align=8)
    return context.get_dummy_value()
