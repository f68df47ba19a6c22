"""HTTP over a durable hub: any language, one data folder.

settings           what it is told when it starts
service            the hub and the parts that live beside it
access/            who comes in
api/, routes/      what may be asked, JSON in and out, refusals; /openapi.json says it
turns/             what handlers have the hub do, in its turn
front, quick       request ids and the log; the two requests that come by the thousands
feed               outcomes as they come, for many who follow
insight/, ui/      what the dashboard asks, and the page
webhooks/, client/ outcomes to whoever asked for them; a hub that is elsewhere
app, server        all together, and uvicorn around it
"""
