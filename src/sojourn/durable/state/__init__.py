"""What follows from the records of a log, one after the other. No clock, no thread, no I/O.

state      `apply(record)`: used by the running hub and by recovery alike
roster     who is pending, and who has ended and is not told yet: how they are found, come and end
wait       what a state keeps of a wait, and the handle that people hold
waits      those in memory: read from the log they are made when somebody looks at them
due        which waits end when, if nothing else happens
incidents  the clock of a rule stopped, deadlines shifted and shifted back
where      which waits, as a question
pages      pending waits, some at a time
horizon    how many waits are due when
"""
