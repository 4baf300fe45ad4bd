"""Exit codes, help and errors of commands."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from synergy import errors
from synergy.cli import exits, main

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that makes the noun `probe` raise or return a given result."""

    def install(error: BaseException | int | None) -> None:
        def run(_arguments: argparse.Namespace) -> int | None:
            if isinstance(error, BaseException):
                raise error
            return error

        def add(subparsers: Any) -> None:
            probe = subparsers.add_parser("probe", help="for tests")
            probe.add_argument("words", nargs="*")
            probe.set_defaults(run=run)

        module = ModuleType("probe_commands")
        module.add = add  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "probe_commands", module)
        monkeypatch.setitem(main.NOUNS, "probe", ("probe_commands", "for tests"))

    return install


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError(["a", "b"]), 78),
        (errors.NotFound("process", "x"), 3),
        (errors.Refused("not now"), 4),
        (errors.IllegalMove("job", "processed", "skip"), 4),
        (errors.StorageUnavailable("no answer"), 5),
        (errors.MessagingUnavailable("no answer"), 5),
        (errors.Unreachable("no supervisor"), 5),
        (errors.AuditLogUnavailable("disk full"), 5),
        (errors.InvalidValue("bad"), 2),
        (errors.LostAttempt("taken"), 1),
        (None, 0),
        (0, 0),
        (1, 1),
        (KeyboardInterrupt(), 130),
        (SystemExit(7), 7),
    ],
)
def test_each_error_has_its_exit_code(
    failing: Any, capsys: pytest.CaptureFixture[str], error: BaseException | int | None, code: int
) -> None:
    failing(error)
    assert main.main(["probe"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    if isinstance(error, errors.ConfigurationError):
        assert shown.err == "error: a\nerror: b\n2 mistakes; nothing was done\n"
    elif isinstance(error, errors.SynergyError):
        assert shown.err == f"error: {error}\n"


def test_an_argument_that_is_not_utf8_is_named_as_the_reason(
    failing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(TypeError("bytes, not text"))
    assert main.main(["probe", "\udcff"]) == 2
    failing(UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"))
    assert main.main(["probe", "\udcff"]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_debug_shows_the_traceback(failing: Any) -> None:
    failing(errors.Refused("not now"))
    for argv in (["probe", "--debug"], ["--debug", "probe"]):
        with pytest.raises(errors.Refused):
            main.main(argv)


def test_an_unexpected_error_is_one_line_and_its_traceback_is_in_the_log(
    failing: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("SYNERGY_HOME", str(tmp_path))
    failing(RuntimeError("amqp://a:secret@h broke"))
    assert main.main(["probe"]) == 1
    shown = capsys.readouterr().err
    path = tmp_path / "logs" / "cli.log"
    assert shown == (f"unexpected RuntimeError: amqp://a:***@h broke\nthe traceback is in {path}\n")
    line = json.loads(path.read_text())
    assert line["event"] == "cli.failed"
    assert "RuntimeError" in line["traceback"]


def test_an_unexpected_error_with_unusable_settings_still_says_what_to_do(
    failing: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNERGY_MX_PORT", "x")
    failing(RuntimeError("broke"))
    assert main.main(["probe"]) == 1
    assert "run it again with --debug" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "required: NOUN"),
        (["chek"], "did you mean check?"),
        (["audit"], "did you mean timetable audit?"),
        (["dead", "--json"], "did you mean queue dead?"),
        (["retry"], "did you mean timetable retry or unit retry or schedule retry?"),
        (["zzz"], "expected supervisor, dev, box"),
        (["probe", "--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_usage_is_answered_with_a_suggestion(
    failing: Any, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    failing(None)
    assert main.main(argv) == exits.USAGE
    shown = capsys.readouterr().err
    assert words in shown
    assert "-h" in shown


def test_help_names_every_noun(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["-h"]) == 0
    shown = capsys.readouterr().out
    assert all(f"    {noun} " in shown for noun in main.NOUNS)
    assert "example:" in shown


def parsers_below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers_below(below)


@pytest.mark.parametrize("noun", main.NOUNS)
def test_every_help_has_an_example_and_every_verb_a_function(noun: str) -> None:
    pytest.importorskip(main.NOUNS[noun][0])
    own = [p for p in parsers_below(main._parser(noun)) if p.prog.startswith(f"launch.py {noun}")]
    verbs = [p for p in own if list(parsers_below(p)) == [p]]
    assert verbs
    assert all("example" in (parser.epilog or "") for parser in own)
    if noun != "test":  # which hands all its words to pytest
        assert all(callable(verb.get_default("run")) for verb in verbs)


def test_the_help_of_the_program_says_of_a_noun_what_its_own_help_says() -> None:
    modules = {noun: importlib.import_module(module) for noun, (module, _) in main.NOUNS.items()}
    own = {noun: one.NOUN._help for noun, one in modules.items() if hasattr(one, "NOUN")}
    assert own == {noun: main.NOUNS[noun][1] for noun in own}


def test_help_imports_no_command_and_no_engine() -> None:
    code = (
        "import sys; from synergy.cli.main import main; main(['-h']);"
        "bad = {'orjson', 'apsw', 'psutil', 'apscheduler', 'synergy.compose', 'synergy.cli.check'};"
        "sys.exit(len(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True)
    assert done.returncode == 0


def test_a_closed_output_pipe_causes_no_traceback() -> None:
    code = (
        "import sys; from synergy.cli import main, output; from types import ModuleType;"
        "m = ModuleType('probe'); m.add = lambda s: s.add_parser('probe').set_defaults("
        "run=lambda _: [output.say('x' * 1000) for _ in range(1000)] and None);"
        "sys.modules['probe'] = m; main.NOUNS['probe'] = ('probe', '');"
        "sys.exit(main.main(['probe']))"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait() == exits.FAILED


def test_check_finds_no_mistakes_in_this_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mistakes"] == []
    assert main.main(["check"]) == 0
    assert "settings and context are sound" in capsys.readouterr().out


def test_check_lists_all_mistakes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNERGY_MX_PORT", "x")
    monkeypatch.setenv("SYNERGY_STOER", "x")
    monkeypatch.setenv("SYNERGY_CONTEXT", "no_such_context")
    assert main.main(["check", "--json"]) == exits.CONFIGURATION
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert len(found["mistakes"]) == 3
    assert main.main(["check"]) == exits.CONFIGURATION
    shown = capsys.readouterr().out
    assert shown.count("mistake: ") == 3
    assert "3 mistakes: nothing would start" in shown
