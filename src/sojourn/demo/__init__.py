"""The live view, `sojourn demo`: a hundred thousand waits on a real hub in virtual time, and the wheels that hold them.

`world` is the part that uses a hub, `driver` moves it, `reading` is what there is to see of it, `app` shows that.
"""

from .show import run

__all__ = ["run"]
