#!/usr/bin/env bash
# The conformance suite of the Universal Commerce Protocol, as it is, against a gateway behind the shim of
# tests/conformance. UCP_CONFORMANCE_DIR is a check-out of it; its servers take the ports 8284 and 8285.
#
# The lane's own gateway is not asked: the suite gets one with the flowers that it wants to buy.
random() { python3 -c 'import secrets; print(secrets.token_hex(20))'; }
UCP_GATEWAY_ADMIN_TOKEN=$(random)
UCP_SIMULATION_SECRET=$(random)
export UCP_GATEWAY_ADMIN_TOKEN UCP_SIMULATION_SECRET
# Webhooks are signed.
"$UCP_GATEWAY_BIN" keys generate --data-dir "$LANE_DIR/flowers"
"$UCP_GATEWAY_BIN" serve --config "$REPOSITORY/tests/conformance/gateway.toml" --data-dir "$LANE_DIR/flowers" \
  >"$LANE_DIR/flowers.log" 2>&1 &
gateway=$! shim=
trap 'kill $gateway $shim 2>/dev/null || true; wait $gateway $shim 2>/dev/null || true' EXIT

# What a process says about itself in its log, once it does.
said() {
  local word
  for _ in {1..600}; do
    word=$(awk "$1" "$2") && [[ -n $word ]] && echo "$word" && return
    kill -0 "$3" 2>/dev/null || { cat "$2" >&2; return 1; }
    sleep 0.1
  done
  return 1
}
admin=$(said '$1 == "admin" { print $2 }' "$LANE_DIR/flowers.log" $gateway)
"$CONFORMANCE_SHIM_BIN" --gateway "$(said '$1 == "REST" { print $2 }' "$LANE_DIR/flowers.log" $gateway)" --admin "$admin" \
  >"$LANE_DIR/shim.log" 2>&1 &
shim=$!
url=$(said '/^http:/ { print $1 }' "$LANE_DIR/shim.log" $shim)

expected=$PWD/lanes/ucp-conformance.expected
mkdir -p "$LANE_DIR/reports"
cd "$UCP_CONFORMANCE_DIR"
for file in *_test.py; do
  # Which of them may fail is decided below.
  "$VENV/bin/python" "$file" --server_url="$url" --simulation_secret="$UCP_SIMULATION_SECRET" \
    --xml_output_file="$LANE_DIR/reports/${file%.py}.xml" || true
done
kill -0 $gateway $shim || { echo "The gateway or the shim is not running (any more); see flowers.log and shim.log."; exit 1; }
python3 "$CLIENTS_DIR/suite/lib/expected.py" "$expected" "$LANE_DIR/reports" "$LANE_DIR/junit.xml"
