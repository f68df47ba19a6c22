"""The dial: every pixel has its place, and shows the bucket that lies there."""

from __future__ import annotations

import math

import pytest
from rich.segment import Segment

from demo.outside import HandDriver
from sojourn.demo.colour import EMPTY, HAND, hue, mix
from sojourn.demo.dial import BLURS, COVERS, SLICES, Dial, DialShape, brightness, map_pixels, shade, trail


@pytest.mark.parametrize("rows", [1, 5, 19, 54])
def test_a_dial_fills_its_square_exactly(rows: int) -> None:
    driver = HandDriver()
    driver.play(1)
    lines = Dial().lines(driver.reading, rows)
    assert [Segment.get_line_length(line) for line in lines] == [2 * rows] * rows


@pytest.mark.parametrize("diameter", [38, 110])
@pytest.mark.parametrize("rings", [4, 6])
def test_every_bucket_has_a_pixel_of_its_own(diameter: int, rings: int) -> None:
    shape = DialShape(diameter, rings, 20)
    drawn = {area for line in map_pixels(shape) for area, cover in line if cover}
    buckets = {(area - 1) // SLICES for area in drawn - {0}}
    outer = set(range(20 * (rings - 3), 20 * rings))  # the inmost buckets may be smaller than a pixel
    assert outer <= buckets <= set(range(20 * rings))


def test_pixels_outside_the_rings_show_the_background() -> None:
    pixels = map_pixels(DialShape(38, 4, 20))
    assert [pixels[y][x][1] for y, x in ((0, 0), (0, -1), (-1, 0), (-1, -1))] == [0] * 4
    assert {cover for line in pixels for _, cover in line} == set(range(COVERS + 1))


def test_the_fullest_bucket_shines_and_a_single_wait_can_be_seen() -> None:
    assert brightness([0, 1, 100]) == [0, 0.1, 1]
    assert brightness([0, 0]) == [0, 0]
    assert [shade(0, level, 0)[-1] for level in (0, 12)] == [EMPTY, hue(0)]
    assert shade(0, 1, 0) != shade(0, 0, 0)


def test_the_hand_is_where_the_wheel_has_turned_to() -> None:
    blurs = trail(head=0.25, turned=0.0, width=0.01, slices=480)
    bright = [at for at, blur in enumerate(blurs) if blur]
    assert {blurs[at] for at in bright} == {BLURS}
    assert (min(bright), max(bright)) == (118, 121)  # five thousandths to either side of a quarter
    assert shade(1, 0, BLURS)[-1] == HAND


def test_a_hand_leaves_a_trail_as_long_as_it_has_moved() -> None:
    blurs = trail(head=0.1, turned=0.2, width=0.01, slices=480)
    lit = {at for at, blur in enumerate(blurs) if blur}
    assert {0, 470, 450} <= lit  # it came round from the other side of the top
    assert lit.isdisjoint(range(60, 430))
    behind = [blurs[at % 480] for at in range(40, -40, -10)]
    assert behind == sorted(behind, reverse=True)


def test_a_hand_too_fast_to_follow_is_not_drawn() -> None:
    assert set(trail(head=0.5, turned=3.4, width=0.01, slices=480)) == {0}


def test_what_a_bucket_lost_glows_for_a_moment() -> None:
    driver = HandDriver(5_000)
    driver.play(3)
    dial = Dial()
    full = dial.lines(driver.reading, 19)
    driver.world.hub.close()
    driver.do(lambda driver: driver.observer.census.count_all())
    frames = [dial.lines(driver.reading, 19) for _ in range(20)]
    assert full != frames[0] != frames[1]
    assert frames[-1] == frames[-2]


def test_colours_mix_by_their_share() -> None:
    assert [mix("#000000", "#ff8040", share) for share in (0, 0.5, 1)] == ["#000000", "#804020", "#ff8040"]
    assert math.isclose(sum(DialShape(38, 4, 20).radii(3)) / 2, 17.0, abs_tol=1)
