"""Less code for numba's compiler to work on: how kernels and their pieces become LLVM's.

Numba takes tuples and slices apart in many steps, which LLVM then has to remove.  A tuple of forty
arrays was some 300 arguments of every call, and a slice some 100 instructions.

This rests on internals of numba; see :mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from typing import Any

from numba.core import cgutils, funcdesc, types
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import CPUContext
from numba.core.datamodel.packer import ArgPacker
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering


class _AsOneValue:
    """How a function takes an argument: as one value of LLVM's."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        """LLVM's type."""
        return self._model.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """What the caller passes."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """What the function makes of it."""
        return value


class _Models:
    """Numba's models of types, but for arguments that are named tuples."""

    def __init__(self, models: Any) -> None:
        self._models = models

    def lookup(self, kind: types.Type) -> Any:
        """How a function takes an argument of a type."""
        found = self._models.lookup(kind)
        return _AsOneValue(found) if isinstance(kind, types.BaseNamedTuple) else found


class _Context(CPUContext):
    """Numba's target, with shorter calls.

    Callers and functions agree because both are kernels or pieces of kernels: no function of
    numba's own takes a named tuple.
    """

    def get_arg_packer(self, kinds: Sequence[types.Type]) -> ArgPacker:
        """How functions of this target take arguments: a named tuple is one."""
        return ArgPacker(_Models(self.data_model_manager), kinds)

    def mangler(
        self, name: str, kinds: Sequence[types.Type], *, abi_tags: Any = (), uid: Any = None
    ) -> str:
        """The name of a function in LLVM.

        Numba's own spells out the type of every array; each call repeats it.
        """
        spelt = funcdesc.default_mangler(name, kinds, abi_tags=abi_tags, uid=uid)
        digest = hashlib.sha256(spelt.encode()).hexdigest()[:32]
        return str(funcdesc.default_mangler(f"{name}.{digest}", (), uid=uid))


def target_of(context: Any) -> Any:
    """A target of numba's for a kernel or a piece of one."""
    found = copy(context)
    found.__class__ = _Context
    return found


def _is_line(kind: Any) -> bool:
    """Whether an array has one dimension, and its numbers lie one after the other."""
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == 1


class _Lower(Lower):
    """Numba's translation to LLVM, with a shorter one for ``array[start:stop]``.

    Numba writes array and slice to memory to read their fields, and allows for steps; here the
    fields are taken from the values.  The same for single elements makes an iteration of Kuhn poker
    a tenth longer.
    """

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """``value[index]``."""
        kind = self.typeof(value.name)
        is_slice = self.typeof(index.name) == types.slice2_type
        if not (_is_line(kind) and is_slice and signature.return_type == kind):
            return super().lower_getitem(resty, expr, value, index, signature)
        found = self._slice(kind, self.loadvar(value.name), self.loadvar(index.name))
        self.incref(signature.return_type, found)
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def _field(self, kind: Any, value: Any, name: str) -> Any:
        model = self.context.data_model_manager[kind]
        return self.builder.extract_value(value, model.get_field_position(name))

    def _slice(self, kind: Any, array: Any, index: Any) -> Any:
        builder, context = self.builder, self.context
        (length,) = cgutils.unpack_tuple(builder, self._field(kind, array, "shape"))
        zero, size = length.type(0), self._field(kind, array, "itemsize")

        def bound(name: str) -> Any:
            found = self._field(types.slice2_type, index, name)
            is_below = builder.icmp_signed("<", found, zero)
            found = builder.select(is_below, builder.add(found, length), found)
            # Branches that are not taken: what follows would wait for a choice of values, which
            # takes an eighth of an iteration of Leduc hold'em.
            place = cgutils.alloca_once_value(builder, found)
            with builder.if_then(builder.icmp_signed("<", found, zero), likely=False):
                builder.store(zero, place)
            with builder.if_then(builder.icmp_signed(">=", found, length), likely=False):
                builder.store(length, place)
            return builder.load(place)

        start = bound("start")
        count = builder.sub(bound("stop"), start)
        count = builder.select(builder.icmp_signed("<=", count, zero), zero, count)
        fields = {
            "meminfo": self._field(kind, array, "meminfo"),
            "parent": self._field(kind, array, "parent"),
            "nitems": count,
            "itemsize": size,
            "data": builder.gep(self._field(kind, array, "data"), [start]),
            "shape": cgutils.pack_array(builder, [count]),
            "strides": cgutils.pack_array(builder, [size]),
        }
        model = context.data_model_manager[kind]
        found = cgutils.get_null_value(context.get_value_type(kind))
        for name, field in fields.items():
            found = builder.insert_value(found, field, model.get_field_position(name))
        return found


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """Translate a kernel, or a piece of one, to LLVM."""

    _name = "lower_kernel"

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return _Lower

    def run_pass(self, state: Any) -> bool:
        """Numba calls this after typing; returns whether it changed the code."""
        state.targetctx = target_of(state.targetctx)
        return bool(super().run_pass(state))
