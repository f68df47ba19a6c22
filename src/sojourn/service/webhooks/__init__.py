"""Webhooks: every outcome to whoever asked for it, at least once, signed.

From the ground upwards:

    signature   Standard Webhooks: secrets, the headers of a message, and how a receiver checks them
    event       an outcome as a CloudEvent
    guard       where to send: the address is resolved, judged and then used, so that no name can point elsewhere later
    sender      one POST over HTTP/1.1, on a connection that is kept
    backoff     when to try again, and when no more
    store       registrations, cursors and what could not be delivered, in `webhooks.sqlite` beside the log
    courier     one per webhook: reads the outcomes from its cursor on, and tries again what failed
    webhooks    all of them, with a start and an end; what the routes call
    routes      /v1/webhooks
    part        what a service starts and stops

Receivers need `verify` alone, and the standard library for it.
"""

from .signature import verify

__all__ = ["verify"]
