"""What is asked and answered: JSON in and out, refusals, and the routes as /openapi.json describes them.

shapes     JSON in and out
schemas    the same as JSON Schema
problems   what is wrong with a request
endpoint   a route: who may ask, what it takes and gives
openapi    all of them as one document
"""
