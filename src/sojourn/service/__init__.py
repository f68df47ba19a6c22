"""The service: HTTP over a durable hub."""
