"""Start ministack with what it lacks: `<its python> <this folder>`. This is the one place that changes it.

The folder is run by its path, in the environment that ministack is installed in: nothing here imports Leasehold, and
modules of this folder find each other by their bare names. A shim is a module with `install()`, named in `SHIMS`.
"""

from __future__ import annotations

from importlib import import_module

SHIMS = ("guard", "rights", "streams", "function_processes", "policy_simulation")


def main() -> None:
    for name in SHIMS:
        import_module(name).install()
    import_module("ministack.app").main()


if __name__ == "__main__":
    main()
