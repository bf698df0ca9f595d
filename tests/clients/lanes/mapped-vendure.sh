#!/usr/bin/env bash
# The gateway in front of a shop made with Vendure, by examples/vendure.toml: `ucp-gateway backend check`, the rules that
# every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_VENDURE_SHOP="node $CLIENTS_DIR/upstreams/vendure/shop.mjs"
source lib/others.sh
checked() { mapping vendure http://127.0.0.1:18766 "$1"; }
configured() { mapped http://127.0.0.1:18766 vendure; }
shop_of_others vendure
