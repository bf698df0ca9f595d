//! Declaration of the types of answers.

/// Declares structs with these derives, and with members that are in this case in JSON.
macro_rules! shapes {
    ($derives:tt $case:literal $(
        $(#[$meta:meta])*
        $name:ident $(<$of:ident>)? { $($(#[$of_field:meta])* $field:ident: $type:ty),* $(,)? }
    )+) => {$(
        #[derive $derives]
        #[serde(rename_all = $case)]
        $(#[$meta])*
        pub(crate) struct $name $(<$of>)? {
            $($(#[$of_field])* pub(crate) $field: $type,)*
        }
    )+};
}

pub(crate) use shapes;
