"""Translation of kernels and their pieces to LLVM, with less code than numba generates.

Numba unpacks tuples and slices in many operations, which LLVM then has to remove. A tuple of forty
arrays became some 300 arguments of every call, and a slice some 100 instructions.

This relies on internals of numba; see :mod:`tensorcfr._util.jit`.
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

from .jit_operators import remembered_operators


class _AsOneValue:
    """Calling convention of an argument that is passed as one LLVM value."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        """Return the LLVM type of the argument."""
        return self._model.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the value that the caller passes, unchanged."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the value that the function receives, unchanged."""
        return value


class _Models:
    """Numba's data models of types, except that named tuples are passed as one value."""

    def __init__(self, models: Any) -> None:
        self._models = models

    def lookup(self, kind: types.Type) -> Any:
        """Return the data model, or the calling convention, of an argument of a type."""
        model = self._models.lookup(kind)
        return _AsOneValue(model) if isinstance(kind, types.BaseNamedTuple) else model


class _Context(CPUContext):
    """Numba's target with shorter calls.

    Callers and functions agree on the convention, because both are kernels or pieces of kernels: no
    function of numba takes a named tuple.
    """

    def get_arg_packer(self, kinds: Sequence[types.Type]) -> ArgPacker:
        """Return a packer of arguments that passes a named tuple as one argument."""
        return ArgPacker(_Models(self.data_model_manager), kinds)

    def mangler(
        self, name: str, kinds: Sequence[types.Type], *, abi_tags: Any = (), uid: Any = None
    ) -> str:
        """Return the name of a function in LLVM.

        Numba's default name contains the type of every array, and each call repeats it. This name
        has a digest in its place.
        """
        spelt = funcdesc.default_mangler(name, kinds, abi_tags=abi_tags, uid=uid)
        digest = hashlib.sha256(spelt.encode()).hexdigest()[:32]
        return str(funcdesc.default_mangler(f"{name}.{digest}", (), uid=uid))


def target_of(context: Any) -> Any:
    """Return a copy of numba's target with the shorter calls of this module."""
    target = copy(context)
    target.__class__ = _Context
    return target


def _is_line(kind: Any) -> bool:
    """Return whether an array has one dimension and is contiguous."""
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == 1


class _Lower(Lower):
    """Numba's translation to LLVM, with shorter code for ``array[start:stop]``.

    Numba writes the array and the slice to memory to read their fields, and supports steps. Here
    the fields are extracted from the values. Doing so for single elements as well makes an
    iteration of Kuhn poker 10 % slower.
    """

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Generate the code of ``value[index]``."""
        kind = self.typeof(value.name)
        is_slice = self.typeof(index.name) == types.slice2_type
        if not (_is_line(kind) and is_slice and signature.return_type == kind):
            return super().lower_getitem(resty, expr, value, index, signature)
        part = self._slice(kind, self.loadvar(value.name), self.loadvar(index.name))
        self.incref(signature.return_type, part)
        return self.context.cast(self.builder, part, signature.return_type, resty)

    def _field(self, kind: Any, value: Any, name: str) -> Any:
        model = self.context.data_model_manager[kind]
        return self.builder.extract_value(value, model.get_field_position(name))

    def _slice(self, kind: Any, array: Any, index: Any) -> Any:
        builder, context = self.builder, self.context
        (length,) = cgutils.unpack_tuple(builder, self._field(kind, array, "shape"))
        zero, size = length.type(0), self._field(kind, array, "itemsize")

        def bound(name: str) -> Any:
            offset = self._field(types.slice2_type, index, name)
            is_below = builder.icmp_signed("<", offset, zero)
            offset = builder.select(is_below, builder.add(offset, length), offset)
            # Clamp by branches, which are almost never taken. With "select", later code would wait
            # for its result, which costs an eighth of an iteration of Leduc hold'em.
            slot = cgutils.alloca_once_value(builder, offset)
            with builder.if_then(builder.icmp_signed("<", offset, zero), likely=False):
                builder.store(zero, slot)
            with builder.if_then(builder.icmp_signed(">=", offset, length), likely=False):
                builder.store(length, slot)
            return builder.load(slot)

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
        part = cgutils.get_null_value(context.get_value_type(kind))
        for name, field in fields.items():
            part = builder.insert_value(part, field, model.get_field_position(name))
        return part


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """Numba's lowering pass, for a kernel or a piece of one."""

    _name = "lower_kernel"

    @property
    def lowering_class(self) -> type[Lower]:
        """Class that generates the code."""
        return _Lower

    def run_pass(self, state: Any) -> bool:
        """Lower the code with the target of this module; return whether the code changed."""
        state.targetctx = target_of(state.targetctx)
        with remembered_operators():
            return bool(super().run_pass(state))
