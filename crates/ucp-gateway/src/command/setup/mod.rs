//! Commands that prepare a gateway and its users.

pub(crate) mod api_key;
pub(crate) mod check_config;
pub(crate) mod config_schema;
pub(crate) mod init;
pub(crate) mod keys;
pub(crate) mod manual;
