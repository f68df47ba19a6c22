"""The law, vectorised: sorted columns of events in, columns of verdicts out. Proven equal to `sojourn.rules.law`.

    operations = openings(rule, events)              # those that events open; or given(events, ...), from elsewhere
    verdicts = judge(rule, events, operations)       # how each ends, given the events there are

`judge` is `endings`, then `in_words`. A caller that needs the words on only some operations calls the two itself.

`Events` are rows sorted by group (all that one operation may look at: the events of its key), then time; their order
within an instant does not matter. `Operations` and `Verdicts` are columns too, in the same order as each other.
Everything here is NumPy over whole columns, some of it compiled to one pass (`passes`, `search`); Python runs once for
each leaf of a rule, and for each different text in the column `missing`: never for each row. No clock, no I/O, nothing
but NumPy and `sojourn.rules`.

`counted` gives the least that must be kept of an operation's events, where these come from several places.
"""

from .columns import NEVER as NEVER
from .columns import UNREADABLE as UNREADABLE
from .columns import Events as Events
from .columns import Lanes as Lanes
from .columns import Numbers as Numbers
from .counted import counted as counted
from .evidence import Operations as Operations
from .evidence import reaching as reaching
from .judge import CANCELLED as CANCELLED
from .judge import COMPLETED as COMPLETED
from .judge import EXPIRED as EXPIRED
from .judge import NOTHING as NOTHING
from .judge import PENDING as PENDING
from .judge import CodedTexts as CodedTexts
from .judge import Endings as Endings
from .judge import Verdicts as Verdicts
from .judge import endings as endings
from .judge import in_words as in_words
from .judge import judge as judge
from .openings import all_opening_rows as all_opening_rows
from .openings import given as given
from .openings import opening_rows as opening_rows
from .openings import openings as openings
