"""A run of `sojourn recommend`: from a job to sentences, or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import typer

from ...pipeline.replay import Job, Replay, doubts, suspicious_times
from ...pipeline.report.words import estimate_text
from ...pipeline.results.recommend import (
    Recommendation,
    as_json,
    deadline_text,
    recommended,
    recommended_by_group,
)
from ...pipeline.results.summary import as_of_text
from ...pipeline.results.tally import Tally
from ...rules import Rule
from .outputs import Outputs
from .run import WHERE, ReplayRun, quarantine_text
from .screen import Screen

SCHEMA = 1


@dataclass(frozen=True)
class RecommendRun:
    """A job, and the share that is to complete."""

    job: Job
    share: float
    is_json: bool = False
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    memory: int | None = None

    def run(self, engine: str) -> None:
        """Do it on the engine named."""
        if names := self.job.source.names():
            self.job.check(names)
        screen = Screen(self.is_json)
        run = ReplayRun(self.job, Outputs(is_json=self.is_json), False, self.master, self.conf, self.memory)
        with ExitStack() as stack:
            replay = run.replay(engine, screen, stack)
            with screen.step(f"replaying {self.job.title} {WHERE[replay.engine]}"):
                warnings = self._warnings(replay)
            for warning in warnings:
                screen.warn(warning)
            for rule in self.job.rules:
                self._show(rule, replay.tallies[rule.name], screen)
            if self.is_json:
                typer.echo(json.dumps(self._json(replay, engine, warnings)))

    def _warnings(self, replay: Replay) -> list[str]:
        doubted = doubts(self.job, replay)
        aside = [quarantine_text(replay)] if replay.quarantined else []
        return [*doubted.idle, *doubted.unmet, *suspicious_times(replay), *aside]

    def _show(self, rule: Rule, tally: Tally, screen: Screen) -> None:
        screen.say(f"\n{rule}")
        screen.say(f"  {self._sentence(recommended(tally, self.share), tally.is_fixed)}")
        if self.job.by is not None and tally.groups:
            rows = [self._row(name, found, tally.is_fixed) for name, found in recommended_by_group(tally, self.share)]
            screen.columns([self.job.by, "deadline", "from", "to", "opened", "completed"], rows)

    def _sentence(self, found: Recommendation, is_fixed: bool) -> str:
        share = f"{self.share * 100:g}%"
        if found.deadline.at is None:
            judged = "any deadline" if found.end is None else f"{deadline_text(found.end, is_fixed)}, the longest seen"
            return f"no deadline is known under which {share} complete: {estimate_text(found.most)} do under {judged}"
        at, earliest, latest = _texts(found, is_fixed)
        now = "" if found.completed is None else f"; as it is, {estimate_text(found.completed)} complete"
        end = "no known end" if found.deadline.latest is None else latest
        interval = f"{earliest} to {end}, with 95 % confidence"
        return f"for {share} to complete, the deadline would have to be {at} ({interval}){now}"

    def _row(self, name: str, found: Recommendation, is_fixed: bool) -> Sequence[str]:
        return [name or "(none)", *_texts(found, is_fixed), f"{found.opened:,}", estimate_text(found.completed)]

    def _json(self, replay: Replay, engine: str, warnings: Sequence[str]) -> dict[str, Any]:
        rules = [self._rule(rule, replay.tallies[rule.name]) for rule in self.job.rules]
        told = {"share": self.share, "as_of": as_of_text(replay.as_of), "engine": engine, "schema": SCHEMA}
        return {**told, "by": self.job.by, "rules": rules, "warnings": list(warnings)}

    def _rule(self, rule: Rule, tally: Tally) -> dict[str, Any]:
        groups = [
            {"group": name or None, **as_json(found, is_fixed=tally.is_fixed)}
            for name, found in recommended_by_group(tally, self.share)
        ]
        return {"rule": rule.name, **as_json(recommended(tally, self.share), is_fixed=tally.is_fixed), "groups": groups}


def _texts(found: Recommendation, is_fixed: bool) -> tuple[str, str, str]:
    """The deadline, and its interval."""
    at, earliest, latest = found.deadline
    return deadline_text(at, is_fixed), deadline_text(earliest, is_fixed), deadline_text(latest, is_fixed)
