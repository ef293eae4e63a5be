"""Dataclasses that are quick to define, since every one of them is defined anew at each cold start.

To a type checker this is `dataclasses.dataclass`. At run time the standard one compiles up to six methods for each
class, which took two thirds of the time that Leasehold needed to be imported. Here a class gets of its own only what
makes and freezes it, and shares the rest with all classes.
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
            made = dataclasses.dataclass(cls, repr=False, eq=False, frozen=frozen, slots=slots, kw_only=kw_only)
            fields = dataclasses.fields(made)
            made._compared = _getter([each.name for each in fields if each.compare])
            made._hashed = _getter([each.name for each in fields if (each.compare if each.hash is None else each.hash)])
            # What a class says for itself stands.
            own = vars(cls)
            for name, method in (("__repr__", _repr), ("__eq__", _eq)):
                if name not in own:
                    setattr(made, name, method)
            if "__hash__" not in own or own["__hash__"] is None:
                made.__hash__ = _hash if frozen else None
            return made

        return define

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
