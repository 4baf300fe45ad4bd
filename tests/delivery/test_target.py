"""Targets are parsed into their parts; malformed ones are refused with the reason."""

from __future__ import annotations

import pytest

from synergy.delivery.target import (
    parse_target,
    split_exchange,
    split_queue,
    split_topic,
    split_webhook,
)
from synergy.errors import InvalidValue

ARN = "arn:aws:sns:eu-west-1:123456789012"


@pytest.mark.parametrize(
    ("url", "kind", "destination"),
    [
        ("https://example.com", "webhook", "https://example.com:443"),
        ("HTTP://Example.COM./a?b=c", "webhook", "http://example.com:80"),
        ("https://example.com:8443/hook/s3cret?token=s3cret", "webhook", "https://example.com:8443"),
        ("http://[2606:4700::0:1111]/", "webhook", "http://[2606:4700::1111]:80"),
        ("http://my_service.local:1/", "webhook", "http://my_service.local:1"),
        ("https://xn--bcher-kva.example/ü", "webhook", "https://xn--bcher-kva.example:443"),
        ("amqp://h/?exchange=e", "amqp", "amqp://h:5672/"),
        ("amqp://u:p%40w@h:5673/v?exchange=e&routing_key=k", "amqp", "amqp://h:5673/v"),
        ("amqp://u:pw@h/a%2Fb?exchange=e", "amqp", "amqp://h:5672/a%2Fb"),
        ("amqps://[::1]/v?routing_key=a.b&exchange=e", "amqp", "amqps://[::1]:5671/v"),
        ("sqs:jobs", "sqs", "sqs:jobs"),
        ("sqs:jobs.fifo?region=eu-west-1", "sqs", "sqs:jobs.fifo"),
        ("sqs:https://sqs.eu-west-1.amazonaws.com/123456789012/jobs", "sqs", "sqs:jobs"),
        (f"sns:{ARN}:news", "sns", "sns:news"),
        ("sns:arn:aws-cn:sns:cn-north-1:123456789012:news.fifo", "sns", "sns:news.fifo"),
        ("https://example.com/" + "x" * 2_028, "webhook", "https://example.com:443"),
    ],
)  # fmt: skip
def test_the_destination_of_a_target_omits_secrets_and_paths(
    url: str, kind: str, destination: str
) -> None:
    target = parse_target(url)
    assert (target.url, target.kind, target.destination) == (url, kind, destination)
    assert "s3cret" not in repr(target)
    assert "p%40w" not in repr(target)


REFUSED = {
    "": "it is empty",
    "https://example.com/" + "x" * 2_029: "2049 characters: the most is 2048",
    "https://example.com/a b": "contains a blank",
    "https://example.com/a\u00a0b": "control or invisible character",
    " https://example.com/": "contains a blank",
    "https://example.com/\r\nX-Evil: 1": "control or invisible character",
    "https://exam\tple.com/": "control or invisible character",
    "https://example.com/\x00": "control or invisible character",
    "https://example.com/\u202e": "control or invisible character",
    "example.com/hook": "expected https://…",
    "//example.com/hook": "expected https://…",
    "ftp://example.com/": "unknown scheme 'ftp'",
    "file:///etc/passwd": "unknown scheme 'file'",
    "javascript:alert(1)": "unknown scheme 'javascript'",
    "gopher://127.0.0.1:6379/_x": "unknown scheme 'gopher'",
    "https:": "no host",
    "https:///hook": "no host",
    "https:example.com/": "no host",
    "https://:443/": "no host",
    "https://user:s3cret@example.com/": "no user or password",
    "https://s3cret@example.com/": "no user or password",
    "https://example.com@127.0.0.1/": "no user or password",
    "https://example.com/#part": "never sent",
    "https://example.com#@127.0.0.1/": "never sent",
    "https://example.com\\@127.0.0.1/": "write it %5C",
    "https://example.com:0/": "from 1 to 65535",
    "https://example.com:65536/": "from 1 to 65535",
    "https://example.com:https/": "from 1 to 65535",
    "https://example.com:-1/": "from 1 to 65535",
    "https://bücher.example/": "in ASCII: xn--",
    "https://１２７.0.0.1/": "in ASCII: xn--",
    "https://a..b/": "'a..b' is not a host name",
    "https://-a.example/": "is not a host name",
    f"https://{'a' * 64}.example/": "is not a host name",
    f"https://{'a.' * 127}example/": "is not a host name",
    "https://exa$mple.com/": "is not a host name",
    "https://127.0.0.1%2f/": "is not a host name",
    "https://[::1/": "is not a host",
    "https://[::1]x/": "only a port may follow",
    "https://[::g]/": "is no",
    "https://[fe80::1%25eth0]/": "one machine only",
    "https://[127.0.0.1]/": "is no",
    "amqp://u:s3cret@h/v": "no exchange",
    "amqp://u:s3cret@h/v?exchange=": "no exchange",
    "amqp://u:s3cret@h/v?routing_key=k": "no exchange",
    "amqp://u:s3cret@h/v?exchange=e&exchange=f": "exchange is given twice",
    "amqp://u:s3cret@h/v?exchange=e&queue=q": "unknown option 'queue'",
    "amqps://u:s3cret@h/v?exchange=e&cacertfile=/etc/passwd": "unknown option 'cacertfile'",
    f"amqp://u:s3cret@h/v?exchange={'e' * 256}": "exchange is longer than 255 bytes",
    f"amqp://u:s3cret@h/v?exchange=e&routing_key={'%C3%A9' * 128}": "routing_key is longer",
    "amqp:///v?exchange=e": "expected a host",
    "amqp://u:s3cret@h:x/v?exchange=e": "expected a number as port",
    "amqp://u:s3cret@h/v/w?exchange=e": "is written %40",
    "amqp://u@corp:s3cret@h/v?exchange=e": "is written %40",
    "amqp://u/corp:s3cret@h/v?exchange=e": "is written %40",
    "amqp://u:s3cret@h\u2100/v?exchange=e": "the host cannot be read",
    "amqp:u:s3cret@h/v?exchange=e": "is written %40",
    "amqp://u:s3cret@h/v?exchange=e#f": "# is written %23",
    "sqs:": "no queue",
    "sqs:?region=eu-west-1": "no queue",
    "sqs:two words".replace(" ", "/"): "a queue's name is",
    f"sqs:{'q' * 81}": "a queue's name is",
    "sqs:jobs.txt": "a queue's name is",
    "sqs:jobs?region=here": "'here' is not a region",
    "sqs:jobs?zone=eu-west-1": "unknown option 'zone' of an sqs target",
    "sqs:ftp://example.com/1/jobs": "begins with https://",
    "sqs:https://u:s3cret@sqs.eu-west-1.amazonaws.com/1/jobs": "neither user",
    "sqs:https://sqs.eu-west-1.amazonaws.com/jobs": "ends with /account/name",
    "sqs:https:///1/jobs": "no host",
    "sqs:https://sqs.eu-west-1.amazonaws.com:x/1/jobs": "from 1 to 65535",
    "sns:": "no topic",
    "sns:news": "not a topic's ARN",
    f"sns:{ARN}:news:extra": "not a topic's ARN",
    "sns:arn:gcp:sns:eu-west-1:123456789012:news": "not a topic's ARN",
    "sns:arn:aws:sqs:eu-west-1:123456789012:news": "an ARN of 'sqs'",
    "sns:arn:aws:sns::123456789012:news": "'' is not a region",
    "sns:arn:aws:sns:eu-west-1:12:news": "12 digits",
    f"sns:{ARN}:": "a topic's name is",
    f"sns:{ARN}:{'t' * 257}": "a topic's name is",
}


@pytest.mark.parametrize(("url", "reason"), REFUSED.items(), ids=range(len(REFUSED)))
def test_malformed_targets_are_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_target(url)
    text = str(refused.value)
    assert reason in text
    assert text.startswith("target: ")
    assert "s3cret" not in text
    assert len(text) < 400


def test_parts_of_a_webhook() -> None:
    hook = split_webhook("https://Example.com:8443?a=1")
    assert (hook.scheme, hook.host, hook.port, hook.path) == ("https", "example.com", 8443, "/?a=1")
    assert hook.authority == "example.com:8443"
    assert split_webhook("http://example.com:80/").authority == "example.com"
    assert split_webhook("https://[::1]:444/").authority == "[::1]:444"
    assert split_webhook("http://example.com//evil.example/x").path == "//evil.example/x"


def test_parts_of_an_exchange() -> None:
    exchange = split_exchange("amqp://u:p%40w@h/v?exchange=my%20events&routing_key=a+b%26c")
    assert (exchange.name, exchange.routing_key) == ("my events", "a+b&c")
    broker = exchange.broker
    assert (broker.user, broker.password, broker.host, broker.vhost) == ("u", "p@w", "h", "v")
    assert "p@w" not in repr(exchange)


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("sqs:jobs", None),
        ("sqs:jobs?region=us-gov-west-1", "us-gov-west-1"),
        ("sqs:https://sqs.eu-west-1.amazonaws.com/123456789012/jobs", "eu-west-1"),
        ("sqs:https://sqs.cn-north-1.amazonaws.com.cn/123456789012/jobs", "cn-north-1"),
        ("sqs:https://eu-west-1.queue.amazonaws.com/123456789012/jobs", "eu-west-1"),
        ("sqs:https://vpce-1-2.sqs.us-east-1.vpce.amazonaws.com/123456789012/jobs", "us-east-1"),
        ("sqs:https://queue.amazonaws.com/123456789012/jobs", None),
        ("sqs:http://127.0.0.1:5000/123456789012/jobs?region=eu-west-1", "eu-west-1"),
        ("sqs:http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/jobs", "us-east-1"),
    ],
)
def test_region_of_a_queue(url: str, region: str | None) -> None:
    queue = split_queue(url)
    assert (queue.name, queue.region) == ("jobs", region)
    assert queue.url == (None if "://" not in url else url[4:].partition("?")[0])


def test_parts_of_a_topic() -> None:
    topic = split_topic(f"sns:{ARN}:news.fifo")
    assert (topic.arn, topic.region, topic.name) == (f"{ARN}:news.fifo", "eu-west-1", "news.fifo")
