"""Dataclasses that are quick to define, since every one of them is defined anew at each cold start.

To a type checker this is `dataclasses.dataclass`, `frozen` and all. At run time the standard one compiles six methods
for each class, which took two thirds of the time that Leasehold needed to be imported. Here a class gets an `__init__`
of its own, and shares the others with all classes; that nobody assigns to a frozen one is for type checkers to see.
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
            made = dataclasses.dataclass(cls, init=True, repr=False, eq=False, slots=slots, kw_only=kw_only)
            names = [each.name for each in dataclasses.fields(made) if each.compare]
            made._compared = staticmethod(attrgetter(*names) if names else lambda _: ())
            # What a class says for itself stands.
            own = vars(cls)
            for name, method in (("__repr__", _repr), ("__eq__", _eq)):
                if name not in own:
                    setattr(made, name, method)
            if "__hash__" not in own or own["__hash__"] is None:
                made.__hash__ = _hash if frozen else None
            return made

        return define

    def _repr(self):
        shown = (each.name for each in dataclasses.fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _eq(self, other):
        if self.__class__ is not other.__class__:
            return NotImplemented
        return self._compared(self) == self._compared(other)

    def _hash(self):
        return hash(self._compared(self))
