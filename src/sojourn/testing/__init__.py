"""For tests of timeout code: virtual time that drives the real timer. See also the pytest fixtures in `plugin`."""

from ..clock import ManualClock

__all__ = ["ManualClock"]
