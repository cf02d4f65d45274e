"""Local rules: the few lines of arithmetic in which one variant of CFR differs from another.

A local rule is a function of scalars,

    step(regret, instant, parameters) -> (regret, preference)

applied to every sequence of the player who updates, once per infoset and iteration: the
cumulative regret so far, the instantaneous counterfactual regret of this iteration and the
rule's parameters at this iteration give the new cumulative regret and the preference, the
number from which the next strategy is taken: by regret matching (positive parts, normalised)
or as the exponent of a weight.  A rule that keeps more per sequence than a regret declares
``memory`` and takes and returns it too,

    step(regret, instant, memory_1, ..., parameters) -> (regret, preference, memory_1, ...)

A rule that looks at all actions of an infoset together is ``whole``.  Its step works on arrays,
with a row per action and a column per infoset, which it modifies in place, and makes the next
strategies itself; ``mean`` becomes the values that are passed up:

    step(regret, instant, value, mean, strategy, memory, parameters)

A rule may also change the payoffs, by own reach, before values are made of them:

    payoff(payoff, reach, memory_1, ..., parameters) -> (payoff, memory_1, ...)

and it may set the pace of an infoset, a factor of its cumulative regrets before each step, by how
well its instantaneous regrets agree with those before:

    pace(agreement, size, parameters) -> factor

To the kernels a rule is a *type*: they are compiled once for each rule, with its arithmetic
inlined into their inner loops, and later processes find the compiled code again by what the
rule computes.  The rules of this library come in by the same door as yours.
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

from .._util.arguments import Check
from .._util.jit import inlined, typed

_steps: dict[str, Any] = {}
"""Compiled step functions by digest; what :class:`RuleType` stands for."""
_payoffs: dict[str, Any] = {}
"""Functions that change payoffs, likewise."""
_paces: dict[str, Any] = {}
"""Functions that set the pace, likewise."""

NEW = "/new"
"""End of the digest of rules that pass the value of the new strategy up."""


class LocalRule:
    """A local rule that kernels accept as an argument.

    Args:
        name: What error messages and descriptions call it.
        step: The rule, on float64 scalars, in the subset of Python that numba compiles;
            ``parameters`` is a tuple of float64.
        at: ``at(t, **parameters)``: the step's parameters at iterations ``t`` (a float64 array),
            a tuple of float64 arrays; without it the step has none.
        parameter_names: The keyword arguments of ``at``.
        optional: More of them, which records may leave out, and what they are then.
        memory: Names of what the rule keeps per sequence beside the regret; it begins as 0, and
            is saved and resumed with the rest.
        exponential: Whether the strategy is proportional to ``exp(preference)`` rather than to
            the positive part of the preference.
        forecast: Whether the next strategy leans on forecast regrets, which are added to the
            preference: the regrets that each sequence would have against the same opponents if
            the player already played the new strategy further down (Farina et al. 2021).
        matches_regret: Whether ``step`` always returns the new regret as the preference, too.  Then
            the next strategy can be made from the regret by regret matching, and solvers of large
            games need not keep it.
        whole: Whether ``step`` works on all actions together, and on many infosets at a time: on
            ``regret``, ``instant``, ``value`` (counterfactual values) and ``strategy``, float64
            (actions, infosets), on ``mean``, float64 (infosets,), the values of the strategies
            played, and on ``memory``, float64 (kept, actions, infosets).  It modifies regret,
            strategy and memory in place, and leaves in ``mean`` the values of the infosets for the
            sequences before them; the rest is scratch.  Its strategies sum to 1.  For rules without
            a forecast.
        payoff: What the counterfactual payoff of a sequence becomes, on float64 scalars:
            ``payoff(g, reach, memory_1, ..., parameters)`` returns it and what the rule keeps (if
            that is nothing, the number alone).  ``reach`` is own reach of the sequence.
        pace: Factor of an infoset's cumulative regrets before the step, on float64 scalars:
            ``pace(agreement, size, parameters)``.  ``agreement`` is the cosine of the angle
            between the instantaneous regrets and the first number that the rule keeps, a mean of
            earlier ones, over the actions that are played or would have gained.  ``size`` is the
            sum of the positive cumulative regrets over the length of those instantaneous regrets,
            at least 2 ** -40.  The factor is 1 if either vector has no length, and at most 1 if
            ``size`` exceeds 2 ** 40.  Instantaneous regrets are against the rule's own strategy,
            without a floor.
        checks: What parameters must be that may not be just any number, by name.
    """

    passes_new = False
    """Whether the value of an infoset is that of the strategy that the step makes, instead of the
    strategy played; see :meth:`passing_up`."""

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
        forecast: bool = False,
        matches_regret: bool = False,
        whole: bool = False,
        payoff: Callable[..., Any] | None = None,
        pace: Callable[..., float] | None = None,
        checks: Mapping[str, Check] | None = None,
    ) -> None:
        if matches_regret and (exponential or forecast or whole):
            raise ValueError(
                f"{name}: the strategies of a rule with exponents or a forecast, or of a whole "
                "rule, are no matter of regret matching alone; matches_regret must be False"
            )
        if whole and forecast:
            raise ValueError(f"{name}: a whole rule makes its strategy itself; it has no forecast")
        if pace is not None and (whole or forecast or exponential or matches_regret or not memory):
            raise ValueError(
                f"{name}: a pace is for rules that keep a mean of regrets and make strategies by "
                "regret matching from a preference; not for whole rules, nor those with exponents "
                "or a forecast"
            )
        self.name = name
        self.matches_regret = matches_regret
        self.step = inlined(step)
        self.at = at
        self.parameter_names = parameter_names
        self.optional = dict(optional or {})
        self.memory = memory
        self.exponential = exponential
        self.forecast = forecast
        self.whole = whole
        self.payoff = None if payoff is None else inlined(payoff)
        self.pace = None if pace is None else inlined(pace)
        self.checks = dict(checks or {})
        self.n_parameters = len(at(np.ones(1), **dict.fromkeys(parameter_names, 1.0))) if at else 0
        self._enter(
            f"{_digest(step)}/{self.n_parameters}/{len(memory)}/{exponential}/{forecast}"
            + ("/whole" if whole else "")
            + ("" if payoff is None else f"/{_digest(payoff)}")
            + ("" if pace is None else f"/pace {_digest(pace)}")
        )

    def _enter(self, digest: str) -> None:
        """Make the compiled step known under a digest, and the rule equal to others of it."""
        self.digest = digest
        formula = _digest(self.at) if self.at else ""
        self._meaning = (digest, self.name, self.parameter_names, self.memory, formula)
        _steps[digest], _payoffs[digest], _paces[digest] = self.step, self.payoff, self.pace

    def passing_up(self, which: str) -> LocalRule:
        """The rule with another value of an infoset for the sequence before it: that of the
        strategy ``"played"``, or of the ``"new"`` one, which the step makes.

        Li, Hu, Qi, Song, "Efficient CFR for Imperfect Information Games with Instant Updates",
        2019.
        """
        new = which == "new"
        if new == self.passes_new:
            return self
        rule = copy(self)
        rule.passes_new = new
        base = self.digest.removesuffix(NEW)
        rule._enter(base + NEW if new else base)
        return rule

    @property
    def n_memory(self) -> int:
        """How many numbers the rule keeps per sequence beside the regret."""
        return len(self.memory)

    @property
    def changes_payoffs(self) -> bool:
        """Whether the rule changes the payoffs."""
        return self.payoff is not None

    @property
    def paced(self) -> bool:
        """Whether the rule sets the pace of an infoset."""
        return self.pace is not None

    @property
    def minds_scale(self) -> bool:
        """Whether the strategy depends on the size of regrets or payoffs: if so, infosets that the
        payoffs cannot tell apart are not solved as one, whose regrets are the sum of theirs."""
        return self.exponential or self.whole or self.changes_payoffs

    def problem(self) -> str | None:
        """What keeps numba from compiling the step, with file and line; None if nothing does."""
        number, name, found = types.float64, repr(self.name), None
        last = types.UniTuple(number, self.n_parameters)
        taken: tuple[Any, ...] = (number, number, *[number] * self.n_memory, last)
        if self.payoff is not None:
            found = _problem(
                self.payoff, f"payoff of the rule {name}", taken, ["payoff", *self.memory]
            )
        if found is None and self.pace is not None:
            found = _problem(
                self.pace, f"pace of the rule {name}", (number, number, last), ["factor"]
            )
        if found is None and self.whole:
            one, two, three = (types.Array(number, axes, "C") for axes in (1, 2, 3))
            taken = (two, two, two, one, two, three, last)
            found = _problem(self.step, f"rule {name}", taken, None)
        elif found is None:
            returned = ["regret", "preference", *self.memory]
            found = _problem(self.step, f"rule {name}", taken, returned)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalRule) and self._meaning == other._meaning

    def __hash__(self) -> int:
        return hash(self._meaning)

    def __repr__(self) -> str:
        return f"<LocalRule {self.name}>"


@contextmanager
def rule_errors(rule: LocalRule) -> Iterator[None]:
    """Say what is wrong with a rule in one line, where numba shows the kernel around it.

    Raises:
        ValueError: The rule cannot be compiled; names file and line.
    """
    try:
        yield
    except NumbaError:
        problem = rule.problem()
        if problem is None:
            raise
        raise ValueError(problem) from None


def _problem(
    function: Callable[..., Any], what: str, taken: tuple[Any, ...], returned: list[str] | None
) -> str | None:
    """What keeps numba from compiling one of a rule's functions for arguments of some types.

    Args:
        function: The function.
        what: What it is.
        taken: The types.
        returned: Names of the numbers that it must return; None if it must return nothing.
    """
    alone = numba.njit(function)
    try:
        alone.compile(taken)
    except NumbaError as error:
        return f"the {what} cannot be compiled: {_reason(error, function)}"
    found = alone.nopython_signatures[0].return_type
    if returned is None:
        is_right = found is types.none
        wanted = "nothing, and leave in mean the values that are passed up; it"
    else:
        numbers = getattr(found, "types", (found,))
        is_right = len(numbers) == len(returned)
        is_right &= all(isinstance(one, types.Number) for one in numbers)
        wanted = f"({', '.join(returned)}), numbers, and"
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    return None if is_right else f"the {what} must return {wanted} returns {found}, at {place}"


def _reason(error: NumbaError, step: Callable[..., Any]) -> str:
    """The line of numba's message that says why, and the place in the source."""
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    file, line = places[-1] if places else (step.__code__.co_filename, step.__code__.co_firstlineno)
    said = [line for line in lines if not line.startswith(("Failed in", "During", "File", ">>>"))]
    return f"{said[0] if said else lines[0]}, at {file}:{line}"


def _digest(function: Callable[..., Any]) -> str:
    """A fingerprint of what a function computes: its code, and the values that it refers to.

    Compiled code is kept on disk under this fingerprint, so it must change whenever the
    function's meaning does, also by way of a helper function in another file; and with the
    module, which the compiled code refers to.
    """
    parts: list[object] = [function.__module__]
    seen: set[int] = set()

    def add(value: object, names: tuple[str, ...] = ()) -> None:
        value = getattr(value, "py_func", value)
        code = getattr(value, "__code__", None)
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
    "forecast": types.boolean,
    "changes_payoffs": types.boolean,
    "paced": types.boolean,
    "passes_new": types.boolean,
}
"""What kernels ask of a rule, as attributes of it.  It is known when they are compiled, so that
LLVM leaves one branch only."""


class RuleType(types.Type):
    """The type that numba gives a :class:`LocalRule`: one type per meaning."""

    def __init__(self, rule: LocalRule) -> None:
        self.digest, self.n_parameters = rule.digest, rule.n_parameters
        self.known = {name: getattr(rule, name) for name in FACTS}
        super().__init__(name=f"LocalRule({self.digest})")

    def __getattr__(self, name: str) -> Any:
        """What kernels ask, for functions that choose between pieces of them."""
        if name not in FACTS:
            raise AttributeError(name)
        return self.known[name]


@typeof_impl.register(LocalRule)
def _typeof_rule(rule: LocalRule, context: object) -> RuleType:
    return _type_of(rule)


_type_of = cache(RuleType)
"""Made once for a rule: a call of a kernel asks for it."""


register_model(RuleType)(models.OpaqueModel)


@unbox(RuleType)
def _unbox_rule(typ: RuleType, rule: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


@infer_getattr
class _Attributes(AttributeTemplate):
    """The attributes of a rule from inside a kernel: facts, and the step itself."""

    key = RuleType

    def generic_resolve(self, rule: Any, name: str) -> Any:  # type: ignore[override]
        """The type of an attribute; None if there is no such."""
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
    """The rule's step for one sequence, from inside a kernel.

    Args:
        rule: The rule.
        regret: Cumulative regret of the sequence.
        instant: Its instantaneous regret.
        memory: float64 (kept, sequences): what the rule keeps; modified in place.
        sequence: The sequence.
        parameters: The rule's parameters at this iteration.

    Returns:
        The new cumulative regret and the preference.
    """
    kept = memory[:, sequence]
    new, preference, *kept[:] = rule.step(regret, instant, *kept, parameters)
    return new, preference


@typed(apply)
def _apply(rule, regret, instant, memory, sequence, parameters):  # type: ignore[no-untyped-def]
    if rule.whole:  # Never called, but compiled.
        return lambda rule, regret, instant, memory, sequence, parameters: (regret, instant)
    return _with_memory(rule, _steps, "regret, instant", "new, preference")


def _with_memory(rule: RuleType, functions: Mapping[str, Any], given: str, found: str) -> Any:
    """A call of one of the rule's functions for a sequence, which takes and returns the numbers
    that the rule keeps of it, too.

    Args:
        rule: The rule.
        functions: The functions by digest.
        given: Names of what the function takes before these numbers.
        found: Names of what it returns before them, which the call returns.
    """
    kept = range(rule.n_memory)
    before = "".join(f"memory[{k}, sequence], " for k in kept)
    after = "".join(f", kept_{k}" for k in kept)
    lines = [
        f"def call(rule, {given}, memory, sequence, parameters):",
        f"    {found}{after} = function({given}, {before}parameters)",
        *(f"    memory[{k}, sequence] = kept_{k}" for k in kept),
        f"    return {found}",
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
    """The payoff of one sequence as the rule changes it, from inside a kernel; arguments as for
    :func:`apply`, and own reach of the sequence."""
    assert rule.payoff is not None
    kept = memory[:, sequence]
    found = rule.payoff(payoff, reach, *kept, parameters)
    new, *kept[:] = found if len(kept) else (found,)
    return new


@typed(apply_payoff)
def _apply_payoff(rule, payoff, reach, memory, sequence, parameters):  # type: ignore[no-untyped-def]
    if not rule.changes_payoffs:  # Never called, but compiled.
        return lambda rule, payoff, reach, memory, sequence, parameters: payoff
    return _with_memory(rule, _payoffs, "payoff, reach", "new")


def apply_pace(
    rule: LocalRule, agreement: float, size: float, parameters: tuple[float, ...]
) -> float:
    """Compute the rule's pace at one infoset, from inside a kernel."""
    assert rule.pace is not None
    return rule.pace(agreement, size, parameters)


@typed(apply_pace)
def _apply_pace(rule, agreement, size, parameters):  # type: ignore[no-untyped-def]
    if not rule.paced:  # Never called, but compiled.
        return lambda rule, agreement, size, parameters: agreement
    function = _paces[rule.digest]
    return lambda rule, agreement, size, parameters: function(agreement, size, parameters)


def parameters_of(rule: LocalRule, row: np.ndarray, floats: np.ndarray) -> tuple[float, ...]:
    """The rule's parameters at one iteration, as a tuple, from inside a kernel.

    They are in the floats of the third argument: in single precision a kernel takes half the time
    where no operand is of double precision.
    """
    return tuple(floats.dtype.type(value) for value in row)


@typed(parameters_of)
def _parameters_of(rule, row, floats):  # type: ignore[no-untyped-def]
    body = "".join(f"floats.dtype.type(row[{i}]), " for i in range(rule.n_parameters))
    scope: dict[str, Any] = {}
    exec(f"def take(rule, row, floats):\n    return ({body})\n", scope)
    return scope["take"]
