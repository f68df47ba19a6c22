"""The normal form: what is read from a log becomes Arrow columns of the plan here, and outcomes become tables."""
