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
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.transitions import Transition
    from leasehold.verify.report import Report
    from leasehold.verify.site import Site

PHASE = "probe"
# Write units of each write of a plain job, as docs/cost.md adds them up.
UNITS = {"insert": 2, "claim": 3, "start": 1, "complete": 2}
_KEPT = timedelta(hours=1)


def probe(site: Site, report: Report, run: str) -> None:
    asked = _Asked(site, f"verify#{run}")
    try:
        with report.check(PHASE, "an insert of a job, as a statement") as told:
            _expect(asked.insert("a"), ["made"])
            told.append(asked.units("insert"))
        with report.check(PHASE, "an insert where there is a job is refused"):
            _expect(asked.insert("a"), ["DuplicateItem"])
        with report.check(PHASE, "inserts of several jobs in one request") as told:
            _expect(asked.insert("bc"), ["made", "made"])
            told.append(asked.units("insert", 2))
        with report.check(PHASE, "a claim of one job") as told:
            _expect(asked.write(asked.claim("a")), "made")
            told.append(asked.units("claim"))
        with report.check(PHASE, "a claim that comes too late is refused, and told the job"):
            _expect(asked.write(asked.claim("a", owner="rival")), "ConditionalCheckFailedException with the item")
        with report.check(PHASE, "claims of a page by one request") as told:
            _expect(asked.claim_page("bc"), ["made", "made"])
            told.append(asked.units("claim", 2))
        with report.check(PHASE, "a claim of a page that comes too late is refused"):
            _expect(asked.claim_page("b", owner="rival"), ["ConditionalCheckFailed"])
        with report.check(PHASE, "start and completion") as told:
            for what, change in (("start", asked.start("a")), ("complete", asked.complete("a"))):
                _expect(asked.write(change), "made")
                told.append(asked.units(what))
        with report.check(PHASE, "a transaction that is repeated with its token takes effect once"):
            _check_token(asked, run)
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
        registry = site.queue.services.deployment.registry()
        home = JobPartition(next((registry.code_of(name) for name in sorted(registry.types)), 0))
        # By a job's real record, so that sizes and indexes are those of jobs; only its place is another.
        self._jobs = {name: self._job(make_job_id(self._now, home, number)) for number, name in enumerate("abc")}

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

    def claim_page(self, names: str, *, owner: str = "verify") -> list[str]:
        claims = [plain(self.claim(each, owner=owner)) for each in names]
        return self._statements([update_statement(self.site.jobs_table, each) for each in claims])

    def claim(self, name: str, *, owner: str = "verify") -> Update:
        due = self._jobs[name].due
        assert due is not None
        lease = due.moved_to(self._now + timedelta(seconds=30))
        values = {"locked_by": f"{owner}.1", "locked_at": self._now, "lock_expires_at": lease.at}
        values |= {"due_lane": self.place, "due_key": lease}
        return self._moved(name, CLAIM, {"due_key": due, "now": self._now}, values)

    def start(self, name: str) -> Update:
        values = {"locked_by": "verify.1.run", "started_at": self._now}
        return self._moved(name, START, {"locked_by": "verify.1", "now": self._now}, values)

    def complete(self, name: str) -> Update:
        return self._moved(name, COMPLETE, {"locked_by": "verify.1.run"}, {"completed_at": self._now, "runs": ()})

    def _moved(self, name: str, how: Transition, seen: dict[str, Any], values: dict[str, Any]) -> Update:
        write = Write(job_id=self._jobs[name].job_id, transition=how, seen=seen, values=values)
        return replace(transition(write), key=self.key(name))

    def _statements(self, statements: Sequence[Mapping[str, Any]]) -> list[str]:
        answer = self._client.batch_execute_statement(Statements=statements, ReturnConsumedCapacity="TOTAL")
        self._units = sum(each["CapacityUnits"] for each in answer.get("ConsumedCapacity", []))
        return ["made" if "Error" not in each else each["Error"]["Code"] for each in answer["Responses"]]

    def write(self, change: Update) -> str:
        request = {"TableName": self.site.jobs_table, **write_request(change), "ReturnConsumedCapacity": "TOTAL"}
        try:
            answer = self._client.update_item(**request)
        except ClientError as error:
            told: Any = error.response
            return str(told["Error"]["Code"]) + (" with the item" if told.get("Item") else "")
        self._units = answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        return "made"

    def units(self, what: str, count: int = 1) -> str:
        expected = count * UNITS[what]
        if self._units == expected:
            return f"{what} {expected} units"
        if self.site.is_local:
            return f"{what} {self._units:g} units on the local AWS, {expected} on AWS by docs/cost.md"
        raise Wrong(f"{what} consumed {self._units:g} write units; docs/cost.md says {expected}")

    def put_once(self, token: str) -> None:
        put = write_request(Put(key=self.key("token"), record={**self._expires}))
        items = [{"Put": {"TableName": self.site.jobs_table, **put}}]
        self._client.transact_write_items(TransactItems=items, ClientRequestToken=token)

    def remove_all(self) -> int:
        names = [*self._jobs, "token", "foreign"]
        for name in names:
            self._client.delete_item(TableName=self.site.jobs_table, Key=to_item(self.key(name).attributes))
        left = self._client.query(
            TableName=self.site.jobs_table,
            KeyConditionExpression="PK = :p",
            ExpressionAttributeValues={":p": {"S": self.place}},
            ConsistentRead=True,
        )
        if left["Items"]:
            raise Wrong(f"{len(left['Items'])} items are still in {self.place}")
        return len(names)


def _check_token(asked: _Asked, run: str) -> None:
    """The put would be refused the second time, were it not the same request."""
    token = f"verify-{run}"[:36]
    asked.put_once(token)
    try:
        asked.put_once(token)
    except ClientError as error:
        raise Wrong(f"the repeat was refused: {error.response['Error']['Code']}") from None


def _check_leading_keys(site: Site, asked: _Asked) -> None:
    """With credentials that are narrowed to one partition, a statement on another is refused."""
    import boto3

    arn = site.client("dynamodb").describe_table(TableName=site.jobs_table)["Table"]["TableArn"]
    allowed = {"Effect": "Allow", "Action": ["dynamodb:PartiQLInsert"], "Resource": [arn]}
    narrow = {"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["verify-other#*"]}}}
    policy = {"Version": "2012-10-17", "Statement": [allowed | narrow]}
    if site.is_local:
        raise StandIn("this local AWS does not decide by partition for you; the recorded calls were simulated instead")
    sts, dynamodb = site.client("sts"), site.client("dynamodb")
    try:
        given = sts.get_federation_token(Name="leasehold-verify", Policy=json.dumps(policy))["Credentials"]
    except ClientError as error:
        raise NotShown(
            f"credentials of a role cannot be narrowed like this ({error.response['Error']['Code']}); run it as a user"
        ) from None
    narrowed: Any = boto3.client(
        "dynamodb",
        region_name=dynamodb.meta.region_name,
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
