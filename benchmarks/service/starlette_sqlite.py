"""The peer: what one writes in an afternoon. A minimal Starlette app that inserts each wait into SQLite, as durably.

python -m benchmarks.service.starlette_sqlite FOLDER PORT
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SCHEMA = "create table if not exists waits (id text primary key, key text, until text, deadline integer, status text)"
INSERT = "insert or ignore into waits values (?, ?, ?, ?, 'pending')"


def app(folder: Path) -> Starlette:
    database = sqlite3.connect(folder / "waits.db", isolation_level=None)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = full")  # a commit is on the disk when it returns
    database.execute(SCHEMA)
    database.execute("create index if not exists due on waits (deadline)")
    database.execute("create index if not exists by_key on waits (key)")

    async def put(request: Request) -> JSONResponse:
        body = await request.json()
        deadline = time.time_ns() // 1_000_000 + 3_600_000
        row = (request.path_params["id"], body["key"], json.dumps(body["until"]), deadline)
        is_new = database.execute(INSERT, row).rowcount
        return JSONResponse({"id": row[0], "deadline": deadline}, 201 if is_new else 200)

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({})

    return Starlette(routes=[Route("/v1/waits/{id}", put, methods=["PUT"]), Route("/readyz", ready)])


if __name__ == "__main__":
    uvicorn.run(app(Path(sys.argv[1])), port=int(sys.argv[2]), log_level="warning", loop="uvloop", http="httptools")
