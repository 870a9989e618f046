"""Compact records: `load` and `store` convert a member of a fleet to a bound record and back.

A member is a row of bytes: the fields of `head`, then `slot` for each slot. Both are structured
types without the fields that never change, and with shorter integers: a signed field is stored in
an unsigned type as the value plus 1, so that -1 fits, too. `store` returns whether every value
fitted; if not, the contents of the row are not valid.

The generator is stored as its step and the number of draws: `load` returns the latter.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

DRAWS, STEP = "draws", "step"
"""The fields of a head that stand for `State.rng`."""
STATUS = "status"
"""The first byte of a row: whether the member has begun, and where it is."""
NO_FIELDS = (STATUS, DRAWS, STEP)
"""The fields of a head that a record does not have."""
_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


def _at(builder: Any, base: Any, offset: Any) -> Any:
    """Return a pointer some bytes further on."""
    if isinstance(offset, int):
        offset = ir.Constant(_WORD, offset)
    return builder.gep(builder.bitcast(base, _BYTE.as_pointer()), [offset], source_etype=_BYTE)


def _load(builder: Any, base: Any, offset: Any, bits: int) -> Any:
    kind = ir.IntType(bits)
    pointer = builder.bitcast(_at(builder, base, offset), kind.as_pointer())
    return builder.load(pointer, align=1, typ=kind)


def _save(builder: Any, base: Any, offset: Any, value: Any) -> None:
    pointer = builder.bitcast(_at(builder, base, offset), value.type.as_pointer())
    builder.store(value, pointer, align=1)


def _row(context: Any, builder: Any, kind: Any, arguments: Any) -> Any:
    """Return a pointer to a row: the arguments are the array and the number of the row."""
    array = context.make_array(kind)(context, builder, arguments[0])
    stride = cgutils.unpack_tuple(builder, array.strides)[0]
    return _at(builder, array.data, builder.mul(arguments[1], stride))


class _Row:
    """A row of a fleet and the bound record, while code is emitted."""

    def __init__(self, context: Any, builder: Any, call: Any, arguments: Any) -> None:
        bound, rows, _, head, slot = call.args[:5]
        self.builder = builder
        self.head, self.slot = head.dtype, slot.dtype
        self.row = _row(context, builder, rows, arguments[1:])
        opened = cgutils.create_struct_proxy(bound)(context, builder, value=arguments[0])
        self.scalars, self.record = opened.scalars, bound.record
        self.slots_type = bound.slots.dtype
        self.slots = opened.slots

    def pairs(self, packed: Any, full: Any) -> list[tuple[int, int, int, int, bool]]:
        """Return the offset and the bits of each field, here and there, and whether it is less."""
        found = []
        for name in packed.fields:
            if name in NO_FIELDS:
                continue
            small, large = packed.typeof(name), full.typeof(name)
            here, there, count = packed.offset(name), full.offset(name), 1
            if isinstance(small, types.NestedArray):
                count, small, large = small.nitems, small.dtype, large.dtype
            less = isinstance(small, types.Integer) and not small.signed and large.signed
            for i in range(count):
                at = here + i * _bits(small) // 8, there + i * _bits(large) // 8
                found.append((at[0], _bits(small), at[1], _bits(large), less))
        return found

    def each_slot(self, held: Any) -> Any:
        """Loop over the slots in use, here and there."""
        return cgutils.for_range(self.builder, held)

    def slot_pointers(self, index: Any) -> tuple[Any, Any]:
        """Return where a slot is, here and there."""
        builder = self.builder
        here = builder.add(
            ir.Constant(_WORD, self.head.size),
            builder.mul(index, ir.Constant(_WORD, self.slot.size)),
        )
        there = builder.mul(index, ir.Constant(_WORD, self.slots_type.size))
        return _at(builder, self.row, here), _at(builder, self.slots, there)


def _bits(kind: Any) -> int:
    return int(kind.bitwidth)


@intrinsic
def load(context: Any, bound: Any, rows: Any, member: Any, head: Any, slot: Any) -> Any:
    """Fill a bound record from row `member` of an array of bytes; return the number of draws."""

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        row = _Row(context, builder, call, arguments)
        one = ir.Constant(_WORD, 1)

        def copy(source: Any, target: Any, fields: Any) -> None:
            for here, small, there, large, less in fields:
                value = _load(builder, source, here, small)
                if less:
                    value = builder.sub(_as_word(builder, value), one)
                    value = _cut(builder, value, large)
                elif small != large:
                    value = builder.zext(value, ir.IntType(large))
                _save(builder, target, there, value)

        copy(row.row, row.scalars, row.pairs(row.head, row.record))
        key = _load(builder, row.scalars, row.record.offset("key"), 64)
        draws = _as_word(
            builder, _load(builder, row.row, row.head.offset(DRAWS), _bits(row.head.typeof(DRAWS)))
        )
        step = _load(builder, row.row, row.head.offset(STEP), 64)
        rng = row.record.offset("rng")
        _save(builder, row.scalars, rng, builder.add(key, builder.mul(draws, step)))
        _save(builder, row.scalars, rng + 8, step)
        held = builder.sext(_load(builder, row.scalars, row.record.offset("held"), 32), _WORD)
        with row.each_slot(held) as loop:
            source, target = row.slot_pointers(loop.index)
            copy(source, target, row.pairs(row.slot, row.slots_type))
        return draws

    return types.int64(bound, rows, types.int64, head, slot), emit


@intrinsic
def store(
    context: Any, bound: Any, rows: Any, member: Any, head: Any, slot: Any, draws: Any
) -> Any:
    """Fill row `member` of an array of bytes from a bound record; return whether it fits."""

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        row = _Row(context, builder, call, arguments)
        one = ir.Constant(_WORD, 1)
        beyond = cgutils.alloca_once_value(builder, ir.Constant(_WORD, 0))

        def refuse(rest: Any) -> None:
            builder.store(builder.or_(builder.load(beyond), rest), beyond)

        def copy(source: Any, target: Any, fields: Any) -> None:
            for there, small, here, large, less in fields:
                value = _load(builder, source, here, large)
                if less:
                    value = builder.add(builder.sext(value, _WORD) if large < 64 else value, one)
                if less and small < 64:
                    refuse(builder.lshr(value, ir.Constant(_WORD, small)))
                _save(builder, target, there, _cut(builder, value, small))

        copy(row.scalars, row.row, row.pairs(row.head, row.record))
        bits = _bits(row.head.typeof(DRAWS))
        if bits < 64:
            refuse(builder.lshr(arguments[5], ir.Constant(_WORD, bits)))
        _save(builder, row.row, row.head.offset(DRAWS), _cut(builder, arguments[5], bits))
        step = _load(builder, row.scalars, row.record.offset("rng") + 8, 64)
        _save(builder, row.row, row.head.offset(STEP), step)
        held = builder.sext(_load(builder, row.scalars, row.record.offset("held"), 32), _WORD)
        with row.each_slot(held) as loop:
            target, source = row.slot_pointers(loop.index)
            copy(source, target, row.pairs(row.slot, row.slots_type))
        return builder.icmp_unsigned("==", builder.load(beyond), ir.Constant(_WORD, 0))

    return types.boolean(bound, rows, types.int64, head, slot, types.int64), emit


@intrinsic
def read_word(context: Any, rows: Any, member: Any, offset: Any) -> Any:
    """Return eight bytes of a row as a word."""

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        row = _row(context, builder, call.args[0], arguments)
        return _load(builder, row, arguments[2], 64)

    return types.uint64(rows, types.int64, types.int64), emit


@intrinsic
def write_word(context: Any, rows: Any, member: Any, offset: Any, word: Any) -> Any:
    """Set eight bytes of a row to a word."""

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        row = _row(context, builder, call.args[0], arguments)
        _save(builder, row, arguments[2], arguments[3])
        return context.get_dummy_value()

    return types.void(rows, types.int64, types.int64, types.uint64), emit


@intrinsic
def prefetch(context: Any, rows: Any, member: Any) -> Any:
    """Ask for the cache lines of a row, which is needed soon."""

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        array = context.make_array(call.args[0])(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        row = _row(context, builder, call.args[0], arguments)
        number = ir.IntType(32)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [row.type], ir.FunctionType(ir.VoidType(), [row.type, *[number] * 3])
        )
        how = [ir.Constant(number, 1), ir.Constant(number, 3), ir.Constant(number, 1)]
        end = builder.add(stride, ir.Constant(_WORD, 63))
        with cgutils.for_range_slice(
            builder, ir.Constant(_WORD, 0), end, ir.Constant(_WORD, 64), _WORD
        ) as (offset, _):
            builder.call(ask, [_at(builder, row, offset), *how])
        return context.get_dummy_value()

    return types.void(rows, types.int64), emit


def _as_word(builder: Any, value: Any) -> Any:
    return value if value.type == _WORD else builder.zext(value, _WORD)


def _cut(builder: Any, value: Any, bits: int) -> Any:
    return value if value.type.width == bits else builder.trunc(value, ir.IntType(bits))
