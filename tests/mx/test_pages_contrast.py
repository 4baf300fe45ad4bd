"""The contrast of texts and shapes, in the light and the dark theme."""

from __future__ import annotations

import re

import pytest

from synergy.mx.pages.render import HERE

TEXT, GRAPHIC = 4.5, 3.0  # WCAG 2.2 AA: 1.4.3 and 1.4.11
GROUNDS = ("bg", "surface", "soft")
PAIRS = [
    *((name, ground) for name in ("fg", "muted", "accent") for ground in GROUNDS),
    *((name, f"{name}-soft") for name in ("ok", "warn", "danger")),
    *((name, "surface") for name in ("ok", "warn", "danger")),
    *(("fg", f"{name}-soft") for name in ("ok", "warn", "danger")),
    ("on-accent", "accent"),
    ("on-sign", "sign"),
    ("on-sign-muted", "sign"),
]


def _themes() -> dict[str, dict[str, str]]:
    css = (HERE / "static" / "app.css").read_text("utf-8")
    light, dark = css.split("@media (prefers-color-scheme: dark)", 1)
    found = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part))
        for part in (light, dark.split("\n}\n", 1)[0])
    ]
    return {"light": found[0], "dark": {**found[0], **found[1]}}


THEMES = _themes()
STATES = [name for name in THEMES["light"] if name.startswith("state-")]


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _ratio(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_21_to_1():
    assert _ratio("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_can_be_read(theme, text, ground):
    colours = THEMES[theme]
    assert _ratio(colours[text], colours[ground]) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*STATES, "edge"])
def test_shapes_can_be_seen(theme, name):
    colours = THEMES[theme]
    assert all(_ratio(colours[name], colours[ground]) >= GRAPHIC for ground in GROUNDS)


def test_the_dark_theme_has_every_colour_of_the_light_theme():
    css = (HERE / "static" / "app.css").read_text("utf-8")
    dark = css.split("@media (prefers-color-scheme: dark)", 1)[1].split("\n}\n", 1)[0]
    assert {name for name in THEMES["light"] if f"--{name}:" not in dark} == set()


# The calendar mixes the colours of its cells, and writes on those of its lanes

CELLS = re.findall(
    r"--cell-([\w-]+): color-mix\(in oklab, var\(--state-([\w-]+)\), var\(--surface\) (\d+)%\)",
    (HERE / "static" / "timetable.css").read_text("utf-8"),
)
_TO_CONE = ((0.41222147, 0.53633254, 0.05144599), (0.2119035, 0.6806995, 0.10739696),
            (0.08830246, 0.28171884, 0.62997870))  # fmt: skip
_TO_LAB = ((0.21045426, 0.79361779, -0.00407205), (1.9779985, -2.4285922, 0.4505937),
           (0.02590404, 0.78277177, -0.80867577))  # fmt: skip
_FROM_LAB = ((1.0, 0.39633778, 0.21580376), (1.0, -0.10556135, -0.06385417),
             (1.0, -0.08948418, -1.29148555))  # fmt: skip
_FROM_CONE = ((4.07674166, -3.30771159, 0.23096993), (-1.26843801, 2.60975740, -0.34131940),
              (-0.00419609, -0.70341861, 1.7076147))  # fmt: skip


def _times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _oklab(colour: str) -> list[float]:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return _times(_TO_LAB, [cone ** (1 / 3) for cone in _times(_TO_CONE, linear)])


def _mixed(one: str, other: str, share: float) -> str:
    """As `color-mix(in oklab, one, other share)` does."""
    pairs = zip(_oklab(one), _oklab(other), strict=True)
    lab = [a * (1 - share) + b * share for a, b in pairs]
    linear = _times(_FROM_CONE, [cone**3 for cone in _times(_FROM_LAB, lab)])
    found = [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in linear]
    return "#" + "".join(f"{round(255 * min(max(c, 0), 1)):02x}" for c in found)


def test_colours_are_mixed_as_browsers_do():
    # half way between black and white lies a lightness of 0.5: (0.5 ** 3) of the light
    assert _mixed("#000000", "#ffffff", 0.5) == "#636363"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("word", ["processed", "noop", "in_progress", "final_run"])
def test_text_on_lanes_can_be_read(theme, word):
    colours, shares = THEMES[theme], [(s, int(n) / 100) for w, s, n in CELLS if w == word]
    state, share = shares[0] if theme == "light" else shares[-1]
    ground = _mixed(colours[f"state-{state}"], colours["surface"], share)
    assert _ratio(colours["fg"], ground) >= TEXT


# Shapes on coloured cells distinguish failures and changes

ON_CELLS = [
    ("surface", "state-failed", None),  # the cross
    ("surface", "state-given_up", None),  # the bar
    ("state-invalid", "state-invalid", "failing"),  # the cross of what is tried again
    ("state-skipped", "state-skipped", "skipped"),  # the slash
    ("state-unseen", "state-skipped", "skipped"),  # the corner
]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("shape", "ground", "cell"), ON_CELLS)
def test_shapes_on_cells_can_be_seen(theme, shape, ground, cell):
    colours = THEMES[theme]
    below = colours[ground]
    if cell is not None:
        (share,) = (int(number) / 100 for word, _, number in CELLS if word == cell)
        below = _mixed(below, colours["surface"], share)
    assert _ratio(colours[shape], below) >= GRAPHIC
