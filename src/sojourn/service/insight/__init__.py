"""What a hub's folder tells about itself: how it goes now, what is to be expected, what other deadlines would do.

pulse      outcomes as they are told: per second and minute, lateness, how fast a herd is told
forecast   pending waits by due time, and how long telling them takes
past       the folder's history as numbers, read by a process of its own
history    these numbers by rule: distribution, what-if, recommendation, outlook of one wait
timeline   one wait: what has come, from the log
insight    the part of the service that keeps these, and refreshes them
routes     what the page, and others, ask
"""
