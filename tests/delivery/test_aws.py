"""Requests into SQS queues and SNS topics, against moto's server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from synergy.delivery import aws
from synergy.delivery.addresses import AddressRules
from tests.delivery.conftest import MakeServices, Services, a_request, is_lost
from tests.delivery.receivers import LIMIT, answers, receiving, says
from tests.servers.ports import free_port

PROJECT = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a moto server for this module only."""
    log = tmp_path_factory.mktemp("moto") / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if "PROXY" not in name.upper()},
        ) as server,
    ):
        assert server.stderr is not None
        output_text = ""
        for line in server.stderr:
            output_text += line
            if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
                break
        else:
            pytest.fail(f"moto does not start: {output_text}")
        server.stderr.close()
        yield found[1]
        server.terminate()


@pytest.fixture
def account(moto: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Sets the environment of AWS's tools and hides this machine's own configuration."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": moto,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return moto


@pytest.fixture
def sqs(account: str) -> Iterator[Any]:
    client = boto3.session.Session().client("sqs")
    yield client
    client.close()


@pytest.fixture
def sns(account: str) -> Iterator[Any]:
    client = boto3.session.Session().client("sns")
    yield client
    client.close()


def got(sqs: Any, url: str) -> list[dict[str, Any]]:
    found = sqs.receive_message(
        QueueUrl=url, MessageAttributeNames=["All"], AttributeNames=["All"], MaxNumberOfMessages=10
    )
    return list(found.get("Messages", ()))


def values(attributes: dict[str, Any]) -> dict[str, str]:
    return {name: one["StringValue"] for name, one in attributes.items()}


ATTRIBUTES = {
    "X-Team": "data",
    "Content-Type": "application/json",
    "Idempotency-Key": "run-1",
    "X-Synergy-Scheduled-Time": "2026-11-21T11:59:00Z",
    "X-Synergy-Schedule": "nightly",
    "X-Synergy-Attempt": "1",
}


@pytest.mark.parametrize(
    ("name", "form"),
    [("jobs-1", "sqs:{name}"), ("jobs-2", "sqs:{name}?region=eu-west-1"), ("jobs-3", "sqs:{url}")],
)
def test_the_message_that_a_queue_gets(services: Services, sqs: Any, name: str, form: str) -> None:
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    target = form.format(name=name, url=url)
    body = '{"a": "é"}'
    answer = services.send(target, body=body.encode(), headers={"X-Team": "data"})
    assert (answer.ok, answer.outcome, answer.status, answer.error) == (True, "sent", 200, "")
    [message] = got(sqs, url)
    assert answer.body == f"MessageId {message['MessageId']}"
    assert message["Body"] == body
    assert values(message["MessageAttributes"]) == ATTRIBUTES


def test_a_message_that_is_no_longer_current_is_not_sent(services: Services, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="lost")["QueueUrl"]
    for _ in range(2):  # over a new connection, and over one that is kept
        assert services.send(f"sqs:{url}", assert_current=is_lost).outcome == "stopped"
        assert services.send(f"sqs:{url}").ok
    assert len(got(sqs, url)) == 2


def test_an_answer_that_is_cut_off_is_one_attempt(
    services: Services, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(says(b"HTTP/1.1 200 OK\r\nContent-")) as receiver:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{receiver.port}")
        answer = services.send(f"sqs:{account}/123456789012/once")
        assert (answer.ok, answer.may_retry) == (False, True)
    assert len(receiver.calls) == 1


def test_the_configured_endpoint_wins_over_the_url(services: Services, sqs: Any) -> None:
    sqs.create_queue(QueueName="mine")
    with receiving(answers()) as elsewhere:
        answer = services.send(f"sqs:http://127.0.0.1:{elsewhere.port}/123456789012/mine")
    assert answer.ok, answer
    assert elsewhere.connections == 0


def test_a_fifo_queue_gets_each_run_once(services: Services, sqs: Any) -> None:
    attributes = {"FifoQueue": "true"}
    url = sqs.create_queue(QueueName="jobs.fifo", Attributes=attributes)["QueueUrl"]
    for key, attempt in (("run-1", 1), ("run-1", 2), ("run-2", 1)):
        assert services.send("sqs:jobs.fifo", key=key, attempt=attempt).ok
    messages = got(sqs, url)
    assert [one["Attributes"]["MessageDeduplicationId"] for one in messages] == ["run-1", "run-2"]
    assert {one["Attributes"]["MessageGroupId"] for one in messages} == {"nightly"}


def test_schedule_names_that_aws_refuses_become_unique_valid_names(
    services: Services, sqs: Any
) -> None:
    attributes = {"FifoQueue": "true"}
    url = sqs.create_queue(QueueName="odd.fifo", Attributes=attributes)["QueueUrl"]
    for schedule in ("a b", "a  b", "x" * 300, "日本"):
        assert services.send("sqs:odd.fifo", schedule=schedule, key=f"{schedule} 1").ok
    messages = got(sqs, url)
    groups = {one["Attributes"]["MessageGroupId"] for one in messages}
    assert len(messages) == len(groups) == 4
    assert all(re.fullmatch(r"[!-~]{1,128}", group) for group in groups)


def test_the_message_that_a_topic_gets(services: Services, sqs: Any, sns: Any) -> None:
    url = sqs.create_queue(QueueName="subscriber")["QueueUrl"]
    arn = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(
        TopicArn=arn, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:123456789012:subscriber"
    )
    answer = services.send(f"sns:{arn}", headers={"X-Team": "data"})
    assert (answer.ok, answer.outcome) == (True, "sent")
    [message] = got(sqs, url)
    inner = json.loads(message["Body"])
    assert answer.body == f"MessageId {inner['MessageId']}"
    assert inner["Message"] == '{"a": 1}'
    assert {name: one["Value"] for name, one in inner["MessageAttributes"].items()} == ATTRIBUTES


def test_a_fifo_topic_gets_group_and_deduplication_ids(
    services: Services, sqs: Any, sns: Any
) -> None:
    queue = sqs.create_queue(QueueName="orders.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = sns.create_topic(Name="orders.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    sns.subscribe(
        TopicArn=arn,
        Protocol="sqs",
        Endpoint=f"arn:aws:sqs:{REGION}:123456789012:orders.fifo",
        Attributes={"RawMessageDelivery": "true"},
    )
    assert services.send(f"sns:{arn}", key="run-5").ok
    [message] = got(sqs, queue)
    assert message["Attributes"]["MessageDeduplicationId"] == "run-5"
    assert message["Attributes"]["MessageGroupId"] == "nightly"


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("sqs:missing", "NonExistentQueue"),
        ("sqs:https://sqs.eu-west-1.amazonaws.com/123456789012/missing", "NonExistentQueue"),
        ("sns:arn:aws:sns:eu-west-1:123456789012:missing", "NotFound"),
    ],
)
def test_a_missing_target_may_be_tried_again(services: Services, target: str, word: str) -> None:
    answer = services.send(target)
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "refused", True)
    assert answer.is_lasting
    assert word in answer.error


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"body": b"\xff\xfe"}, "the payload is not UTF-8"),
        ({"headers": {f"X-{n}": "1" for n in range(6)}}, "room for 5"),
        ({"headers": {"X-A": "b\r\nc"}}, "one line"),
    ],
)
def test_a_request_that_a_message_cannot_hold_fails_without_retry(
    services: Services, more: dict[str, Any], reason: str
) -> None:
    answer = services.send("sqs:missing", **more)
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", False)
    assert reason in answer.error


def test_a_queue_that_was_deleted_and_created_again_is_found(services: Services, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="anew")["QueueUrl"]
    assert services.send("sqs:anew").ok
    sqs.delete_queue(QueueUrl=url)
    assert not services.send("sqs:anew").ok
    url = sqs.create_queue(QueueName="anew")["QueueUrl"]
    assert services.send("sqs:anew").ok
    assert len(got(sqs, url)) == 1


@pytest.mark.usefixtures("account")
def test_a_missing_region_is_an_error_without_retry(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    answer = services.send("sqs:jobs")
    assert (answer.ok, answer.may_retry) == (False, False)
    assert "region" in answer.error


@pytest.mark.usefixtures("account")
def test_a_port_without_a_listener_is_reported(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    answer = services.send("sqs:jobs")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("status", "code", "lasts"),
    [("400 Bad", "ThrottlingException", False), ("400 Bad", "RequestThrottled", False),
     ("403 No", "AccessDenied", True), ("503 Later", "ServiceUnavailable", False)],
)  # fmt: skip
def test_only_lasting_refusals_of_a_service_are_marked_as_lasting(
    services: Services, monkeypatch: pytest.MonkeyPatch, status: str, code: str, lasts: bool
) -> None:
    body = json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "no"}).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.0\r\n"
    data = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    with receiving(says(data)) as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{service.port}")
        answer = services.send(f"sqs:https://sqs.{REGION}.amazonaws.com/123456789012/jobs")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "refused", True)
    assert answer.is_lasting is lasts
    assert len(service.calls) == 1


def test_a_service_that_hangs_delays_only_itself(
    services_with: MakeServices, sqs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqs.create_queue(QueueName="jobs")
    services = services_with(total=6.0, read=LIMIT, per_destination=2)

    def hang(end: object, receiver: Any) -> None:
        receiver.gate.wait(LIMIT)

    with receiving(hang) as hanging, receiving(answers()) as good:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SNS", f"http://127.0.0.1:{hanging.port}")
        topic = f"sns:arn:aws:sns:{REGION}:123456789012:news"
        for number in range(3):
            services.post(a_request(topic, key=f"hanging {number}"))
        answered = [services.next() for _ in range(2)]
        assert {(key, answer.outcome) for key, answer in answered} == {
            ("hanging 0", "timeout"),
            ("hanging 1", "timeout"),
        }
        services.clock.advance(1.0)
        assert services.sender.room("sns:news") == 0  # their threads are not free yet
        assert services.send(f"http://127.0.0.1:{good.port}/").ok
        assert services.is_quiet()
        hanging.gate.set()
        assert services.next()[0] == "hanging 2"


@pytest.mark.parametrize("found", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"]])
def test_an_endpoint_with_a_refused_address_is_not_connected_to(
    services_with: MakeServices, account: str, monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    with receiving(answers()) as receiver:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://aws.test:{receiver.port}")
        services = services_with({"aws.test": found}, rules=AddressRules())
        for target in ("sqs:orders", f"sns:arn:aws:sns:{REGION}:123456789012:news"):
            answer = services.send(target)
            assert (answer.outcome, answer.may_retry) == ("blocked", False)
            assert "the setting webhook_networks does not allow it" in answer.error
        assert receiver.connections == 0


def test_an_endpoint_is_connected_to_at_the_address_that_was_judged(
    services_with: MakeServices, sqs: Any, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the test's resolver knows the name: another look-up would find nothing."""
    sqs.create_queue(QueueName="judged")
    port = account.rpartition(":")[2]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://aws.test:{port}")
    names = {"aws.test": ["127.0.0.7", "127.0.0.1"]}  # moto listens at the second one
    assert services_with(names).send("sqs:judged").ok
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://gone.test:{port}")
    unknown = services_with({"gone.test": []}).send("sqs:judged")
    assert (unknown.outcome, unknown.may_retry) == ("failed", True)
    assert "its name is not found" in unknown.error


def test_without_boto3_the_error_says_how_to_install_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    answer = services.send("sqs:jobs")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", False)
    assert answer.error == "boto3 is not installed: add boto3 to requirements-local.txt"


def test_boto3_is_not_imported_with_the_sender() -> None:
    script = "import sys, synergy.delivery.sender as s; sys.exit('boto3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT)
    assert done.returncode == 0
    assert aws.THREADS > 0
