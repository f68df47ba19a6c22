"""Bugs for webhooks: order, retries, dead letters, signatures, and where they may go."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/service/webhooks"

MUTANTS = [
    # Delivery
    Mutant(
        "a failed delivery is forgotten",
        f"{ROOM}/courier.py",
        "        await self._keep(kept, max(self.cursor, tried.number))\n",
        "        self.cursor = max(self.cursor, tried.number)\n",
    ),
    Mutant(
        "the cursor passes what is still under way",
        f"{ROOM}/courier.py",
        "        assert delivery.outcome is not None\n        hook,",
        "        self.cursor = max(self.cursor, delivery.number)\n        hook,",
    ),
    Mutant(
        "what was delivered in the end stays waiting",
        f"{ROOM}/courier.py",
        "            await self._desk.disk(self._desk.store.delivered, self.hook.id, tried.number)\n",
        "",
    ),
    Mutant(
        "the cursor is never written",
        f"{ROOM}/courier.py",
        "            await self._desk.disk(self._desk.store.move, self.hook.id, cursor)\n",
        "",
    ),
    Mutant(
        "a receiver that is down is asked for every outcome",
        f"{ROOM}/courier.py",
        "is_held = self.is_down and self._waiting is not None",
        "is_held = False",
    ),
    Mutant(
        "a receiver that is back is still taken to be down",
        f"{ROOM}/courier.py",
        "        self.failures = 0\n        if tried",
        "        if tried",
    ),
    Mutant("the rule is not looked at", f"{ROOM}/store.py", "return self.rule in (None, rule) and", "return"),
    Mutant(
        "the id of a message changes with every attempt",
        f"{ROOM}/courier.py",
        'f"msg_{hook.id}_{delivery.number}"',
        'f"msg_{hook.id}_{delivery.number}_{delivery.attempts}"',
    ),
    Mutant(
        "410 does not disable",
        f"{ROOM}/courier.py",
        "if answer.status == GONE:",
        "if answer.status == -GONE:",
    ),
    Mutant(
        "trouble of our own ends the courier",
        f"{ROOM}/courier.py",
        "            self._ahead.clear()\n            return False\n",
        "            raise\n",
    ),
    Mutant("pauses do not grow", f"{ROOM}/backoff.py", "FIRST_MS * FACTOR ** (attempts - 1)", "FIRST_MS"),
    Mutant("pauses have no jitter", f"{ROOM}/backoff.py", "JITTER = 0.2", "JITTER = 0"),
    Mutant("nothing is ever a dead letter", f"{ROOM}/backoff.py", "if attempts >= MOST_ATTEMPTS:", "if False:"),
    Mutant(
        "what the receiver asks is not heeded",
        f"{ROOM}/backoff.py",
        "return max(jittered, min(at_least_ms, LONGEST_MS))",
        "return jittered",
    ),
    Mutant(
        "a dead letter that is retried has no attempts left",
        f"{ROOM}/store.py",
        "attempts = CASE status WHEN 'dead' THEN 0 ELSE attempts END",
        "attempts = attempts",
    ),
    Mutant(
        "a gap in the log is passed in silence",
        f"{ROOM}/courier.py",
        'await self._keep(Delivery(last, "dead", 0, None, self._desk.now_ms(), None, error, None), last)',
        "self.cursor = last",
    ),
    # Messages
    Mutant(
        "the time is not signed",
        f"{ROOM}/signature.py",
        'f"{message_id}.{timestamp_s}."',
        'f"{message_id}."',
    ),
    Mutant(
        "old messages are taken",
        f"{ROOM}/signature.py",
        "if abs(now_s - int(timestamp)) > TOLERANCE_S:",
        "if int(timestamp) - now_s > TOLERANCE_S:",
    ),
    Mutant(
        "an old secret is good for ever",
        f"{ROOM}/store.py",
        "self.old_until is not None and now_ms < self.old_until",
        "self.old_until is not None",
    ),
    # Where they may go
    Mutant(
        "only the first address is judged",
        f"{ROOM}/guard.py",
        "for text in found:",
        "for text in found[:1]:",
    ),
    Mutant(
        "an address inside an IPv6 address is not seen",
        f"{ROOM}/guard.py",
        "address = embedded(ip_address(",
        "address = (ip_address(",
    ),
    Mutant(
        "the name is resolved again after it was judged",
        f"{ROOM}/sender.py",
        "asyncio.open_connection(address, target.port,",
        "asyncio.open_connection(target.host, target.port,",
    ),
    Mutant(
        "the certificate is not checked against the name",
        f"{ROOM}/sender.py",
        "name = target.host if target.is_secure else None",
        'name = "example.org" if target.is_secure else None',
    ),
    Mutant(
        "public addresses are reached in the clear",
        f"{ROOM}/guard.py",
        "if not target.is_secure:",
        "if False:",
    ),
    Mutant(
        "a secret is shown whenever somebody asks",
        f"{ROOM}/routes.py",
        '        "disabled_because": hook.disabled,\n    }\n',
        '        "disabled_because": hook.disabled,\n        "secret": hook.secret,\n    }\n',
    ),
]
