"""A hub that is elsewhere: the verbs of `hub/hub.py`, carried out by a service. The standard library is enough for it.

From the wire upwards:

    wire        connections that are kept, one request over one of them
    transport   requests that are answered in the end: repeated where that is safe
    refusals    what a service refused, as the error that a hub would raise
    shapes      waits, signals, rules and outcomes as JSON, and back
    events      the one stream of outcomes, in a thread of its own, and back on its feet when it was cut
    wait        the handle that people hold
    known       the handles by id: who is told of which outcome
    verbs       each verb as a request
    hub, async_hub    the faces
"""

from .hub import RemoteHub
from .wait import RemoteWait

__all__ = ["RemoteHub", "RemoteWait"]
