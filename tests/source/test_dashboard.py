"""The dashboard of 'assay prometheus' as Grafana 8 and later imports it: what its model requires, held against the file.
Its queries are evaluated by a real Prometheus in tests/e2e/local/test_prometheus.cpp.

usage: test_dashboard.py BIN_DIR
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

SCHEMA = {
    "type": "object", "required": ["title", "panels", "templating", "time", "schemaVersion"],
    "properties": {
        "title": {"type": "string", "minLength": 1}, "schemaVersion": {"type": "integer", "minimum": 27},
        "id": {"type": "null"},  # Grafana gives its own
        "templating": {"required": ["list"], "properties": {"list": {"type": "array", "items": {
            "required": ["name", "type"], "properties": {"type": {"enum": ["datasource", "query", "custom", "interval"]}}}}}},
        "panels": {"type": "array", "minItems": 1, "items": {
            "required": ["id", "type", "title", "gridPos"],
            "properties": {
                "id": {"type": "integer"}, "type": {"enum": ["row", "timeseries", "stat", "gauge", "table", "bargauge"]},
                "gridPos": {"required": ["x", "y", "w", "h"], "properties": {
                    "x": {"type": "integer", "minimum": 0, "maximum": 23}, "y": {"type": "integer", "minimum": 0},
                    "w": {"type": "integer", "minimum": 1, "maximum": 24}, "h": {"type": "integer", "minimum": 1}}},
                "targets": {"type": "array", "items": {"required": ["expr", "refId"]}}}}}}}


def overlap(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def main(programs):
    with tempfile.TemporaryDirectory() as folder:
        suite = pathlib.Path(folder) / "suite.yaml"
        suite.write_text("name: lab\ntelemetry: {prometheus: {}}\ncases: [null:native:cpu:1:1:1]\n")
        subprocess.run([f"{programs}/assay", "prometheus", str(suite), "--output", folder], check=True, capture_output=True)
        dashboard = json.loads((pathlib.Path(folder) / "grafana-dashboard.json").read_text())
    jsonschema.validate(dashboard, SCHEMA)
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels), "a panel's id is there twice"
    for one, other in itertools.combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), f"{one['title']} lies over {other['title']}"
    known = {variable["name"] for variable in dashboard["templating"]["list"]} | {"__rate_interval"}
    for panel in panels:
        targets = panel.get("targets", [])
        assert panel["type"] == "row" or targets, f"{panel['title']} shows nothing"
        assert len({target["refId"] for target in targets}) == len(targets), panel["title"]
        for target in targets:
            unknown = set(re.findall(r"\$(\w+)", target["expr"])) - known
            assert not unknown, f"{panel['title']}: unknown variables {unknown}"
    print(f"{len(panels)} panels are as Grafana wants them")


if __name__ == "__main__":
    main(sys.argv[1])
