#!/usr/bin/env bash
# The gateway in front of a stand-in for a shop made with WooCommerce, by examples/woocommerce.toml: `ucp-gateway backend
# check`, the rules that every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and
# lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_WOOCOMMERCE_SHOP="node $REPOSITORY/tests/upstreams/woocommerce/shop.mjs" WOOCOMMERCE_CONSUMER_SECRET=cs_of_the_test_shop
source lib/others.sh
checked() { mapping woocommerce http://127.0.0.1:18769 "$1"; }
configured() { mapped http://127.0.0.1:18769 woocommerce; }
shop_of_others woocommerce
