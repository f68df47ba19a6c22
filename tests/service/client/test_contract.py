from __future__ import annotations

import inspect
from importlib import import_module
import pytest
from service.client.scene import RemoteScene, start_at_0

MODULES = ("asyncio","blocking","callbacks","conditions","extend_cancel","hub_law","ids","keys","law","limits","races","recipes","remember","result","signal","stats_close","ties")

@pytest.fixture
def scene(tmp_path, monkeypatch):
    start_at_0(monkeypatch)
    scene = RemoteScene(tmp_path)
    yield scene
    scene.close()

for name in MODULES:
    module = import_module(f"hub.test_{name}")
    for test, function in inspect.getmembers(module, inspect.isfunction):
        if test.startswith("test_") and "scene" in inspect.signature(function).parameters and "build" not in inspect.signature(function).parameters:
            globals()[f"test_{name}__{test[5:]}"] = function
