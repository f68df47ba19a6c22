"""`report.html`: what became of operations, drawn. It is made of tallies only, so it costs the same for any log."""

from .page import Report

__all__ = ["Report"]
