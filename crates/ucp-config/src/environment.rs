//! Variables of the environment that look like the gateway's and are not.

use std::{collections::BTreeSet, env};

use clap::Command;
use strsim::damerau_levenshtein;

/// Beginning of the names of all variables of the gateway.
const PREFIX: &str = "UCP_GATEWAY_";

/// Maximum number of letters by which a name may differ from the one that is meant.
const NEAR: usize = 3;

/// Returns a warning for each variable whose name is nearly that of one that the command line reads.
pub fn warnings(command: &Command) -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let known = known(command);
    let warning = |(name, meant)| format!("the environment variable {name} is not read; did you mean {meant}?");
    misspelt(names, &known).into_iter().map(warning).collect()
}

/// Returns the names of all variables that a command and those below it read.
fn known(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(known)).collect()
}

/// Returns the names that are none of `known`, each with the nearest of those.
fn misspelt(names: impl Iterator<Item = String>, known: &BTreeSet<String>) -> Vec<(String, &str)> {
    let unknown = names.filter(|name| name.to_ascii_uppercase().starts_with(PREFIX) && !known.contains(name));
    let near = |name: String| {
        let upper = name.to_ascii_uppercase();
        let distance = |other: &&String| damerau_levenshtein(&upper, other);
        let nearest = known.iter().min_by_key(distance).filter(|nearest| distance(nearest) <= NEAR)?;
        Some((name, nearest.as_str()))
    };
    unknown.filter_map(near).collect()
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::{ServeOptions, UpstreamOptions};

    #[test]
    fn a_misspelt_name_is_told_with_the_nearest() {
        let below = UpstreamOptions::augment_args(Command::new("mcp"));
        let known = known(&ServeOptions::augment_args(Command::new("ucp-gateway")).subcommand(below));
        assert!(known.contains("UCP_GATEWAY_LISTEN") && known.contains("UCP_GATEWAY_BACKEND"), "{known:?}");
        let names = [
            "UCP_GATEWAY_LISTN",
            "UCP_GATEWAY_DATADIR",
            "ucp_gateway_policy",
            "UCP_GATEWAY_LISTEN",
            "UCP_GATEWAY_SECRET_OF_MINE",
            "LISTN",
        ];
        let told = misspelt(names.into_iter().map(str::to_owned), &known);
        let told: Vec<_> = told.iter().map(|(name, meant)| (name.as_str(), *meant)).collect();
        assert_eq!(
            told,
            [
                ("UCP_GATEWAY_LISTN", "UCP_GATEWAY_LISTEN"),
                ("UCP_GATEWAY_DATADIR", "UCP_GATEWAY_DATA_DIR"),
                ("ucp_gateway_policy", "UCP_GATEWAY_POLICY"),
            ]
        );
    }
}
