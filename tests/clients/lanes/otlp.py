"""PyPI `opentelemetry-proto`, which reads what the gateway sends a collector: spans of calls, stages and requests, and
events of commerce."""

import json
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from lib.gateway import RUNS, serving

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
MESSAGES = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
}


class Collector(BaseHTTPRequestHandler):
    """Decodes what it is sent, and refuses what it cannot decode."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request, response = MESSAGES[self.path]
        assert self.headers["Content-Type"] == "application/x-protobuf"
        with self.server.lock:
            if self.path == "/v1/traces" and self.server.failures:
                self.server.failures -= 1
                self.send_response(503)
                self.end_headers()
                return
            self.server.received.append(request.FromString(body))
        answer = response().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextmanager
def collecting():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.received, server.failures, server.lock = [], 1, threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()


def post(url, path, payload, more=()):
    headers = {"Content-Type": "application/json", "UCP-Agent": 'profile="https://agent.example.com/profile.json"'}
    request = urllib.request.Request(url + path, json.dumps(payload).encode(), headers | dict(more))
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def values(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def spans(received):
    for message in (one for one in received if isinstance(one, ExportTraceServiceRequest)):
        for resource in message.resource_spans:
            assert values(resource.resource.attributes)["service.name"] == "ucp-gateway"
            for scope in resource.scope_spans:
                assert scope.scope.name == "ucp-gateway"
                yield from scope.spans


def records(received):
    for message in (one for one in received if isinstance(one, ExportLogsServiceRequest)):
        for resource in message.resource_logs:
            for scope in resource.scope_logs:
                yield from scope.log_records


@pytest.fixture(scope="module")
def told():
    """The spans and the records of a gateway that was called, and whose collector refused them at first."""
    folder = Path(tempfile.mkdtemp(dir=RUNS, prefix="opentelemetry-"))
    with collecting() as collector:
        endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
        toml = f'[telemetry]\notlp_endpoint = "{endpoint}"\n[events]\notlp = true\n'
        with serving(folder / "data", toml) as url:
            post(url, "/catalog/search", {"query": "running shoes"}, {"traceparent": f"00-{TRACE}-{PARENT}-01"})
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            meta = {"ucp-agent": {"profile": "https://agent.example.com/profile.json"}}
            arguments = {"meta": meta, "catalog": {"ids": ["prod_abc123"]}}
            post(url, "/mcp", message | {"params": {"name": "lookup_catalog", "arguments": arguments}})
        # What was waiting when it ended was sent too.
        time.sleep(0.1)
        with collector.lock:
            received = list(collector.received)
    return list(spans(received)), list(records(received))


def test_a_call_continues_the_trace_of_its_caller(told):
    [call] = [span for span in told[0] if span.name == "search_catalog"]
    assert (call.trace_id.hex(), call.parent_span_id.hex(), call.kind) == (TRACE, PARENT, Span.SPAN_KIND_SERVER)
    said = values(call.attributes)
    expected = {"ucp.operation": "search_catalog", "ucp.transport": "rest", "ucp.outcome": "ok"}
    assert expected.items() <= said.items() and said["http.response.status_code"] == 200
    assert "running shoes" not in str(told[0])


def test_stages_are_children_that_lie_within_a_call(told):
    [call] = [span for span in told[0] if span.name == "search_catalog"]
    stages = [span for span in told[0] if span.parent_span_id == call.span_id]
    assert {"identify", "read", "domain", "store", "encode"} >= {span.name for span in stages} >= {"identify", "domain"}
    for stage in stages:
        assert stage.kind == Span.SPAN_KIND_INTERNAL and stage.trace_id == call.trace_id
        assert call.start_time_unix_nano - 100_000 <= stage.start_time_unix_nano <= stage.end_time_unix_nano
        assert stage.end_time_unix_nano <= call.end_time_unix_nano + 100_000


def test_a_call_without_a_trace_begins_one(told):
    [call] = [span for span in told[0] if span.name == "lookup_catalog"]
    assert call.parent_span_id == b"" and call.trace_id.hex() != TRACE and values(call.attributes)["ucp.transport"] == "mcp"
    assert len({span.span_id for span in told[0]}) == len(told[0])


def test_events_of_commerce_are_records_in_the_spans_of_their_calls(told):
    calls = {span.name: span for span in told[0]}
    names = {record.event_name: record for record in told[1]}
    assert {"catalog_search", "catalog_lookup"} <= set(names)
    record = names["catalog_search"]
    assert (record.trace_id, record.span_id) == (calls["search_catalog"].trace_id, calls["search_catalog"].span_id)
    said = values(record.attributes)
    assert said["operation"] == "search_catalog" and said["http_status_code"] == 200 and record.time_unix_nano > 0
