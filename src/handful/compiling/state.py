"""Records in kernels: `bind` makes an object with the attributes of `handful.core.state.State`.

A policy's functions say `state.incumbent = j` and `state.pulls[j] += 1`. Online `state` is a plain
object. Here it is bound to a record of a structured array (the scalars), a structured array of
slots and one of the entries of its history, so that Numba compiles the very same functions. A
kernel compiled for one memory size serves all others: the types of the arrays do not depend on it.

The functions of `handful.core.change` that look at the fields of a record are written again
here. Fields that name a slot are marked by their titles in the NumPy type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr, signature
from numba.extending import intrinsic, models, overload, register_model
from numba.np import arrayobj
from numpy.typing import NDArray

from handful.core import change
from handful.core.state import NO_SLOT, State, columns, fields

Scalars = NDArray[np.void]
Slots = NDArray[np.void]
History = NDArray[np.void]
NO_HISTORY = [("no_history", "i1")]
"""The type of an entry where the record has no history: an array must have some type."""
_SLOT = "slot: "
"""The title of a field that names a slot starts with this."""
_OPTIONS = {"no_cfunc_wrapper": True}


def empty_record(cls: type[State], slots: int, entries: int) -> tuple[Scalars, Slots, History]:
    """Return zeroed scalars, an array of one record, so many slots, and entries of history."""
    known = fields(cls)
    per_slot = columns(cls, [name for name, kind in known.items() if kind.per_slot])
    history = columns(cls, [name for name, kind in known.items() if kind.of_history])
    listed = {name for name, *_ in (*per_slot, *history)}
    scalars = [
        ((_SLOT + name, name), *rest) if known[name].is_slot else (name, *rest)
        for name, *rest in columns(cls, [name for name in known if name not in listed])
    ]
    return (
        np.zeros(1, dtype=np.dtype(scalars)),
        np.zeros(slots, dtype=np.dtype(per_slot)),
        np.zeros(entries, dtype=np.dtype(history or NO_HISTORY)),
    )


class Bound:
    """What `bind` returns in Python: attributes that read and write the arrays."""

    __slots__ = ("_history", "_scalars", "_slots")

    def __init__(self, scalars: Scalars, slots: Slots, history: History) -> None:
        object.__setattr__(self, "_scalars", scalars)
        object.__setattr__(self, "_slots", slots)
        object.__setattr__(self, "_history", history)

    @property
    def capacity(self) -> int:
        """The most slots that may be in use."""
        return len(self._slots)

    def __getattr__(self, name: str) -> Any:
        for array in (self._slots, self._history):
            if name in array.dtype.names:
                return array[name]
        value = self._scalars[0][name]
        return value if isinstance(value, np.ndarray) else value.item()

    def __setattr__(self, name: str, value: Any) -> None:
        self._scalars[name] = value


def bind(scalars: Scalars, slots: Slots, history: History) -> Any:
    """Return the record of these arrays as an object with its fields as attributes."""
    return Bound(scalars, slots, history)


class BoundType(types.Type):
    """What `bind` returns in a kernel."""

    def __init__(self, record: Any, slots: Any, history: Any) -> None:
        self.record = record
        self.slots = slots
        self.history = history
        super().__init__(name=f"Bound({record}, {slots}, {history})")

    def array_of(self, name: str) -> tuple[str, Any]:
        """Return the name and the type of the array that has a field; ("", None): a scalar."""
        for array in ("slots", "history"):
            if name in getattr(self, array).dtype.fields:
                return array, getattr(self, array)
        return "", None


@register_model(BoundType)
class _BoundModel(models.StructModel):
    """The addresses and lengths of the arrays.

    They are all that is passed from function to function. The kernel was given the arrays, so they
    live as long as it runs.
    """

    def __init__(self, manager: Any, bound: BoundType) -> None:
        arrays = [(name, types.voidptr) for name in ("scalars", "slots", "history")]
        lengths = [("slots_length", types.int64), ("history_length", types.int64)]
        super().__init__(manager, bound, [*arrays, *lengths])


@infer_getattr
class _BoundAttributes(AttributeTemplate):
    key = BoundType

    def generic_resolve(self, bound: BoundType, name: str) -> Any:
        array, kind = bound.array_of(name)
        if array:
            # Seen as an array of records, a field is an array with steps of a record's size.
            return self.context.resolve_getattr(kind, name)
        return bound.record.typeof(name) if name in bound.record.fields else None


def _scalars(context: Any, builder: Any, bound: BoundType, value: Any) -> Any:
    opened = cgutils.create_struct_proxy(bound)(context, builder, value=value)
    return builder.bitcast(opened.scalars, context.get_value_type(bound.record))


def _array(context: Any, builder: Any, bound: BoundType, value: Any, name: str) -> Any:
    """Return the slots or the history as the array that they are."""
    kind = getattr(bound, name)
    opened = cgutils.create_struct_proxy(bound)(context, builder, value=value)
    array = context.make_array(kind)(context, builder)
    size = context.get_constant(types.int64, kind.dtype.size)
    fill: Any = arrayobj.populate_array
    fill(
        array,
        data=builder.bitcast(getattr(opened, name), array.data.type),
        shape=[getattr(opened, f"{name}_length")],
        strides=[size],
        itemsize=size,
        meminfo=None,
    )
    return array


@lower_getattr_generic(BoundType)
def _read(context: Any, builder: Any, bound: BoundType, value: Any, name: str) -> Any:
    array, kind = bound.array_of(name)
    if array:
        rows = _array(context, builder, bound, value, array)._getvalue()
        return context.get_getattr(kind, name)(context, builder, kind, rows, name)
    record = _scalars(context, builder, bound, value)
    return context.get_getattr(bound.record, name)(context, builder, bound.record, record, name)


@lower_setattr_generic(BoundType)
def _write(context: Any, builder: Any, call: Any, arguments: Any, name: str) -> Any:
    bound, kind = call.args
    write = context.get_setattr(name, signature(types.void, bound.record, kind))
    return write(builder, (_scalars(context, builder, bound, arguments[0]), arguments[1]))


@intrinsic
def _bind(context: Any, scalars: Any, slots: Any, history: Any) -> Any:
    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        array = context.make_array(scalars)(context, builder, arguments[0])
        opened = cgutils.create_struct_proxy(call.return_type)(context, builder)
        pointer = ir.IntType(8).as_pointer()
        opened.scalars = builder.bitcast(array.data, pointer)
        for i, name in ((1, "slots"), (2, "history")):
            array = context.make_array(call.args[i])(context, builder, arguments[i])
            setattr(opened, name, builder.bitcast(array.data, pointer))
            setattr(opened, f"{name}_length", array.nitems)
        return opened._getvalue()

    return BoundType(scalars.dtype, slots, history)(scalars, slots, history), emit


@overload(bind, jit_options=_OPTIONS)
def _bind_in_a_kernel(scalars: Any, slots: Any, history: Any) -> Any:
    def bound(scalars: Any, slots: Any, history: Any) -> Any:
        return _bind(scalars, slots, history)

    return bound


# Arms that come and go.


@intrinsic
def _copy_slot(context: Any, bound: Any, source: Any, slot: Any) -> Any:
    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        kind = call.args[0].slots
        slots = _array(context, builder, call.args[0], arguments[0], "slots")
        there, here = (
            cgutils.get_item_pointer(context, builder, kind, slots, [at], wraparound=False)
            for at in arguments[1:]
        )
        size = context.get_constant(types.int64, kind.dtype.size)
        cgutils.raw_memcpy(builder, here, there, size, 1)
        return context.get_dummy_value()

    return types.void(bound, types.int64, types.int64), emit


@intrinsic
def _clear_slot(context: Any, bound: Any, slot: Any) -> Any:
    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        kind = call.args[0].slots
        slots = _array(context, builder, call.args[0], arguments[0], "slots")
        here = cgutils.get_item_pointer(
            context, builder, kind, slots, [arguments[1]], wraparound=False
        )
        zero = ir.Constant(ir.IntType(8), 0)
        cgutils.memset(builder, here, context.get_constant(types.int64, kind.dtype.size), zero)
        return context.get_dummy_value()

    return types.void(bound, types.int64), emit


@intrinsic
def _follow(context: Any, bound: Any, source: Any, slot: Any) -> Any:
    titles = {name: field.title for name, field in bound.record.fields.items()}
    named = [name for name, title in titles.items() if (title or "").startswith(_SLOT)]

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        kind = call.args[0]
        for name in named:
            here = _read(context, builder, kind, arguments[0], name)
            source, slot = (builder.trunc(at, here.type) for at in arguments[1:])
            value = builder.select(builder.icmp_signed("==", here, source), slot, here)
            set_it = types.void(kind, kind.record.typeof(name))
            _write(context, builder, set_it, (arguments[0], value), name)
        return context.get_dummy_value()

    return types.void(bound, types.int64, types.int64), emit


@intrinsic
def _clear(context: Any, bound: Any) -> Any:
    own = [name for name in bound.record.fields if name not in fields(State)]

    def emit(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        kind = call.args[0]
        zero = ir.Constant(ir.IntType(8), 0)
        for name in ("slots", "history"):
            array = _array(context, builder, kind, arguments[0], name)
            cgutils.memset(builder, array.data, builder.mul(array.nitems, array.itemsize), zero)
        for name in own:
            field = kind.record.typeof(name)
            value = context.get_constant_null(field)
            _write(context, builder, types.void(kind, field), (arguments[0], value), name)
        return context.get_dummy_value()

    return types.void(bound), emit


@overload(change.copy_slot, jit_options=_OPTIONS)
def _copy_slot_in_a_kernel(state: Any, source: Any, slot: Any) -> Any:
    def copied(state: Any, source: Any, slot: Any) -> None:
        _copy_slot(state, source, slot)

    return copied


@overload(change.clear_slot, jit_options=_OPTIONS)
def _clear_slot_in_a_kernel(state: Any, slot: Any) -> Any:
    def cleared(state: Any, slot: Any) -> None:
        _clear_slot(state, slot)

    return cleared


@overload(change.follow, jit_options=_OPTIONS)
def _follow_in_a_kernel(state: Any, source: Any, slot: Any) -> Any:
    def followed(state: Any, source: Any, slot: Any) -> None:
        _follow(state, source, slot)

    return followed


@overload(change.forget_arms, jit_options=_OPTIONS)
def _forget_arms_in_a_kernel(state: Any) -> Any:
    def forgotten(state: Any) -> None:
        _clear(state)
        state.held = 0
        state.pending = NO_SLOT

    return forgotten
