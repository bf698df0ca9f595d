"""Debian's `prometheus` and `promtool`, which know nothing of this gateway: its metrics are well formed, can be scraped, and
are those that the alert rules, the dashboard and the manual name."""

import json
import os
import re
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from lib.gateway import RUNS, serving

MONITORING = Path(os.environ["REPOSITORY"], "monitoring")
MANUAL = Path(os.environ["REPOSITORY"], "docs/monitoring.md")
TOKEN = "only-for-this-lane"
NAMED = re.compile(r"\b((?:ucp|process)_[a-z_]+)\b")
CALLS = 7


def free_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def get(url, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as response:
        return response.headers, response.read().decode()


def search(url):
    headers = {"Content-Type": "application/json", "UCP-Agent": 'profile="https://agent.example.com/profile.json"'}
    request = urllib.request.Request(f"{url}/catalog/search", b'{"query":"shoes"}', headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        assert response.status == 200


def until(what, found, seconds=60):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)
    return value


@pytest.fixture(scope="module")
def admin():
    """The admin listener of a gateway that was called."""
    folder = Path(tempfile.mkdtemp(dir=RUNS, prefix="metrics-"))
    (folder / "token").write_text(TOKEN)
    address = free_address()
    toml = f'[server]\nadmin_listen = "{address}"\nadmin_token_file = "{folder}/token"\n'
    with serving(folder / "data", toml) as url:
        for _ in range(CALLS):
            search(url)
        yield address


@pytest.fixture(scope="module")
def metrics(admin):
    headers, text = get(f"http://{admin}/metrics", TOKEN)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return text


def family(name):
    """A metric without the endings of the series of a histogram."""
    return re.sub(r"_(bucket|sum|count)$", "", name) if "duration" in name else name


def promtool(*arguments, message=None):
    done = subprocess.run(
        ["promtool", *map(str, arguments)], input=message, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_promtool_finds_no_fault_in_the_metrics(metrics):
    assert promtool("check", "metrics", message=metrics).strip() == ""


def test_promtool_finds_no_fault_in_rules_and_configuration(tmp_path):
    assert "SUCCESS" in promtool("check", "rules", MONITORING / "alerts.yml")
    configuration = (MONITORING / "prometheus.yml").read_text()
    (tmp_path / "token").write_text(TOKEN)
    configuration = configuration.replace("/run/secrets/admin-token", str(tmp_path / "token"))
    (tmp_path / "prometheus.yml").write_text(configuration)
    (tmp_path / "alerts.yml").write_bytes((MONITORING / "alerts.yml").read_bytes())
    assert "SUCCESS" in promtool("check", "config", tmp_path / "prometheus.yml")


def test_each_alert_fires_on_its_cause_and_none_on_a_gateway_that_works():
    assert "SUCCESS" in promtool("test", "rules", MONITORING / "alerts.test.yml")
    tests = yaml.safe_load((MONITORING / "alerts.test.yml").read_text())["tests"]
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    alerts = [rule["alert"] for rule in rules]
    assert [test["name"] for test in tests] == [*alerts, "none of them"]
    assert [rule["alertname"] for rule in tests[-1]["alert_rule_test"]] == alerts


def test_what_is_named_is_there_and_what_is_there_is_explained(metrics):
    there = set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE))
    # What only a gateway in front of a shop, with TLS, with a copy of a catalog or on a database has, and what only calls of
    # other kinds leave.
    elsewhere = {
        "ucp_cache_lookups_total",
        "ucp_catalog_age_seconds",
        "ucp_catalog_lag_changes",
        "ucp_catalog_lag_milliseconds",
        "ucp_catalog_lag_seconds",
        "ucp_catalog_sync_failures",
        "ucp_catalog_sync_held_products",
        "ucp_catalog_sync_products",
        "ucp_catalog_sync_running",
        "ucp_certificate_expiry_seconds",
        "ucp_database_connections",
        "ucp_database_connections_idle",
        "ucp_database_repeated_total",
        "ucp_database_up",
        "ucp_idempotency_keys_total",
        "ucp_payment_calls_total",
        "ucp_upstream_circuit_open",
        "ucp_upstream_events_total",
        "ucp_telemetry_items_total",
        "ucp_telemetry_waiting",
    }
    dashboard = json.loads((MONITORING / "grafana/dashboards/ucp-gateway.json").read_text())
    shown = {name for panel in dashboard["panels"] for target in panel["targets"] for name in NAMED.findall(target["expr"])}
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    alerts = {name for rule in rules for name in NAMED.findall(rule["expr"])}
    for named in (shown, alerts):
        assert {family(name) for name in named} <= there | elsewhere
    manual = MANUAL.read_text()
    explained = set(re.findall(r"^\| `((?:ucp|process)_[a-z_]+)`", manual, re.MULTILINE))
    assert explained == {name for name in there | elsewhere if name.startswith("ucp_")}
    told = set(re.findall(r"^\| `([A-Z][A-Za-z]+)` \|", manual, re.MULTILINE))
    assert told == {rule["alert"] for rule in rules}


@contextmanager
def scraping(admin, folder):
    """Prometheus, scraping the gateway; gives its address."""
    configuration = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    configuration["global"]["scrape_interval"] = "1s"
    configuration["rule_files"] = [str(MONITORING / "alerts.yml")]
    [job] = configuration["scrape_configs"]
    job["authorization"]["credentials_file"] = str(folder / "token")
    job["static_configs"] = [{"targets": [admin]}]
    (folder / "token").write_text(TOKEN)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    address = free_address()
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
    try:
        yield f"http://{address}"
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_prometheus_scrapes_it(admin, tmp_path):
    with scraping(admin, tmp_path) as prometheus:

        def value(expression):
            try:
                _, text = get(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
            except OSError:
                return None
            found = json.loads(text)["data"]["result"]
            return float(found[0]["value"][1]) if found else None

        until("the first scrape", lambda: value('up{job="ucp-gateway"}') == 1)
        counted = 'sum(ucp_calls_total{operation="search_catalog",outcome="ok"})'
        until("the calls", lambda: value(counted) == CALLS)
        assert value('sum(ucp_funnel_total{step="search"})') == CALLS
        assert value("histogram_quantile(0.99, sum by (le) (ucp_call_duration_seconds_bucket))") > 0
        assert value("ucp_ready") == 1
        _, rules = get(f"{prometheus}/api/v1/rules")
        rules = json.loads(rules)["data"]["groups"][0]["rules"]
        assert rules and all(rule["health"] in ("ok", "unknown") for rule in rules), rules
