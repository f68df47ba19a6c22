"""Planted bugs: each is a small edit that a tired programmer might make, and the suite must notice every one."""
