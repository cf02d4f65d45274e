"""Old names of the public interface: they work for one version, with a DeprecationWarning.

* :func:`renamed_attributes`: attributes, methods and fields of a class;
* :func:`renamed_parameters`: parameters of a function or method;
* :func:`renamed_in_module`: functions, classes and constants of a module.

To retire the old names of a version, delete these calls.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

C = TypeVar("C", bound=type)
P = ParamSpec("P")
R = TypeVar("R")


class Renamed(NamedTuple):
    """Name of the public interface that has changed."""

    kind: str
    """``"attribute"``, ``"parameter"`` or ``"module"``: the owner of the name is a class, a
    function or a module."""
    owner: Any
    """The class or function; of a module its name."""
    old: str
    new: str


RENAMED: list[Renamed] = []
"""All old names that still work."""


class _OldAttribute:
    """Attribute of a class that reads and sets the attribute of the new name."""

    def __init__(self, owner: type, old: str, new: str) -> None:
        self.owner, self.old, self.new = owner, old, new

    def __get__(self, instance: object | None, owner: type) -> Any:
        _warn(f"{self.owner.__name__}.{self.old}", self.new)
        return getattr(owner if instance is None else instance, self.new)

    def __set__(self, instance: object, value: Any) -> None:
        _warn(f"{self.owner.__name__}.{self.old}", self.new)
        setattr(instance, self.new, value)


def renamed_attributes(**names: str) -> Callable[[C], C]:
    """Accept the old names of attributes, methods and fields of a class.

    Subclasses that define an attribute under its old name define the new one.  If the class is a
    dataclass or named tuple, its constructor also takes the old names of fields.

    Args:
        names: New name of each old name.
    """

    def decorate(owner: C) -> C:
        any_class: Any = owner
        fields = getattr(owner, "_fields", getattr(owner, "__dataclass_fields__", ()))
        in_constructor = {old: new for old, new in names.items() if new in fields}
        constructor = "__new__" if hasattr(owner, "_fields") else "__init__"
        if in_constructor:
            make = getattr(owner, constructor)
            setattr(owner, constructor, _translate(make, owner.__name__, in_constructor))
        before = any_class.__dict__.get("__init_subclass__")

        def init_subclass(cls: type, /, **options: Any) -> None:
            for old, new in names.items():
                if old in cls.__dict__:
                    _warn(f"{cls.__name__}.{old}", new)
                    setattr(cls, new, cls.__dict__[old])
                    delattr(cls, old)
            if before is None:
                super(any_class, cls).__init_subclass__(**options)
            else:
                before.__func__(cls, **options)

        for old, new in names.items():
            setattr(owner, old, _OldAttribute(owner, old, new))
            RENAMED.append(Renamed("attribute", owner, old, new))
        any_class.__init_subclass__ = classmethod(init_subclass)
        return owner

    return decorate


def renamed_parameters(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept the old names of parameters of a function in calls by keyword.

    Args:
        names: New name of each old name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        call = _translate(function, f"{function.__qualname__}()", names)
        RENAMED.extend(Renamed("parameter", call, old, new) for old, new in names.items())
        return call

    return decorate


def renamed_in_module(module: str, **names: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module, which finds its members under their old names.

    Args:
        module: Name of the module.
        names: New name of each old name.
    """
    RENAMED.extend(Renamed("module", module, old, new) for old, new in names.items())

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", names[name])
        return getattr(sys.modules[module], names[name])

    return get


def _translate(function: Callable[P, R], place: str, names: Mapping[str, str]) -> Callable[P, R]:
    """Return a function that also takes old names of parameters."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for old in names.keys() & kwargs.keys():
            new = names[old]
            if new in kwargs:
                raise TypeError(f"{place} takes {new!r} once; {old!r} is its old name")
            _warn(f"{old}= of {place}", f"{new}=")
            kwargs[new] = kwargs.pop(old)
        return function(*args, **kwargs)

    return call


def _warn(place: str, new: str) -> None:
    """Warn the caller of the caller that a name is an old one."""
    words = f"{place} is now called {new}; the next version removes the old name"
    warnings.warn(words, DeprecationWarning, stacklevel=3)
