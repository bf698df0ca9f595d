#!/usr/bin/env bash
# The gateway in front of a shop that speaks Shopify's Storefront API: tests/upstreams/storefront, which executes documents
# against Shopify's own schema. In this order: the upstream's own tests, those of ucp-shopify with the upstream at hand, the rules
# that every backend has to pass, and purchases as an agent makes them.
#
# The lane's own gateway, in front of the sample shop, is not asked.
upstream=$CLIENTS_DIR/upstreams/storefront
status=0

node_tests() {
  "$NODE" --test --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=junit --test-reporter-destination="$LANE_DIR/junit-$1.xml" "${@:2}" || status=$?
}

ready() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$line" "$1"; }

node_tests upstream "$upstream"/test/*.test.mjs

# It ends with this shell, which holds its standard input.
export UCP_STOREFRONT_SDL=$LANE_DIR/storefront.graphql
coproc SHOP { exec "$NODE" "$upstream/server.mjs" --print-schema "$UCP_STOREFRONT_SDL" 2>"$LANE_DIR/upstream.log"; }
read -r line <&"${SHOP[0]}" || { cat "$LANE_DIR/upstream.log"; exit 1; }
UCP_STOREFRONT_URL=$(ready url)
UCP_STOREFRONT_SCHEMA=$(ready schema)
export UCP_STOREFRONT_URL UCP_STOREFRONT_SCHEMA

# The whole workspace is named so that everything is built as it was for the other tests.
cargo_tests() { (cd "$REPOSITORY" && cargo test --workspace --locked "$@") | tee -a "$LANE_DIR/cargo.log" || status=$?; }
: >"$LANE_DIR/cargo.log"
# `documents::` also names those of the gateway about its own documents, which need no upstream.
cargo_tests --test it -- documents:: storefront::
python3 lib/cargo_junit.py <"$LANE_DIR/cargo.log" >"$LANE_DIR/junit-cargo.xml"

node_tests journey lanes/storefront/journey.mjs

# shellcheck source=../lib/others.sh
source lib/others.sh
shop=$(curl --silent --fail --max-time 60 --request POST "$UCP_STOREFRONT_URL/shops" | python3 -c 'import json, sys; print(json.load(sys.stdin)["url"])')
printf 'private-token-of-the-test-shop' >"$LANE_DIR/token"
configured() { printf '[upstream]\nbackend = "shopify"\nurl = "{origin}"\ntoken_file = "%s"\n' "$LANE_DIR/token"; }
behind_a_proxy_that_misbehaves storefront "$shop" || status=$?
exit "$status"
