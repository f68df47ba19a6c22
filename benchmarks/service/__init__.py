"""The service under load, from outside: one process serves, another asks."""
