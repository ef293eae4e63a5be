"""Probe: the very statements of the store, on the deployed table, in a partition and a lane that nobody else reads."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.kernel.dynamodb.expressions import insert_statement, to_item, update_statement, write_request
from leasehold.kernel.job import Job, job_record
from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.keys import Due, JobPartition, Priority, make_job_id
from leasehold.kernel.table import JOBS, Key, Put, Update, plain
from leasehold.kernel.transitions import CLAIM, COMPLETE, START, JobStatus
from leasehold.verify.report import NotShown, StandIn, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.transitions import Transition
    from leasehold.verify.report import Report
    from leasehold.verify.site import Site

PHASE = "probe"
# Write units of each write of a plain job, as docs/cost.md adds them up.
UNITS = {"insert": 2, "claim": 3, "start": 1, "complete": 2}
_REFUSED, _LATE = "ConditionalCheckFailed", "ConditionalCheckFailed with the item"
_KEPT = timedelta(hours=1)


def probe(site: Site, report: Report, run: str) -> None:
    asked = _Asked(site, f"verify#{run}")
    # What is asked, what AWS is to answer, and the write units of that.
    questions: tuple[tuple[str, Callable[[], list[str]], list[str], int], ...] = (
        ("an insert of a job, as a statement", lambda: asked.insert("a"), ["made"], UNITS["insert"]),
        ("an insert where there is a job is refused", lambda: asked.insert("a"), ["DuplicateItem"], 0),
        ("inserts of several jobs in one request", lambda: asked.insert("bc"), ["made"] * 2, 2 * UNITS["insert"]),
        ("a claim of one job", lambda: asked.claim("a"), ["made"], UNITS["claim"]),
        ("a claim that comes too late is refused, and told the job", lambda: asked.claim("a", "rival"), [_LATE], 0),
        ("claims of a page by one request", lambda: asked.claim_page("bc"), ["made"] * 2, 2 * UNITS["claim"]),
        ("a claim of a page that comes too late is refused", lambda: asked.claim_page("b", "rival"), [_REFUSED], 0),
        ("a start", lambda: asked.start("a"), ["made"], UNITS["start"]),
        ("a completion", lambda: asked.complete("a"), ["made"], UNITS["complete"]),
    )
    try:
        for name, ask, answer, units in questions:
            with report.check(PHASE, name) as told:
                _expect(ask(), answer)
                if units:
                    told.append(asked.cost(units))
        with report.check(PHASE, "a transaction that is repeated with its token takes effect once"):
            # The put would be refused the second time, were it not the same request.
            for _ in range(2):
                asked.put_once(f"verify-{run}"[:36])
        with report.check(PHASE, "rights by partition hold for statements"):
            _check_leading_keys(site, asked)
    finally:
        with report.check("tear down", "items of the probe") as told:
            told.append(f"{asked.remove_all()} removed")


class _Asked:
    """One run's questions, and what the last of them cost.

    `place` is the partition and the lane that it writes to: no listing reads this partition, and no poller this lane.
    """

    def __init__(self, site: Site, place: str) -> None:
        self.site = site
        self.place = place
        self._client = site.client("dynamodb")
        self._units = 0.0
        self._now = site.queue.services.clock.now()
        self._expires = {"expires_at": int((self._now + _KEPT).timestamp())}
        # By a job's real record, so that sizes and indexes are those of jobs; only its place is another.
        ids = [make_job_id(self._now, JobPartition(0), number) for number in range(3)]
        self._jobs = {name: self._job(each) for name, each in zip("abc", ids, strict=True)}

    def _job(self, job_id: JobId) -> Job:
        return Job(
            job_id=job_id,
            job_type="leasehold_probe",
            status=JobStatus.PENDING,
            priority=Priority.NORMAL,
            stored_payload='{"do":"complete"}',
            scheduled_for=self._now,
            created_at=self._now,
            created_by="leasehold verify",
            max_attempts=2,
            due=Due(self._now, "0", job_id),
            due_lane=self.place,
        )

    def key(self, name: str) -> Key:
        return Key(JOBS, (self.place, name))

    def insert(self, names: str) -> list[str]:
        items = [{**job_record(self._jobs[each]), **self.key(each).attributes, **self._expires} for each in names]
        return self._statements([insert_statement(self.site.jobs_table, each) for each in items])

    def claim(self, name: str, owner: str = "verify") -> list[str]:
        return self._write(self._claim(name, owner))

    def claim_page(self, names: str, owner: str = "verify") -> list[str]:
        claims = [plain(self._claim(each, owner)) for each in names]
        return self._statements([update_statement(self.site.jobs_table, each) for each in claims])

    def start(self, name: str) -> list[str]:
        values = {"locked_by": "verify.1.run", "started_at": self._now}
        return self._write(self._moved(name, START, {"locked_by": "verify.1", "now": self._now}, values))

    def complete(self, name: str) -> list[str]:
        values = {"completed_at": self._now, "runs": ()}
        return self._write(self._moved(name, COMPLETE, {"locked_by": "verify.1.run"}, values))

    def _claim(self, name: str, owner: str) -> Update:
        due = self._jobs[name].due
        assert due is not None
        lease = due._replace(at=self._now + timedelta(seconds=30))
        values = {"locked_by": f"{owner}.1", "locked_at": self._now, "lock_expires_at": lease.at}
        values |= {"due_lane": self.place, "due_key": lease}
        return self._moved(name, CLAIM, {"due_key": due, "now": self._now}, values)

    def _moved(self, name: str, how: Transition, seen: dict[str, Any], values: dict[str, Any]) -> Update:
        write = Write(job_id=self._jobs[name].job_id, transition=how, seen=seen, values=values)
        return replace(transition(write), key=self.key(name))

    def _statements(self, statements: Sequence[Mapping[str, Any]]) -> list[str]:
        answer = self._client.batch_execute_statement(Statements=statements, ReturnConsumedCapacity="TOTAL")
        self._units = sum(each["CapacityUnits"] for each in answer.get("ConsumedCapacity", []))
        return [each["Error"]["Code"] if "Error" in each else "made" for each in answer["Responses"]]

    def _write(self, change: Update) -> list[str]:
        request = {"TableName": self.site.jobs_table, **write_request(change), "ReturnConsumedCapacity": "TOTAL"}
        try:
            answer = self._client.update_item(**request)
        except self._client.exceptions.ConditionalCheckFailedException as refused:
            return [_LATE if refused.response.get("Item") else _REFUSED]
        self._units = answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        return ["made"]

    def cost(self, expected: int) -> str:
        if self._units == expected:
            return f"{expected} units"
        if self.site.is_local:
            return f"{self._units:g} units on the local AWS, {expected} on AWS by docs/cost.md"
        raise Wrong(f"it consumed {self._units:g} write units; docs/cost.md says {expected}")

    def put_once(self, token: str) -> None:
        put = write_request(Put(key=self.key("token"), record={**self._expires}))
        items = [{"Put": {"TableName": self.site.jobs_table, **put}}]
        self._client.transact_write_items(TransactItems=items, ClientRequestToken=token)

    def remove_all(self) -> int:
        names = [*self._jobs, "token", "foreign"]
        for name in names:
            self._client.delete_item(TableName=self.site.jobs_table, Key=to_item(self.key(name).attributes))
        left = self.site.queue.services.store.table.query(JOBS, self.place, limit=10).records
        if left:
            raise Wrong(f"{len(left)} items are still in {self.place}")
        return len(names)


def _check_leading_keys(site: Site, asked: _Asked) -> None:
    """With credentials that are narrowed to one partition, a statement on another is refused."""
    import boto3

    if site.is_local:
        raise StandIn("this local AWS does not decide by partition for you; the recorded calls were simulated instead")
    allowed = {"Effect": "Allow", "Action": ["dynamodb:PartiQLInsert"], "Resource": [site.arn("jobs")]}
    narrow = {"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["verify-other#*"]}}}
    policy = {"Version": "2012-10-17", "Statement": [allowed | narrow]}
    try:
        given = site.client("sts").get_federation_token(Name="leasehold-verify", Policy=json.dumps(policy))[
            "Credentials"
        ]
    except ClientError as error:
        raise NotShown(
            f"credentials of a role cannot be narrowed like this ({error.response['Error']['Code']}); run it as a user"
        ) from None
    narrowed: Any = boto3.client(
        "dynamodb",
        region_name=site.client("dynamodb").meta.region_name,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
    statement = insert_statement(site.jobs_table, dict(asked.key("foreign").attributes))
    answer = narrowed.batch_execute_statement(Statements=[statement])["Responses"][0]
    _expect(answer.get("Error", {}).get("Code", "made"), "AccessDenied")


def _expect(answer: object, expected: object) -> None:
    if answer != expected:
        raise Wrong(f"answered {answer} instead of {expected}")
