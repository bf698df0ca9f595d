#!/usr/bin/env bash
# The gateway in front of a shop made with Saleor, by examples/saleor.toml: `ucp-gateway backend check`, the rules that every
# backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and lib/unreliable_shop.py. No registry has
# Saleor: UCP_SALEOR_DIR is a check-out of its repository.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_SALEOR_SHOP="$VENV/bin/python $REPOSITORY/tests/upstreams/saleor/shop.py" SALEOR_APP_TOKEN=token0of0the0gateway0for0tests
source lib/others.sh
# One shop at a time: each takes a processor for itself.
export RUST_TEST_THREADS=1
cp -a "$CLIENTS_DIR/upstreams/saleor" "$LANE_DIR/data"
checked() { mapping saleor http://127.0.0.1:18768 "$1"; }
configured() { mapped http://127.0.0.1:18768 saleor; }
shop_of_others saleor
