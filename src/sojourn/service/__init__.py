"""HTTP over a durable hub: any language, one data folder.

settings, tokens   what it is told when it starts
service            the hub and the parts that live beside it
acts               what handlers have the hub do, in its turn
shapes, problems   JSON in and out, and refusals
endpoint, routes/  the routes, with what /openapi.json says of them
door, front        who comes in; request ids and the log
feed               outcomes as they come, for many who follow
app, server        all together, and uvicorn around it
"""
