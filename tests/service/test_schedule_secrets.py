"""Secrets of schedules are never shown."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from synergy.delivery.request import sent
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.schedules.redaction import kept, shown
from synergy.runtime.masking import mask
from synergy.schedule.check_context import InvalidDefinition
from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE, AT_NOON, SECRET


def as_json(value: object) -> str:
    return orjson.dumps(value, default=dict).decode()


def test_nothing_that_is_shown_holds_a_secret(agents, reads):
    agents.actions.create(SECRET, ALICE, NOW)
    id_ = agents.actions.trigger("secret", ALICE, NOW)
    everything = as_json(
        [
            reads.show_schedule("secret"), reads.run(id_), reads.runs(), reads.list_schedules(),
            reads.preview("secret"), reads.pending("secret"),
        ]
    )  # fmt: skip
    for secret in ("s3cret", "t0ken", "k3y"):
        assert secret not in everything
    assert "plain" in everything
    assert reads.run(id_).request["target"] == "amqp://me:***@h/v?exchange=e&routing_key=k"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/x", "https://h/x"),
        ("https://h/x?a=b", "https://h/x?a=b"),
        ("https://h/x?token=t&a=b", "https://h/x?token=***&a=b"),
        ("https://h/x?a=b&API_KEY=t", "https://h/x?a=b&API_KEY=***"),
        ("https://h/x?access_token=t", "https://h/x?access_token=***"),
        ("https://h/x?sig=t&sv=1", "https://h/x?sig=***&sv=1"),
        ("amqps://u:p@h/v?exchange=e&routing_key=r", "amqps://u:***@h/v?exchange=e&routing_key=r"),
        ("amqp://u:p/q@r@h/v?exchange=e", "amqp://u:***@h/v?exchange=e"),
        ("sqs:jobs.fifo?region=eu-west-1", "sqs:jobs.fifo?region=eu-west-1"),
    ],
)
def test_targets_are_shown_without_what_is_secret(url, expected):
    assert mask(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h:8443/a:b@other/", "https://h:8443/a:b@other/"),
        ("https://h:8443/?token=t&a=@other", "https://h:8443/?token=***&a=@other"),
        (
            "https://hooks.slack.com:443/services/T0/B0/x",
            "https://hooks.slack.com:443/services/***",
        ),
        ("https://[::1]:443/a?sig=t", "https://[::1]:443/a?sig=***"),
        ("https://me:p@h:443/a", "https://me:***@h:443/a"),
    ],
)
def test_the_host_of_a_webhook_stays_when_secrets_are_hidden(url, expected):
    assert shown({"target": url}) == {"target": expected}


def test_hidden_values_are_kept_only_in_their_places():
    present = {"headers": {"Authorization": "t0ken", "X-B": "b"}, "target": "https://h/?key=k"}
    assert kept(shown(present), present) == present
    other = {"headers": {"X-B": "***", "X-Other": "***"}, "target": "https://h/?key=***&a"}
    assert kept(other, present) == {
        "headers": {"X-B": "b", "X-Other": "***"},
        "target": "https://h/?key=***&a",
    }
    moved = {"headers": {"Authorization": "***"}, "target": "https://other/?key=***"}
    assert kept(moved, present) == moved


QUEUE = "sqs:https://sqs.eu-west-1.amazonaws.com"
EXCHANGE = "amqps://me:***@h.example/v?exchange"


@pytest.mark.parametrize(
    ("present", "sent"),
    [
        ("https://h.example/a", "https://h.example:8443/a"),
        ("https://h.example/a", "http://h.example/a"),
        ("https://h.example/a", "https://h.example.other.example/a"),
        (f"{QUEUE}/111111111111/mine", f"{QUEUE}/222222222222/mine"),
        ("sqs:mine?region=eu-west-1", "sqs:mine?region=us-east-1"),
        ("sns:arn:aws:sns:eu-west-1:111111111111:t", "sns:arn:aws:sns:eu-west-1:222222222222:t"),
        (f"{EXCHANGE}=e", f"{EXCHANGE}=another"),
        (f"{EXCHANGE}=e&routing_key=r", f"{EXCHANGE}=e&routing_key=another"),
        ("amqps://h.example/v?exchange=e", "amqps://h.example/another?exchange=e"),
        ("https://h.example/a", "nowhere"),
    ],
)
def test_hidden_values_are_not_kept_for_another_receiver(present, sent):
    secret = {"headers": {"Authorization": "t0ken"}, "signing_secret": "k3y"}
    masked = shown({"target": sent, **secret})
    assert kept(masked, {"target": present, **secret}) == masked


@pytest.mark.parametrize(
    ("present", "sent"),
    [
        ("https://h.example:443/a?token=t@b", "https://h.example:443/a?token=***"),
        ("https://h.example/a", "https://H.example.:443/b?c=d"),
        (f"{EXCHANGE}=e", "amqps://another:p4ss@H.example:5671/v?exchange=e"),
    ],
)
def test_hidden_values_are_kept_for_the_same_receiver_in_other_words(present, sent):
    secret = {"headers": {"Authorization": "t0ken"}}
    restored = kept({"target": sent, **shown(secret)}, {"target": present, **secret})
    assert restored["headers"] == secret["headers"]


def test_a_receiver_that_sends_back_what_it_was_sent_shows_no_secret(agents):
    def echo(request):
        return replace(sent(200), body=f"{request.headers} {request.target.url} (seen: plain)")

    member = agents.member(receiver=echo)
    agents.add(
        "job", when=AT_NOON, target=f"{TARGET}?x-functions-key=k3yk3y&code=c0dec0de&a=1",
        headers={"Authorization": "Bearer t0kent0ken", "X-Plain": "plain"},
    )  # fmt: skip
    member.rest()
    (run,) = agents.runs()
    shown = str(ScheduleReads(agents.store, agents.deployment, agents.clock).run(run.id))
    assert not any(secret in shown for secret in ("k3yk3y", "c0dec0de", "t0kent0ken"))
    assert "(seen: plain)" in shown


def test_a_routing_key_is_no_secret():
    url = "amqp://host/vhost?exchange=e&routing_key=orders&X-Api-Key=abc&key=def&monkey=b"
    assert mask(url) == (
        "amqp://host/vhost?exchange=e&routing_key=orders&X-Api-Key=***&key=***&monkey=b"
    )


HOOK = {
    "name": "hook", "target": "https://receiver.example/a", "trigger": "every 60",
    "signing_secret": "whsec_c2VjcmV0LW9uZQ==, secret-two",
}  # fmt: skip


def test_a_signing_secret_is_never_shown(agents, reads):
    def echo(request):
        return replace(sent(200), body=f"signed with {request.secrets}")

    member = agents.member(receiver=echo)
    agents.actions.create(HOOK, ALICE, NOW)
    id_ = agents.actions.trigger("hook", ALICE, NOW)
    member.rest()
    everything = as_json([reads.show_schedule("hook"), reads.run(id_), reads.preview("hook")])
    assert "signed with" in everything
    assert "c2VjcmV0LW9uZQ" not in everything
    assert "secret-two" not in everything
    assert reads.show_schedule("hook").definition["signing_secret"] == "***"
    assert reads.run(id_).request["signing_secret"] == "***"


def test_a_schedule_signs_with_its_own_secret(agents):
    member = agents.member()
    agents.actions.create(HOOK, ALICE, NOW)
    agents.actions.create({**HOOK, "name": "bare", "signing_secret": None}, ALICE, NOW)
    for name in ("hook", "bare"):
        agents.actions.trigger(name, ALICE, NOW)
    member.rest()
    secrets = {request.schedule: request.secrets for request in member.sender.requests}
    assert secrets == {"hook": ("whsec_c2VjcmV0LW9uZQ==", "secret-two"), "bare": ()}


def test_an_edit_keeps_a_hidden_signing_secret_unless_the_host_changes(agents, reads):
    agents.actions.create(HOOK, ALICE, NOW)
    shown_one = {**reads.show_schedule("hook").definition, "payload": "changed"}
    agents.actions.replace("hook", shown_one, ALICE, NOW)
    (row,) = agents.store.schedules.get(["hook"])
    assert row.definition["signing_secret"] == HOOK["signing_secret"]
    moved = {**shown_one, "target": "https://other.example/a"}
    with pytest.raises(InvalidDefinition, match=r"signing_secret: .*write it out"):
        agents.actions.replace("hook", moved, ALICE, NOW)
    agents.actions.replace("hook", {**moved, "signing_secret": "another"}, ALICE, NOW)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"signing_secret": "geheim1,geheim2,geheim3"}, "two at most"),
        ({"signing_secret": "whsec_geheim!"}, "is not base64"),
        ({"signing_secret": " , "}, "one is empty"),
        ({"signing_secret": "***"}, "write it out"),
        ({"signing_secret": "geheim, ***"}, "write it out"),
        ({"target": "amqps://h/v?exchange=e"}, "only webhooks are signed"),
        ({"target": None, "process": "Report"}, "it goes with target"),
    ],
)
def test_a_signing_secret_that_cannot_be_used_is_refused(agents, change, reason):
    with pytest.raises(InvalidDefinition) as refused:
        agents.actions.create({**HOOK, **change}, ALICE, NOW)
    assert reason in str(refused.value)
    assert "geheim" not in str(refused.value)
    assert "secret-two" not in str(refused.value)
