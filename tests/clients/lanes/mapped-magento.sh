#!/usr/bin/env bash
# The gateway in front of a stand-in for a shop made with Magento, which executes documents, by examples/magento.toml: `ucp-gateway backend
# check`, the rules that every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and
# lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_MAGENTO_SHOP="node $CLIENTS_DIR/upstreams/magento/shop.mjs" MAGENTO_ACCESS_TOKEN=token-of-the-test-shop
source lib/others.sh
checked() { mapping magento http://127.0.0.1:18770 "$1"; }
configured() { mapped http://127.0.0.1:18770 magento; }
shop_of_others magento
