"""Local rules: the regret update at an infoset, in which the variants of CFR differ.

A local rule is a function of scalars,

    step(regret, instant, parameters) -> (regret, preference)

which is applied to every sequence of the updating player in every iteration.  Its arguments are the
cumulative regret, the instantaneous counterfactual regret, and the rule's parameters at this
iteration.  It returns the new cumulative regret and a preference.  The next strategy is computed
from the preferences by regret matching (positive parts, normalised), or with the preferences as
exponents.  A rule that stores more than a regret per sequence declares ``memory``, and takes and
returns these numbers too,

    step(regret, instant, memory_1, ..., parameters) -> (regret, preference, memory_1, ...)

A ``whole`` rule updates all actions of an infoset together.  Its step works on arrays with a row
per action and a column per infoset.  It modifies them in place, and computes the next strategies
itself; ``mean`` becomes the values that are passed up:

    step(regret, instant, value, mean, strategy, memory, parameters)

A rule may also change the payoffs, depending on own reach, before values are computed from them:

    payoff(payoff, reach, memory_1, ..., parameters) -> (payoff, memory_1, ...)

It may also set the pace of an infoset: a factor of its cumulative regrets before each step.  The
pace depends on the agreement of the instantaneous regrets with earlier ones:

    pace(agreement, size, parameters) -> factor

Each rule has a numba *type* of its own.  Kernels are compiled once per rule, with its arithmetic
inlined into their inner loops, and later processes find the compiled code on disk by the rule's
digest.  Built-in rules and user-defined rules are treated in the same way.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from .._util.argument_checks import Check
from .._util.jit import inlined, overload_piece

_steps: dict[str, Any] = {}
"""Compiled step functions by digest; a :class:`RuleType` refers to them by its digest."""
_payoffs: dict[str, Any] = {}
"""Functions that change payoffs, by digest."""
_paces: dict[str, Any] = {}
"""Functions that set the pace, by digest."""

NEW_STRATEGY_SUFFIX = "/new"
"""End of the digest of rules that pass up the value of the new strategy."""


class LocalRule:
    """Local rule that kernels accept as an argument.

    Args:
        name: Name of the rule in error messages and descriptions.
        step: The rule, on float64 scalars, in the subset of Python that numba compiles;
            ``parameters`` is a tuple of float64.
        at: ``at(t, **parameters)`` returns the parameters of the step at iterations ``t`` (a
            float64 array), as a tuple of float64 arrays.  Without it the step has no parameters.
        parameter_names: Keyword arguments of ``at``.
        optional: Further keyword arguments of ``at`` with their defaults, which records may omit.
        memory: Names of the numbers that the rule stores per sequence in addition to the regret.
            They are initially 0, and are saved and resumed with the regrets.
        exponential: Whether the strategy is proportional to ``exp(preference)`` instead of the
            positive part of the preference.
        matches_regret: Whether the preference that ``step`` returns is always the new regret.  The
            next strategy can then be computed from the regrets, and solvers of large games need not
            store it.
        whole: Whether ``step`` updates all actions together, for many infosets at a time.  Its
            arguments are ``regret``, ``instant``, ``value`` (counterfactual values) and
            ``strategy``, float64 (actions, infosets); ``mean``, float64 (infosets,), the values of
            the strategies played; and ``memory``, float64 (stored, actions, infosets).  It modifies
            regret, strategy and memory in place, and leaves in ``mean`` the values that the
            infosets pass up; all other arrays are scratch.  Its strategies must sum to 1.
        payoff: Function that changes the counterfactual payoff of a sequence, on float64 scalars:
            ``payoff(g, reach, memory_1, ..., parameters)`` returns the new payoff and the new
            memory (only the payoff if the rule has no memory).  ``reach`` is own reach of the
            sequence.
        pace: Factor of an infoset's cumulative regrets before the step, on float64 scalars:
            ``pace(agreement, size, parameters)``.  ``agreement`` is the cosine of the angle between
            the instantaneous regrets and the first number in memory, a mean of earlier ones, over
            the actions that are played or would have gained.  ``size`` is the sum of the positive
            cumulative regrets divided by the length of those instantaneous regrets, and at least
            ``2 ** -40``.  The factor is 1 if either vector has length 0, and at most 1 if ``size``
            exceeds ``2 ** 40``.  Instantaneous regrets are measured from the strategy of the rule
            without a floor.
        checks: Checks of the parameters by name, for parameters that do not accept every number.
    """

    passes_new = False
    """True if an infoset passes up the value of the new strategy instead of the strategy played;
    see :meth:`passing_up`."""

    def __init__(
        self,
        name: str,
        step: Callable[..., tuple[float, float]],
        *,
        at: Callable[..., tuple[np.ndarray, ...]] | None = None,
        parameter_names: tuple[str, ...] = (),
        optional: Mapping[str, float] | None = None,
        memory: tuple[str, ...] = (),
        exponential: bool = False,
        matches_regret: bool = False,
        whole: bool = False,
        payoff: Callable[..., Any] | None = None,
        pace: Callable[..., float] | None = None,
        checks: Mapping[str, Check] | None = None,
    ) -> None:
        if matches_regret and (exponential or whole):
            raise ValueError(
                f"{name}: matches_regret must be False for whole rules and for rules with "
                "exponents: the regret alone does not determine their strategies"
            )
        if pace is not None and (whole or exponential or matches_regret or not memory):
            raise ValueError(
                f"{name}: a pace needs a rule that stores a mean of regrets and computes "
                "strategies by regret matching from a preference; whole rules and rules with "
                "exponents cannot have one"
            )
        self.name = name
        self.matches_regret = matches_regret
        self.step = inlined(step)
        self.at = at
        self.parameter_names = parameter_names
        self.optional = dict(optional or {})
        self.memory = memory
        self.exponential = exponential
        self.whole = whole
        self.payoff = None if payoff is None else inlined(payoff)
        self.pace = None if pace is None else inlined(pace)
        self.checks = dict(checks or {})
        self.n_parameters = len(at(np.ones(1), **dict.fromkeys(parameter_names, 1.0))) if at else 0
        # Saved files have the digest; "False" keeps the place of an option that was removed.
        self._register(
            f"{_digest(step)}/{self.n_parameters}/{len(memory)}/{exponential}/False"
            + ("/whole" if whole else "")
            + ("" if payoff is None else f"/{_digest(payoff)}")
            + ("" if pace is None else f"/pace {_digest(pace)}")
        )

    def _register(self, digest: str) -> None:
        """Register the compiled functions under a digest, by which rules are compared."""
        self.digest = digest
        # Rules are equal if they compute the same, with the same parameters and names.
        formula = _digest(self.at) if self.at else ""
        self._identity = (digest, self.name, self.parameter_names, self.memory, formula)
        _steps[digest], _payoffs[digest], _paces[digest] = self.step, self.payoff, self.pace

    def passing_up(self, which: str) -> LocalRule:
        """Return the rule with another infoset value that it passes up.

        Li, Hu, Qi, Song, "Efficient CFR for Imperfect Information Games with Instant Updates",
        2019.

        Args:
            which: ``"played"`` for the value of the strategy played, ``"new"`` for the value of the
                strategy that the step computes.
        """
        new = which == "new"
        if new == self.passes_new:
            return self
        rule = copy(self)
        rule.passes_new = new
        base = self.digest.removesuffix(NEW_STRATEGY_SUFFIX)
        rule._register(base + NEW_STRATEGY_SUFFIX if new else base)
        return rule

    @property
    def n_memory(self) -> int:
        """Number of values per sequence that the rule stores in addition to the regret."""
        return len(self.memory)

    @property
    def changes_payoffs(self) -> bool:
        """True if the rule changes the payoffs."""
        return self.payoff is not None

    @property
    def paced(self) -> bool:
        """True if the rule sets the pace of an infoset."""
        return self.pace is not None

    @property
    def is_scale_dependent(self) -> bool:
        """True if the strategy depends on the scale of regrets or payoffs.

        Infosets that the payoffs cannot tell apart are merged for other rules only, because the
        regret of the merged infoset is the sum of theirs.
        """
        return self.exponential or self.whole or self.changes_payoffs

    def problem(self) -> str | None:
        """Return the reason why numba cannot compile the rule, with file and line, or None."""
        number, name, reason = types.float64, repr(self.name), None
        parameter_types = types.UniTuple(number, self.n_parameters)
        argument_types: tuple[Any, ...] = (
            number,
            number,
            *[number] * self.n_memory,
            parameter_types,
        )
        if self.payoff is not None:
            reason = _problem(
                self.payoff, f"payoff of the rule {name}", argument_types, ["payoff", *self.memory]
            )
        if reason is None and self.pace is not None:
            reason = _problem(
                self.pace, f"pace of the rule {name}", (number, number, parameter_types), ["factor"]
            )
        if reason is None and self.whole:
            vector, matrix, cube = (types.Array(number, axes, "C") for axes in (1, 2, 3))
            argument_types = (matrix, matrix, matrix, vector, matrix, cube, parameter_types)
            reason = _problem(self.step, f"rule {name}", argument_types, None)
        elif reason is None:
            returned = ["regret", "preference", *self.memory]
            reason = _problem(self.step, f"rule {name}", argument_types, returned)
        return reason

    def __eq__(self, value: object) -> bool:
        return isinstance(value, LocalRule) and self._identity == value._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"<LocalRule {self.name}>"


@contextmanager
def rule_errors(rule: LocalRule) -> Iterator[None]:
    """Replace numba's error about a kernel by one line about the rule inside it.

    Raises:
        ValueError: The rule cannot be compiled; the message names file and line.
    """
    try:
        yield
    except NumbaError:
        problem = rule.problem()
        if problem is None:
            raise
        raise ValueError(problem) from None


def _problem(
    function: Callable[..., Any],
    description: str,
    argument_types: tuple[Any, ...],
    returned: list[str] | None,
) -> str | None:
    """Return the reason why numba cannot compile a function of a rule; None if it can.

    Args:
        function: The function.
        description: Name of the function in the message.
        argument_types: Numba types of its arguments.
        returned: Names of the numbers that it must return; None if it must return nothing.
    """
    compiled = numba.njit(function)
    try:
        compiled.compile(argument_types)
    except NumbaError as error:
        return f"the {description} cannot be compiled: {_reason(error, function)}"
    return_type = compiled.nopython_signatures[0].return_type
    if returned is None:
        is_right = return_type is types.none
        expected = "nothing, and leave in mean the values that are passed up; it"
    else:
        numbers = getattr(return_type, "types", (return_type,))
        is_right = len(numbers) == len(returned)
        is_right &= all(isinstance(number, types.Number) for number in numbers)
        expected = f"({', '.join(returned)}), numbers, and"
    code = function.__code__
    location = f"{code.co_filename}:{code.co_firstlineno}"
    return (
        None
        if is_right
        else f"the {description} must return {expected} returns {return_type}, at {location}"
    )


def _reason(error: NumbaError, step: Callable[..., Any]) -> str:
    """Return the line of numba's message that gives the reason, and the location in the source."""
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    file, line = places[-1] if places else (step.__code__.co_filename, step.__code__.co_firstlineno)
    reasons = [
        line for line in lines if not line.startswith(("Failed in", "During", "File", ">>>"))
    ]
    return f"{reasons[0] if reasons else lines[0]}, at {file}:{line}"


def _digest(function: Callable[..., Any]) -> str:
    """Return a digest of the function: its code and all values that it refers to.

    Compiled code is stored on disk under this digest.  So it must change with the function's
    meaning, including helper functions in other files.  It must change with the module too, because
    the compiled code refers to it.
    """
    parts: list[object] = [function.__module__]
    seen: set[int] = set()

    def add(value: object, names: tuple[str, ...] = ()) -> None:
        value = getattr(value, "py_func", value)
        code = getattr(value, "__code__", None)
        # Arrays by their content; modules by name, and by the attributes that the code uses.
        if isinstance(value, np.ndarray):
            parts.append((value.dtype.str, value.shape, value.tobytes()))
        elif isinstance(value, ModuleType):
            parts.append(value.__name__)
            if value.__name__.partition(".")[0] not in ("math", "numpy", "numba"):
                for name in names:
                    if hasattr(value, name):
                        add(getattr(value, name))
        elif not isinstance(code, CodeType):
            parts.append(repr(value))
        elif id(code) not in seen:
            seen.add(id(code))
            add_code(code, value.__globals__)  # type: ignore[attr-defined]
            parts.append(repr((value.__defaults__, value.__kwdefaults__)))  # type: ignore[attr-defined]
            for cell in value.__closure__ or ():  # type: ignore[attr-defined]
                add(cell.cell_contents)

    def add_code(code: CodeType, scope: dict[str, object]) -> None:
        parts.append(code.co_code)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                add_code(constant, scope)
            else:
                parts.append(repr(constant))
        for name in code.co_names:
            parts.append(name)
            if name in scope:
                add(scope[name], code.co_names)

    add(function)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


FACTS = {
    "n_memory": types.intp,
    "whole": types.boolean,
    "exponential": types.boolean,
    "changes_payoffs": types.boolean,
    "paced": types.boolean,
    "passes_new": types.boolean,
}
"""Attributes of a rule that kernels read, with their types.  They are compile-time constants, so
LLVM removes the branches not taken."""


class RuleType(types.Type):
    """Numba type of a :class:`LocalRule`; rules with the same digest share a type."""

    def __init__(self, rule: LocalRule) -> None:
        self.digest, self.n_parameters = rule.digest, rule.n_parameters
        self.known = {name: getattr(rule, name) for name in FACTS}
        # Numba compares types by name: rules with equal digests share compiled kernels.
        super().__init__(name=f"LocalRule({self.digest})")

    def __getattr__(self, name: str) -> Any:
        """Return a fact of the rule, for functions that choose an implementation by type."""
        if name not in FACTS:
            raise AttributeError(name)
        return self.known[name]


@typeof_impl.register(LocalRule)
def _typeof_rule(rule: LocalRule, context: object) -> RuleType:
    return _type_of(rule)


_type_of = cache(RuleType)
"""Return the type of a rule; cached, because every call of a kernel needs it."""


register_model(RuleType)(models.OpaqueModel)


@unbox(RuleType)
def _unbox_rule(typ: RuleType, rule: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


@infer_getattr
class _Attributes(AttributeTemplate):
    """Attributes of a rule inside a kernel: facts, and the step itself."""

    key = RuleType

    def generic_resolve(self, rule: Any, name: str) -> Any:  # type: ignore[override]
        """Return the type of an attribute; None if it does not exist."""
        if name == "step":
            return self.context.resolve_value_type(_steps[rule.digest])
        return FACTS.get(name)


@lower_getattr_generic(RuleType)
def _attribute(context: Any, builder: Any, kind: RuleType, value: Any, name: str) -> Any:
    if name == "step":
        return context.get_dummy_value()
    return context.get_constant(FACTS[name], kind.known[name])


def apply(
    rule: LocalRule,
    regret: float,
    instant: float,
    memory: np.ndarray,
    sequence: int | np.uint64,
    parameters: tuple[float, ...],
) -> tuple[float, float]:
    """Apply the rule's step to one sequence, inside a kernel.

    Args:
        rule: The rule.
        regret: Cumulative regret of the sequence.
        instant: Instantaneous regret of the sequence.
        memory: float64 (stored, sequences): further numbers of the rule, modified in place.
        sequence: The sequence.
        parameters: The rule's parameters at this iteration.

    Returns:
        The new cumulative regret and the preference.
    """
    stored = memory[:, sequence]
    new, preference, *stored[:] = rule.step(regret, instant, *stored, parameters)
    return new, preference


@overload_piece(apply)
def _apply(rule, regret, instant, memory, sequence, parameters):  # type: ignore[no-untyped-def]
    if rule.whole:  # Never called, but compiled.
        return lambda rule, regret, instant, memory, sequence, parameters: (regret, instant)
    return _with_memory(rule, _steps, "regret, instant", "new, preference")


def _with_memory(rule: RuleType, functions: Mapping[str, Any], arguments: str, results: str) -> Any:
    """Return a function that calls a function of the rule for one sequence, and updates its memory.

    Args:
        rule: The rule.
        functions: The functions by digest.
        arguments: Names of the arguments before the memory.
        results: Names of the results before the memory, which the returned function returns.
    """
    stored = range(rule.n_memory)
    before = "".join(f"memory[{k}, sequence], " for k in stored)
    after = "".join(f", kept_{k}" for k in stored)
    # Generated, because numba needs the number of arguments and results when it compiles.
    lines = [
        f"def call(rule, {arguments}, memory, sequence, parameters):",
        f"    {results}{after} = function({arguments}, {before}parameters)",
        *(f"    memory[{k}, sequence] = kept_{k}" for k in stored),
        f"    return {results}",
    ]
    scope = {"function": functions[rule.digest]}
    exec("\n".join(lines), scope)
    return scope["call"]


def apply_payoff(
    rule: LocalRule,
    payoff: float,
    reach: float,
    memory: np.ndarray,
    sequence: int,
    parameters: tuple[float, ...],
) -> float:
    """Return the payoff of one sequence as changed by the rule, inside a kernel.

    Args:
        rule: The rule.
        payoff: Counterfactual payoff of the sequence.
        reach: Own reach of the sequence.
        memory: float64 (stored, sequences): further numbers of the rule, modified in place.
        sequence: The sequence.
        parameters: The rule's parameters at this iteration.
    """
    assert rule.payoff is not None
    stored = memory[:, sequence]
    returned = rule.payoff(payoff, reach, *stored, parameters)
    new, *stored[:] = returned if len(stored) else (returned,)
    return new


@overload_piece(apply_payoff)
def _apply_payoff(rule, payoff, reach, memory, sequence, parameters):  # type: ignore[no-untyped-def]
    if not rule.changes_payoffs:  # Never called, but compiled.
        return lambda rule, payoff, reach, memory, sequence, parameters: payoff
    return _with_memory(rule, _payoffs, "payoff, reach", "new")


def apply_pace(
    rule: LocalRule, agreement: float, size: float, parameters: tuple[float, ...]
) -> float:
    """Compute the rule's pace at one infoset, inside a kernel."""
    assert rule.pace is not None
    return rule.pace(agreement, size, parameters)


@overload_piece(apply_pace)
def _apply_pace(rule, agreement, size, parameters):  # type: ignore[no-untyped-def]
    if not rule.paced:  # Never called, but compiled.
        return lambda rule, agreement, size, parameters: agreement
    function = _paces[rule.digest]
    return lambda rule, agreement, size, parameters: function(agreement, size, parameters)


def parameters_of(rule: LocalRule, row: np.ndarray, floats: np.ndarray) -> tuple[float, ...]:
    """Return the rule's parameters at one iteration as a tuple, inside a kernel.

    They have the precision of ``floats``.  A kernel in single precision takes half the time,
    provided that no operand has double precision.
    """
    return tuple(floats.dtype.type(value) for value in row)


@overload_piece(parameters_of)
def _parameters_of(rule, row, floats):  # type: ignore[no-untyped-def]
    body = "".join(f"floats.dtype.type(row[{i}]), " for i in range(rule.n_parameters))
    scope: dict[str, Any] = {}
    exec(f"def take(rule, row, floats):\n    return ({body})\n", scope)
    return scope["take"]
