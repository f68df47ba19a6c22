"""The main job: a year of flights from New York, replayed on Spark, checked in process, and drawn."""
