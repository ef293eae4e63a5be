"""No starvation: once nothing goes wrong any more, what is due and may run is claimed within two ticks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import from_text
from tests.simulation.invariants.violation import hold
from tests.simulation.kernel import START

if TYPE_CHECKING:
    from tests.simulation.world import World

# Until then late calls arrive, what was stopped is started again, and work that was left lying is done.
_SETTLING = 125.0
_TWO_TICKS = timedelta(seconds=125)
_CALLS = 100
# Each page that is claimed or put into its lane, and the visits to lines in between.
_CALLS_A_PAGE = 15


def check_patience(old: dict[str, Any], world: World) -> None:
    if world.kernel.seconds < world.plan.calm_at + _SETTLING or old.get("due_lane", "hold").startswith("hold"):
        return
    settled = START + timedelta(seconds=world.plan.calm_at + _SETTLING)
    due_at = from_text(old["due_key"].partition("#")[0])
    waited = world.kernel.now - max(settled, due_at)
    # A poll that makes slow calls takes long itself, and longer where pages are small and all stand before this one.
    calls = _CALLS + _CALLS_A_PAGE * len(world.watch.mirror.jobs) / world.plan.page
    most = _TWO_TICKS + timedelta(seconds=2 * world.plan.skew + calls * world.plan.latency)
    hold(waited <= most, "nothing starves", f"{old['job_type']} {old['job_id'][-6:]} waited for {waited}")
