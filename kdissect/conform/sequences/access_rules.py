"""ACLs of the suite: created, described, deleted, in each version."""

from __future__ import annotations

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import NONE, BrokerRun, entry, first
from kdissect.conform.request_bodies import REQUESTS, Fields, Subject
from kdissect.conform.sequences.suite_topic import play_each, version_pairs
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name

_SECURITY_DISABLED = 54
_NAME = "access rules"


def access_rules(run: BrokerRun) -> None:
    """Create, describe and delete an ACL of the suite's user for the suite's topic."""
    if not run.may_change:
        run.skipped[_NAME] = "it creates an ACL of a user of the suite: --destructive plays it"
        return
    described = run.call("DescribeAcls", _body("DescribeAcls", run.subject))
    if described.body.error_code:
        is_off = described.body.error_code == _SECURITY_DISABLED
        why = f"DescribeAcls has {error_name(described.body.error_code)}"
        run.skipped[_NAME] = f"the broker has no authorizer: {why}" if is_off else why
        return
    play_each(run, _NAME, version_pairs(run, "CreateAcls", "DeleteAcls"), _life_of_acl)


def _life_of_acl(run: BrokerRun, create: int, delete: int) -> None:
    subject = run.subject
    made = run.call("CreateAcls", _body("CreateAcls", subject), create)
    if not run.errs("CNF066", made, first(made, "results").error_code, NONE):
        return
    try:
        found = run.until(lambda: _described(run), lambda body: bool(body.resources))
        is_same = _is_of_suite(entry(found.body, "resources"), subject)
        run.observe(
            "CNF066", found, passed=is_same, expected="the ACL that was created",
            seen=plural(len(found.body.resources), "resource") + ("" if is_same else " with others"),
        )  # fmt: skip
    finally:
        deleted = run.call("DeleteAcls", _body("DeleteAcls", subject), delete)
    result = first(deleted, "filter_results")
    if not run.errs("CNF067", deleted, result.error_code, NONE):
        return
    run.observe(
        "CNF067", deleted, passed=len(result.matching_acls) == 1, expected="1 ACL",
        seen=plural(len(result.matching_acls), "ACL"),
    )  # fmt: skip
    after = run.until(lambda: _described(run), lambda body: not body.resources)
    run.observe(
        "CNF067", after, passed=not after.body.resources, expected="no resource after DeleteAcls",
        seen=plural(len(after.body.resources), "resource"),
    )  # fmt: skip


def _body(name: str, subject: Subject) -> Fields:
    made = REQUESTS[name].body
    assert made is not None
    return made(subject, 0)


def _described(run: BrokerRun) -> Response:
    return run.call("DescribeAcls", _body("DescribeAcls", run.subject))


def _is_of_suite(resource: object, subject: Subject) -> bool:
    """Whether a resource of a response has the ACL that the suite creates."""
    (wanted,) = _body("CreateAcls", subject)["creations"]
    acl = entry(resource, "acls")
    names = ("principal", "host", "operation", "permission_type")
    return getattr(resource, "resource_name", None) == wanted["resource_name"] and all(
        getattr(acl, name, None) == wanted[name] for name in names
    )
