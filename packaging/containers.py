"""Checks what is shipped for containers, without a daemon and without a cluster: the compose file against the Compose specification, the
Helm chart as Helm's own library lints and renders it, the result against Kubernetes' JSON Schemas, and the configuration in it by
the gateway.

    packaging/containers.py GATEWAY
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml
from compose_spec import PyCompose
from helm_python import Chart, HelmError
from helm_python.chart import lint

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "packaging/helm"
KUBERNETES = "1.33"
# As a newcomer has it, and with everything that can be stated.
SECRET = {"database": "postgres://ucp:secret@postgres/ucp", "adminToken": "only-for-the-check"}
VALUES = {
    "plain": {"host": "shop.example.com", "secret": SECRET},
    "whole": {
        "host": "shop.example.com",
        "replicas": 3,
        "secret": {"existing": "credentials"},
        "signingKeysSecret": "signing-keys",
        "trustedProxies": ["10.0.0.0/8"],
        "server": "max_connections = 2048\n",
        "data": "keep_addresses_days = 700\n",
        "config": '[pages]\nname = "Flowers & Co"\n',
        "secrets": ["stripe"],
        "imagePullSecrets": [{"name": "registry"}],
        "ingress": {"className": "nginx", "annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"}},
        "podAnnotations": {"prometheus.io/scrape": "true"},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
    },
    "alone": {"host": "shop.example.com", "replicas": 1, "secret": SECRET, "ingress": {"enabled": False}},
}
# What each of them must have.
KINDS = {
    "plain": ["ConfigMap", "Deployment", "Ingress", "PodDisruptionBudget", "Secret", "Service", "Service"],
    "whole": ["ConfigMap", "Deployment", "Ingress", "PodDisruptionBudget", "Service", "Service"],
    "alone": ["ConfigMap", "Deployment", "Secret", "Service", "Service"],
}


def compose():
    file = ROOT / "docker-compose.yml"
    text = file.read_text()
    read = PyCompose.from_yaml(text)
    read.validate()
    for damage in (("read_only: true", "read_only: perhaps"), ("cap_drop:", "cap_dropp:"), ("source: admin-token", "source: other")):
        assert damage[0] in text
        try:
            PyCompose.from_yaml(text.replace(*damage)).validate()
        except Exception as refused:
            print(f"{damage[1]} is refused: {str(refused).splitlines()[0]}")
        else:
            sys.exit(f"{damage[1]} is taken")
    print(f"{file.name}: {len(read.services)} services as the Compose specification has them")


def configuration(gateway, text):
    """Lets the gateway check the configuration of a pod, with files in the places of its mounts."""
    with tempfile.TemporaryDirectory() as root:
        root = Path(root)
        (root / "keys").mkdir()
        (root / "database").write_text(SECRET["database"])
        (root / "admin-token").write_text(SECRET["adminToken"])
        for mount in ("/run/secrets/ucp-gateway", "/run/secrets"):
            text = text.replace(mount, str(root))
        file = root / "gateway.toml"
        file.write_text(text)
        checked = subprocess.run([gateway, "check-config", "--config", file], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
        assert "https://shop.example.com" in checked.stdout, checked.stdout


def chart(gateway):
    try:
        kubernetes_validate.validate({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "nonsense": 1}, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError:
        pass
    else:
        sys.exit("the schemas of Kubernetes find nothing")
    report = lint(CHART, values=VALUES["plain"], strict=True)
    # An icon is for those who publish charts.
    findings = [message for message in report["messages"] if message["severity"] > 1]
    assert report["total_charts_linted"] == 1 and not findings and not report["errors"], report
    with Chart.load(CHART) as loaded:
        for lacking in ({"secret": SECRET}, {"host": "shop.example.com"}):
            try:
                loaded.validate_schema(lacking)
            except HelmError as refused:
                print(f"values with {list(lacking)} alone are refused: {refused}")
            else:
                sys.exit(f"values with {list(lacking)} alone are taken")
        for name, values in VALUES.items():
            rendered = loaded.render(values=values, name="shop", namespace="shops")
            documents = [document for text in rendered.values() for document in yaml.safe_load_all(text) if document]
            assert sorted(document["kind"] for document in documents) == KINDS[name], (name, rendered)
            for document in documents:
                kubernetes_validate.validate(document, KUBERNETES, strict=True)
            by_kind = {document["kind"]: document for document in documents}
            configuration(gateway, by_kind["ConfigMap"]["data"]["gateway.toml"])
            pod = by_kind["Deployment"]["spec"]["template"]["spec"]
            assert pod["terminationGracePeriodSeconds"] == 45, pod
            mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
            assert mounts == {volume["name"] for volume in pod["volumes"]}, pod
            print(f"chart, {name}: {len(documents)} objects fit the schemas of Kubernetes, and the gateway its configuration")


if __name__ == "__main__":
    [gateway] = sys.argv[1:]
    compose()
    chart(gateway)
