#!/usr/bin/env bash
# The gateway in front of a shop made with EverShop, by examples/evershop.toml: `ucp-gateway backend check`, the rules that
# every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
EVERSHOP_STAFF_TOKEN=$(cat "$CLIENTS_DIR/upstreams/evershop/staff-token")
export EVERSHOP_STAFF_TOKEN UCP_EVERSHOP_SHOP="node $CLIENTS_DIR/upstreams/evershop/shop.mjs"
source lib/others.sh
checked() { mapping evershop http://127.0.0.1:18767 "$1"; }
configured() { mapped http://127.0.0.1:18767 evershop; }
shop_of_others evershop
