#!/usr/bin/env bash
# The conformance suite of the Universal Commerce Protocol, as it is, against a gateway that meets its expectations
# (`--compat conformance`). UCP_CONFORMANCE_DIR is a check-out of it; its servers take the ports 8284 and 8285.
#
# The lane's own gateway is not asked: the suite gets one with the flowers that it wants to buy.
secret=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
export UCP_GATEWAY_SIMULATION_SECRET=$secret
"$UCP_GATEWAY_BIN" serve --listen "127.0.0.1:$port" --data-dir "$LANE_DIR/flowers" --sample flower-shop \
  --compat conformance >"$LANE_DIR/flowers.log" 2>&1 &
gateway=$!
trap 'kill $gateway 2>/dev/null || true; wait $gateway 2>/dev/null || true' EXIT
for _ in {1..600}; do
  curl --silent --fail --max-time 2 --output /dev/null "$url/.well-known/ucp" && break
  kill -0 $gateway 2>/dev/null || { cat "$LANE_DIR/flowers.log"; exit 1; }
  sleep 0.1
done

expected=$PWD/lanes/ucp-conformance.expected
mkdir -p "$LANE_DIR/reports"
cd "$UCP_CONFORMANCE_DIR"
for file in *_test.py; do
  # Which of them may fail is decided below.
  "$VENV/bin/python" "$file" --server_url="$url" --simulation_secret="$secret" \
    --xml_output_file="$LANE_DIR/reports/${file%.py}.xml" || true
done
kill -0 $gateway || { echo "The gateway is not running (any more); see flowers.log."; exit 1; }
python3 "$CLIENTS_DIR/suite/lib/expected.py" "$expected" "$LANE_DIR/reports" "$LANE_DIR/junit.xml"
