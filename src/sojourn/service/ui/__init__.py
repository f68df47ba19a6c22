"""The dashboard: one page at /ui, of plain modules and a style sheet; nothing is built or comes from elsewhere."""
