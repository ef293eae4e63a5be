"""Dataclasses that are quick to define, since every one of them is defined anew at each cold start.

To a type checker this is `dataclasses.dataclass`. At run time the standard one compiles up to six methods for each
class, which took two thirds of the time that Leasehold needed to be imported. Here a class gets of its own only its
`__init__`, when it is first needed, which most classes never are in a function; it shares the rest with all classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(*, frozen=False, slots=False, kw_only=False):
        def define(cls):
            # Without a docstring the standard decorator would make one, from a signature that is slow to get.
            cls.__doc__ = cls.__doc__ or cls.__name__
            made = dataclasses.dataclass(
                cls, init=False, repr=False, eq=False, frozen=False, slots=slots, kw_only=kw_only
            )
            fields = dataclasses.fields(made)
            made._compared = _getter([each.name for each in fields if each.compare])
            made._hashed = _getter([each.name for each in fields if (each.compare if each.hash is None else each.hash)])
            # What a class says for itself stands.
            own = vars(cls)
            shared = {"__init__": _Init(made, frozen=frozen, slots=slots), "__repr__": _repr, "__eq__": _eq}
            for name, method in (shared | _FROZEN if frozen else shared).items():
                if name not in own:
                    setattr(made, name, method)
            if "__hash__" not in own or own["__hash__"] is None:
                made.__hash__ = _hash if frozen else None
            return made

        return define

    class _Init:
        """Stands for the `__init__` of a class until it is asked for, which compiles it."""

        def __init__(self, cls, **options):
            self._class, self._options = cls, options

        def __get__(self, instance, owner=None):
            fields = [(each.name, each.type, each) for each in dataclasses.fields(self._class)]
            own = {"__doc__": self._class.__doc__}
            if hasattr(self._class, "__post_init__"):
                own["__post_init__"] = self._class.__post_init__
            alike = dataclasses.make_dataclass(
                self._class.__name__, fields, namespace=own, repr=False, eq=False, **self._options
            )
            self._class.__init__ = made = alike.__init__
            return made if instance is None else made.__get__(instance)

    def _refuse(self, name, *_):
        raise dataclasses.FrozenInstanceError(f"cannot assign to or delete {name!r}: {type(self).__name__} is frozen")

    def _getstate(self):
        return [getattr(self, each.name) for each in dataclasses.fields(self)]

    def _setstate(self, state):
        for each, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, each.name, value)

    _FROZEN = {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _getstate, "__setstate__": _setstate}

    def _getter(names):
        return staticmethod(attrgetter(*names) if names else lambda _: ())

    def _repr(self):
        shown = (each.name for each in dataclasses.fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _eq(self, other):
        if self.__class__ is not other.__class__:
            return NotImplemented
        return self._compared(self) == self._compared(other)

    def _hash(self):
        return hash(self._hashed(self))
