#!/usr/bin/env bash
# The gateway in front of a shop in PHP, the starter of the backend contract in examples/backend/starter.php:
# `ucp-gateway backend check`, the rules that every backend has to pass, what tests/it/backends/shops.rs asks of shops
# of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_PHP_SHOP=$REPOSITORY/tests/upstreams/php/shop.sh BACKEND_SECRET=secret-of-the-shop
source lib/others.sh
echo "$BACKEND_SECRET" >"$LANE_DIR/secret"
checked() { echo "$1 --signing-secret-file $LANE_DIR/secret"; }
configured() { printf '[upstream]\nbackend = "http"\nurl = "{origin}"\nsigning_secret_file = "%s"\n' "$LANE_DIR/secret"; }
shop_of_others php
