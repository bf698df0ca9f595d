#!/usr/bin/env bash
# The gateway in front of a shop made with Tryton, an ERP, that examples/tryton.py puts behind the backend contract:
# `ucp-gateway backend check`, the rules that every backend has to pass, what tests/it/backends/shops.rs asks of shops
# of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_TRYTON_SHOP="$VENV/bin/python $REPOSITORY/tests/upstreams/tryton/shop.py" BACKEND_SECRET=secret-of-the-shop
source lib/others.sh
echo "$BACKEND_SECRET" >"$LANE_DIR/secret"
checked() { echo "$1 --signing-secret-file $LANE_DIR/secret"; }
configured() { printf '[upstream]\nbackend = "http"\nurl = "{origin}"\nsigning_secret_file = "%s"\n' "$LANE_DIR/secret"; }
shop_of_others tryton
