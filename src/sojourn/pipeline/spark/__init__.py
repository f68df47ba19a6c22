"""The rooms that import PySpark: reading, parcels, what runs on executors."""
