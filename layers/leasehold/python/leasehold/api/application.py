"""The API as a function from requests to answers, on Powertools' resolver for HTTP APIs."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from leasehold.admin.reading import Admin
from leasehold.api.answers import internal_problem, problem_of
from leasehold.api.errors import MethodNotAllowedError, NotAllowedError, UnknownRouteError
from leasehold.api.idempotency import Asked
from leasehold.api.operations import Call, Operation
from leasehold.api.requests import body_of, fingerprint_of, key_of, query_of
from leasehold.api.routes import dead_letters, groups, jobs, schedules, system, templates
from leasehold.kernel.errors import LeaseholdError
from leasehold.lean import dataclass
from leasehold.queue import Queue

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Caller
    from leasehold.kernel.services import Services


# API Gateway gives up after 30 s.
PATIENCE = timedelta(seconds=25)
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_LOGGER = logging.getLogger("leasehold.api")

type Event = Mapping[str, Any]


@dataclass(kw_only=True)
class Application:
    """authenticate: says who calls, or raises.

    start_run: has a direct run done elsewhere.
    patience: how long these are waited for.
    """

    services: Services
    authenticate: Callable[[Event], Caller]
    start_run: Callable[[str], None]
    patience: timedelta = PATIENCE
    resolver: APIGatewayHttpResolver = field(init=False)

    def __post_init__(self) -> None:
        # Reads are the same for everybody, and figures are kept for all who look.
        self._admin = Admin(self.services)
        self.resolver = APIGatewayHttpResolver()
        for operation in OPERATIONS:
            rule = operation.path.replace("{", "<").replace("}", ">")
            self.resolver.route(rule, operation.method)(self._endpoint(operation))
        self.resolver.not_found(lambda _: self._safely(self._lost))

    def answer(self, event: Event, context: Any = None) -> dict[str, Any]:
        """The answer as API Gateway takes it, to a request as API Gateway passes it on."""
        return self.resolver.resolve(event, context)

    def _endpoint(self, operation: Operation) -> Callable[..., Response[str]]:
        return lambda **path: self._safely(lambda event: self._perform(operation, path, event))

    def _perform(self, operation: Operation, path: Mapping[str, str], event: Event) -> Answer:
        caller = self.authenticate(event)
        if caller.role is None or caller.role < operation.role:
            raise NotAllowedError(caller.identity.actor(), caller.role, operation.role)
        query, body, key = query_of(event, operation), body_of(event, operation), key_of(event, operation)
        # Who only reads is not asked for: the console answers too where AWS does not say who its operator is.
        call = Call(
            queue=Queue(self.services.acting_as(caller.identity)),
            read=self._admin.read,
            audit=self._admin.audit,
            start_run=self.start_run,
            patience=self.patience,
            asked=None
            if key is None
            else Asked(caller.identity.actor(), operation.route, key, fingerprint_of(path, body)),
        )
        return operation.perform(call, path, query, body)

    def _lost(self, event: Event) -> Answer:
        """Not even what there is is told to strangers."""
        caller = self.authenticate(event)
        http = event["requestContext"]["http"]
        method, path = str(http["method"]), str(event.get("rawPath") or "")
        if caller.role is None:
            raise NotAllowedError(caller.identity.actor(), None, None)
        allowed = [each.method for each in OPERATIONS if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each.path), path)]
        # A name in the path that cannot be one, by its characters, is a thing that is not there.
        if allowed and method not in allowed:
            raise MethodNotAllowedError(method, path, allowed)
        raise UnknownRouteError(method, path)

    def _safely(self, act: Callable[[Event], Answer]) -> Response[str]:
        event = self.resolver.current_event.raw_event
        request_id = str(event.get("requestContext", {}).get("requestId", "-"))
        try:
            answer = act(event)
        except LeaseholdError as error:
            answer = problem_of(error, request_id=request_id)
            if answer.status >= 500:
                _LOGGER.exception("the API could not answer request %s: %s", request_id, error.code)
        except Exception:
            _LOGGER.exception("the API failed on request %s", request_id)
            answer = internal_problem(request_id)
        return Response(
            status_code=answer.status,
            content_type=answer.content_type,
            body=answer.body,
            headers={**HEADERS, **answer.headers},
        )


OPERATIONS = tuple(
    each
    for routes in (jobs, dead_letters, schedules, templates, groups, system)
    for each in vars(routes).values()
    if isinstance(each, Operation)
)
