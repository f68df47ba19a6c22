"""Bugs for replaying: sources, tallies, comparison, the report and the command line."""

from __future__ import annotations

from .mutant import Mutant

XES = "src/sojourn/pipeline/files/xes.py"
CSV_TEXT = "src/sojourn/pipeline/files/csv_text.py"
CSV_RECORDS = "src/sojourn/pipeline/files/csv_records.py"
QUOTES = "src/sojourn/pipeline/files/quotes.py"
JSON_TEXT = "src/sojourn/pipeline/files/json_text.py"
JSON_VALUES = "src/sojourn/pipeline/files/json_values.py"
SOURCES = "src/sojourn/pipeline/files/source.py"
COUNTS = "src/sojourn/pipeline/results/counts.py"
TALLY = "src/sojourn/pipeline/results/tally.py"
DEADLINES = "src/sojourn/pipeline/results/deadlines.py"
COMPARE = "src/sojourn/pipeline/results/compare.py"
REPLAY = "src/sojourn/pipeline/replay.py"
COMMAND = "src/sojourn/cli/replay/run.py"
OUTPUTS = "src/sojourn/cli/replay/outputs.py"
DRAFTS = "src/sojourn/pipeline/files/drafts.py"
SUMMARY = "src/sojourn/pipeline/results/summary.py"
EXITS = "src/sojourn/cli/exits.py"
SCREEN = "src/sojourn/cli/replay/screen.py"

MUTANTS = [
    # Sources
    Mutant(
        "a trace's attributes stay with the next trace",
        XES,
        "self._trace, self._trace_starts = {}, len",
        "self._trace_starts = len",
    ),
    Mutant("a trace's attributes go to the events before it", XES, "self._rows[self._trace_starts :]", "self._rows"),
    Mutant("attributes of the log are an event's", XES, 'case "event":', 'case "event" | "log" if self._rows:'),
    Mutant(
        "the last chunk is lost",
        XES,
        '        parser.Parse(b"", True)\n        yield self._rows',
        '        parser.Parse(b"", True)',
    ),
    Mutant("bad lines of CSV are dropped", CSV_TEXT, "        bad.append(Bad(FIELDS, row.text.encode()))\n", ""),
    Mutant("CSV guesses types", CSV_TEXT, "column_types=dict.fromkeys(places, pa.string())", "column_types={}"),
    Mutant(
        "a stray quote swallows the file",
        CSV_RECORDS,
        "self._end(min(line + at_most, len(self.lines.ends)) - 1)",
        "len(self.data)",
    ),
    Mutant(
        "a stray quote that closes by chance is believed", CSV_RECORDS, "if self._swallows(line, record):", "if False:"
    ),
    Mutant(
        "text after a closing quote is taken along",
        CSV_RECORDS,
        "if stop < end and data[stop : stop + 1] != sep:",
        "if False:",
    ),
    Mutant(
        "a quote may open anywhere", QUOTES, "return not (opening & ~_after(boundaries)).any() and not", "return not"
    ),
    Mutant("a quote may close anywhere", QUOTES, " and not (closing & ~_before(boundaries)).any()", ""),
    Mutant("a quote may close in another line", QUOTES, "(_bits(is_break) & inside).any() or ", ""),
    Mutant(
        "JSON texts become times",
        JSON_TEXT,
        "    if not _has_times(table.schema):\n        return table\n",
        "    if True:\n        return table\n",
    ),
    Mutant("objects go over lines", JSON_TEXT, "return np.asarray(starts & ends & ", "return np.asarray(starts & "),
    Mutant("large numbers are rounded", JSON_TEXT, "            if _is_exact(table):\n", "            if True:\n"),
    Mutant(
        "of a field that is named twice the last one counts", JSON_VALUES, "if len(fields) != len(pairs):", "if False:"
    ),
    Mutant(
        "JSON values that are no object are rows",
        JSON_VALUES,
        "    if not isinstance(value, dict):\n        raise Unfit(NOT_JSON)\n",
        "    if not isinstance(value, dict):\n        return {}\n",
    ),
    Mutant("hidden files are data", SOURCES, 'part[0] in "_."', 'part[0] in "_"'),
    Mutant(
        "only the first file of a folder is read",
        SOURCES,
        "return [file for name in _matched(path) for file in _below(Path(name))]",
        "return [file for name in _matched(path) for file in _below(Path(name))][:1]",
    ),
    # Counting
    Mutant("minus means plus", DEADLINES, '-ms if text[0] == "-" else ms', "ms"),
    # Comparing
    Mutant("rows that one has twice are equal", COMPARE, "_sided(right, -1)", "_sided(right, 1)"),
    Mutant(
        "differences are in no order", COMPARE, ".sort_by(S.OPERATION_ID)", ".sort_by([(S.OPERATION_ID, 'descending')])"
    ),
    # Refusing
    Mutant("a rule that opens nothing is not told", REPLAY, "for rule in idle],", "for rule in ()],"),
    Mutant(
        "a rule that opens nothing is not counted",
        TALLY,
        "what_if, rule) for rule in rules}",
        "what_if, rule) for rule in rules if rule.name in tallies}",
    ),
    Mutant("XES names its columns over the rule's", REPLAY, "if ours not in said}", "}"),
    Mutant("strict sets rows aside", COMMAND, "if self.is_strict and refused:", "if self.is_strict and found.idle:"),
    Mutant("strict lets nothing open", COMMAND, ", *doubted.idle]\n        if", "]\n        if"),
    Mutant("anything is written over", OUTPUTS, "    if others:\n", "    if False:\n"),
    Mutant(
        "two replays share a quarantine", OUTPUTS, 'return f"{folder}-quarantine"', 'return f"{folder}/../quarantine"'
    ),
    Mutant("what was there before is not put back", DRAFTS, "if self.store.exists(self.kept):", "if False:"),
    Mutant("what is half moved stays", DRAFTS, "if not self.store.exists(self.draft):", "if False:"),
    Mutant("drafts stay when a replay fails", DRAFTS, "        self._clean()\n", "        pass\n"),
    Mutant("new folders stay when a replay fails", DRAFTS, "for folder in self._made:", "for folder in ():"),
    Mutant("what cannot be put back is deleted", DRAFTS, "if not is_published and self._holds_earlier()", "if False"),
    Mutant("a link is replaced", DRAFTS, "Path(target).resolve().as_posix()", "os.path.abspath(target)"),
    Mutant(
        "outputs are published before the report",
        COMMAND,
        "        if places.report:\n",
        "        drafts.publish()\n        if places.report:\n",
    ),
    Mutant(
        "expired counts the late only",
        COUNTS,
        "return self.met_late + self.never_met",
        "return self.met_late",
    ),
    Mutant("a shift is a duration", SUMMARY, '"shift_ms" if deadline.is_shift else "within_ms"', '"within_ms"'),
    Mutant("a failure is a success", EXITS, "raise typer.Exit(code)", "raise typer.Exit(0)"),
    Mutant("debug stays on", EXITS, '_state["debug"] = is_asked', '_state["debug"] |= is_asked'),
    Mutant("texts are markup", SCREEN, "self._out.print(text, markup=False)", "self._out.print(text)"),
]
