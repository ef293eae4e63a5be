"""How many requests one page may make. Every read of a listing is paid from one budget."""

from __future__ import annotations

MAX_REQUESTS = 10


class Budget:
    def __init__(self, requests: int = MAX_REQUESTS) -> None:
        self.left = requests

    def spend(self, requests: int = 1) -> None:
        assert self.left >= requests, "a listing must look at its budget before it reads"
        self.left -= requests
