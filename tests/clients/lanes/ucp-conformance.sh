#!/usr/bin/env bash
# The conformance suite of the Universal Commerce Protocol, as it is, against a gateway behind the shim of
# tests/conformance, once per release that UCP_CONFORMANCE_RELEASES names. UCP_CONFORMANCE_DIR is a check-out of its
# state for 2026-01-11, UCP_CONFORMANCE_<RELEASE>_DIR of that for another one; its servers take the ports 8284 and 8285.
#
# The lane's own gateway is not asked: the suite gets one with the flowers that it wants to buy.
random() { python3 -c 'import secrets; print(secrets.token_hex(20))'; }
UCP_GATEWAY_ADMIN_TOKEN=$(random)
UCP_SIMULATION_SECRET=$(random)
export UCP_GATEWAY_ADMIN_TOKEN UCP_SIMULATION_SECRET
# Webhooks are signed.
"$UCP_GATEWAY_BIN" keys generate --data-dir "$LANE_DIR/flowers"
serve() {
  "$UCP_GATEWAY_BIN" serve --config "$REPOSITORY/tests/conformance/gateway.toml" --data-dir "$LANE_DIR/flowers" \
    >"$LANE_DIR/$1.log" 2>&1 &
  gateway=$!
}
gateway='' shim=''
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
# The sample has discounts on the whole order only, which have no allocations; this one has.
serve planted
said '$1 == "REST" { print $2 }' "$LANE_DIR/planted.log" $gateway >/dev/null
kill $gateway && wait $gateway || true
"$UCP_GATEWAY_BIN" terms --data-dir "$LANE_DIR/flowers" | python3 -c '
import json, sys
terms = json.load(sys.stdin)
terms["discounts"].append(
    {"id": "roses", "title": "10% Off Roses", "codes": ["ROSES10"], "off": "10%", "target": "lines", "items": ["bouquet_roses"]}
)
json.dump(terms, sys.stdout)' >"$LANE_DIR/terms.json"
"$UCP_GATEWAY_BIN" terms --data-dir "$LANE_DIR/flowers" "$LANE_DIR/terms.json"
echo '{"test_fixtures": {"valid_discount_code": "ROSES10"}}' >"$LANE_DIR/roses.json"

serve flowers
gateway_url=$(said '$1 == "REST" { print $2 }' "$LANE_DIR/flowers.log" $gateway)
admin=$(said '$1 == "admin" { print $2 }' "$LANE_DIR/flowers.log" $gateway)
"$CONFORMANCE_SHIM_BIN" --gateway "$gateway_url" --admin "$admin" >"$LANE_DIR/shim.log" 2>&1 &
shim=$!

failed=0
for release in $UCP_CONFORMANCE_RELEASES; do
  suite=UCP_CONFORMANCE_${release//-/_}_DIR
  [[ $release != 2026-01-11 ]] || suite=UCP_CONFORMANCE_DIR
  url=$(said "\$1 == \"$release\" { print \$2 }" "$LANE_DIR/shim.log" $shim)
  reports=$LANE_DIR/reports-$release
  mkdir -p "$reports"
  cd "${!suite}"
  for file in *_test.py; do
    # Which of them may fail is decided below.
    "$CLIENTS_DIR/venv/ucp-conformance-$release/bin/python" "$file" --server_url="$url" \
      --simulation_secret="$UCP_SIMULATION_SECRET" --xml_output_file="$reports/${file%.py}.xml" || true
  done
  if grep -qs test_allocations_sum_to_applied_amount discount_test.py; then
    "$CLIENTS_DIR/venv/ucp-conformance-$release/bin/python" discount_test.py --server_url="$url" \
      --fixture_config="$LANE_DIR/roses.json" --xml_output_file="$reports/discount_on_lines.xml" \
      DiscountTest.test_allocations_sum_to_applied_amount || true
  fi
  kill -0 $gateway $shim || { echo "The gateway or the shim is not running (any more); see flowers.log and shim.log."; exit 1; }
  python3 "$CLIENTS_DIR/suite/lib/expected.py" "$CLIENTS_DIR/suite/lanes/ucp-conformance-$release.expected" "$reports" \
    "$LANE_DIR/junit-$release.xml" || failed=1
done
exit $failed
