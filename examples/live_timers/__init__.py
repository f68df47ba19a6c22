"""A hundred thousand live timers in the terminal, with the timing wheels drawn as they turn.

    python -m examples.live_timers [--timers N] [--seconds S] [--seed N] [--plain] [--save-svg FILE]

`load.py` is the part that uses a timer, `screen.py` the part that draws, `picture.py` saves a
drawing, `__main__.py` is the run and its checks.
"""
