//! Enumerations whose variants have names.

/// Declares an enumeration with the name of each variant, as JSON, stores, logs and metrics have it: `ALL` and `as_str`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$of_variant])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// Returns the name.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}
