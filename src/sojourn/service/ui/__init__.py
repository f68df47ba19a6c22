"""The dashboard: one page at /ui, of plain modules and one style sheet; nothing is built, nothing comes from elsewhere."""
