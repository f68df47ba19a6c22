"""Bugs for logs of any size: parts, drawers, and what becomes of outcomes as they are decided."""

from __future__ import annotations

from .mutant import Mutant

DEAL = "src/sojourn/pipeline/deal.py"
DRAWERS = "src/sojourn/pipeline/drawers.py"
GATHER = "src/sojourn/pipeline/gather.py"
GROUPING = "src/sojourn/pipeline/columns/grouping.py"
OUTLET = "src/sojourn/pipeline/outlet.py"
PARTS = "src/sojourn/pipeline/files/parts.py"
DELIVER = "src/sojourn/pipeline/spark/deliver.py"
REPLAY = "src/sojourn/pipeline/local_replay.py"

MUTANTS = [
    Mutant(
        "the last groups of rows are lost",
        PARTS,
        "    if chosen:\n        yield fragment",
        "    if False:\n        yield fragment",
    ),
    Mutant(
        "what is in memory is forgotten when files are opened",
        DRAWERS,
        "        while self._held:\n",
        "        while False:\n",
    ),
    Mutant(
        "what comes in between is lost",
        DRAWERS,
        "            self._write(self._held.pop())\n",
        "            self._held.pop()\n",
    ),
    Mutant("nothing ever goes into files", DRAWERS, "or self._size > self._most:", "or False:"),
    Mutant("drawers stay behind", DRAWERS, "            file.unlink()\n", ""),
    Mutant(
        "all shards of a drawer are one",
        DEAL,
        " - np.uint16(number * MOST_SHARDS)",
        " - np.uint16(number * MOST_SHARDS) & np.uint16(0)",
    ),
    Mutant("rows are set aside with what the plan reads of them", GATHER, "part.read().events", "rows"),
    Mutant("lines that cannot be read are lost", GATHER, "aside = [unreadable]", "aside = []"),
    Mutant(
        "a full basket is thrown away", OUTLET, "self._tallies.append(self._tally(decided))", "self._tally(decided)"
    ),
    Mutant(
        "the last basket is not emptied",
        OUTLET,
        '        """The tallies of all."""\n        self._empty()\n',
        '        """The tallies of all."""\n',
    ),
    Mutant("only ended ones are written", OUTLET, "if self._only_ended else rows", "if not self._only_ended else rows"),
    Mutant("no outcomes make no file", OUTLET, "        if not self._baskets:\n            self._new_basket()\n", ""),
    Mutant("reasons are not counted", OUTLET, "        self.reasons += counted(rows[S.REASON])\n", ""),
    Mutant("of groups at one instant the last counts", GROUPING, "np.minimum.reduceat(", "np.maximum.reduceat("),
    Mutant(
        "every attempt leaves its file",
        DELIVER,
        "shutil.rmtree(Path(deliver.folder, ATTEMPTS), ignore_errors=True)",
        "pass",
    ),
    Mutant("attempts share a file", DELIVER, 'f"{uuid4().hex}.parquet"', '"0.parquet"'),
    Mutant(
        "a log that is too large for its operations is cut",
        REPLAY,
        "        if drawers.are_files:\n            raise",
        "        if False:\n            raise",
    ),
]
