"""The list of log files, and their pages."""

from __future__ import annotations

import os
import re

from tests.mx.test_logs import AT, NAME, line, logs, rotated, write

__all__ = ["logs", "rotated"]  # fixtures

import pytest

# Which logs there are


def test_logs_are_listed_with_all_their_parts(client, rotated):
    write(rotated / "supervisor.log", b"x\n")
    write(rotated / "Sitehourly.2.log", line(1))  # there is only one instance
    write(rotated / "Other.log", line(1))
    for end, at in (("", 1432123200), (".1", 1432123100), (".2", 1432123000)):
        os.utime(rotated / f"{NAME}.log{end}", (0, at))
    found = client.get(AT).json()
    size = sum(path.stat().st_size for path in rotated.glob(f"{NAME}.log*"))
    shown = {"size": size, "parts": 3, "modified": "2015-05-20T12:00:00Z"}
    assert [one["name"] for one in found["items"]] == [NAME, "supervisor"]
    assert found["items"][0] == {"name": NAME, "process": NAME, "instance": 1, **shown}
    text = client.page("/logs")
    assert f'href="/logs/{NAME}"' in text
    assert f'href="/api/v1/logs/{NAME}?format=text"' in text


def test_a_log_is_downloaded_unchanged(client, rotated):
    answer = client.get(f"{AT}/{NAME}?format=text&q=ignored")
    parts = [(rotated / f"{NAME}.log{end}").read_bytes() for end in (".2", ".1", "")]
    assert answer.content == b"".join(parts)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{NAME}.log"'


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2fetc%2fpasswd", "%2e%2e", "%2e%2e%2fsecret", "%2e", "Sitehourly.log", "%00",
        "Sitehourly%00", "sitehourly", "Sitehourly%2f..%2f..%2fsecret", "Sitehourly.2",
        "Sitehourly.1", "x" * 300, "%ff", "Sitehourly%0d%0aX-Evil:%201", "%3Cscript%3E", "logs",
    ],
)  # fmt: skip
def test_no_name_from_outside_is_a_path(client, rotated, name):
    (rotated.parent / "secret").write_text("top secret")
    (rotated / "secret.log").write_text("top secret")
    whole = (f"{AT}/{name}", f"{AT}/{name}?format=text", f"{AT}/{name}/matches?q=x")
    for path in (*whole, f"/logs/{name}", f"/logs/{name}?q=x"):
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code in (404, 307), path
        assert "top secret" not in answer.text
        assert "X-Evil" not in answer.headers


@pytest.mark.parametrize("part", ["", ".1"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("secret", path)])
def test_only_regular_files_are_read(client, logs, make, part):
    (logs / "secret").write_text("top secret\n")
    make(logs / f"{NAME}.log{part}")
    for query in ("", "?format=text"):
        client.read(f"logs/{NAME}{query}", 404)
    assert client.read("logs")["items"] == []


@pytest.mark.parametrize(
    "query",
    [
        "after=1&before=2", "after=-1", "before=0", "after=x", "after=1e3", "limit=0", "limit=1001",
        "level=loud", "q=" + "x" * 201, "format=pdf", "after=9007199254740993", "start=" + "x" * 41,
    ],
)  # fmt: skip
def test_an_invalid_query_is_refused(client, rotated, query):
    client.read(f"logs/{NAME}?{query}", 422)
    client.read(f"logs/{'x' * 301}", 422)


def test_a_missing_log_is_not_found(client, logs):
    assert client.get(AT).json() == {"items": [], "next": None}
    assert "nothing was written" in client.get(f"{AT}/{NAME}").json()["detail"]
    assert "nothing was written" in client.get(f"{AT}/{NAME}?format=text").json()["detail"]
    assert "No logs here" in client.get("/logs").text


# Pages


def ids(text):
    return [int(number) for number in re.findall(r'id="line-(\d+)"', text)]


def links(text):
    """The addresses of the pager, by label."""
    found = re.findall(r'<a class="btn"[^>]* href="([^"]*)">(Older|Newer|Newest)</a>', text)
    return {label: href.replace("&amp;", "&") for href, label in found}


def test_without_script_a_log_has_pages_of_500_lines(client, logs):
    write(logs / f"{NAME}.log", *map(line, range(1, 1201)))
    newest = client.get(f"/logs/{NAME}").text
    assert ids(newest) == list(range(701, 1201))
    assert set(links(newest)) == {"Older"}
    middle = client.get(links(newest)["Older"]).text
    assert ids(middle) == list(range(201, 701))
    oldest = client.get(links(middle)["Older"]).text
    assert ids(oldest) == list(range(1, 201))
    assert set(links(oldest)) == {"Newer", "Newest"}
    assert ids(client.get(links(oldest)["Newer"]).text) == list(range(201, 701))
    assert ids(client.get(links(oldest)["Newest"]).text) == list(range(701, 1201))


def test_without_script_the_pages_keep_the_filter(client, logs):
    write(logs / f"{NAME}.log", *(line(n, "error" if n % 2 else "info") for n in range(1, 1201)))
    newest = client.get(f"/logs/{NAME}?level=error&q=line").text
    assert ids(newest) == list(range(201, 1201, 2))
    older = client.get(links(newest)["Older"]).text
    assert ids(older) == list(range(1, 200, 2))
    assert 'value="line"' in older
    assert '<option value="error" selected>' in older


def test_a_link_to_a_line_begins_with_it(client, logs):
    write(logs / f"{NAME}.log", *map(line, range(1, 1201)))
    text = client.get(f"/logs/{NAME}?line=42").text
    assert ids(text)[0] == 42
    assert 'data-line="42"' in text


def test_markup_in_a_log_is_shown_as_text(client, logs):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    write(
        logs / f"{NAME}.log",
        line(1, "info", event=evil, message=evil, **{evil: evil}),
        evil.encode() + b"\n",
    )
    text = client.get(f"/logs/{NAME}").text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 5
    asked = client.get(f"/logs/{NAME}", params={"q": evil}).text
    assert "<img src=x" not in asked


def test_the_page_of_an_unknown_log_says_so(client, logs):
    answer = client.get("/logs/Nothing", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "No such log: Nothing" in answer.text
    assert client.get(f"/logs/{NAME}?line=0", headers={"Accept": "text/html"}).status_code == 422
