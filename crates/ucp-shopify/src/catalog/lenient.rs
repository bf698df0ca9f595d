//! Values that are read as absent if they are not of the type that the API promises.
//!
//! An API changes one member at a time, and a member of another type is as useless as an absent one. Such a value is
//! skipped in place: it is never copied.

use std::{fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

/// A value of the promised type, or `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lenient<T>(pub(super) Option<T>);

impl<T> Deref for Lenient<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<'de, T: Promised<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(Reader(PhantomData)).map(Self)
    }
}

/// Conversion from each type of JSON value; by default each yields `None`.
pub(super) trait Promised<'de>: Sized {
    fn truth(_: bool) -> Option<Self> {
        None
    }

    fn number(_: &Number) -> Option<Self> {
        None
    }

    fn text(_: &str) -> Option<Self> {
        None
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn object<A: MapAccess<'de>>(mut members: A) -> Result<Option<Self>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Promised<'de>> Visitor<'de> for Reader<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    /// Also called for `null`; an absent member is read in the same way.
    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(T::truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(T::number(&number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::number(&number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).as_ref().and_then(T::number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::object(members)
    }
}

impl Promised<'_> for bool {
    fn truth(truth: bool) -> Option<Self> {
        Some(truth)
    }
}

impl Promised<'_> for u32 {
    fn number(number: &Number) -> Option<Self> {
        number.as_u64().and_then(|number| number.try_into().ok())
    }
}

impl Promised<'_> for u64 {
    fn number(number: &Number) -> Option<Self> {
        number.as_u64()
    }
}

impl Promised<'_> for i64 {
    fn number(number: &Number) -> Option<Self> {
        number.as_i64()
    }
}

impl Promised<'_> for Number {
    fn number(number: &Number) -> Option<Self> {
        Some(number.clone())
    }
}

impl Promised<'_> for String {
    fn text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<'de, T: Promised<'de>> Promised<'de> for Vec<Lenient<T>> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut members = Self::new();
        while let Some(member) = list.next_element()? {
            members.push(member);
        }
        Ok(Some(members))
    }
}

/// Implements [`Promised`] for structs that derive `Deserialize`. All of their members must be lenient: if reading one
/// member fails, so does reading everything around the object.
macro_rules! objects {
    ($($object:ty),+ $(,)?) => {$(
        impl<'de> $crate::catalog::lenient::Promised<'de> for $object {
            fn object<A: serde::de::MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(members)).map(Some)
            }
        }
    )+};
}

pub(super) use objects;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Thing {
        name: Lenient<String>,
        sizes: Lenient<Vec<Lenient<u32>>>,
        part: Lenient<Box<Thing>>,
    }

    impl<'de> Promised<'de> for Box<Thing> {
        fn object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
            Thing::object(members).map(|thing| thing.map(Box::new))
        }
    }

    objects!(Thing);

    /// Reads a value by way of [`Value`]: as a whole of its type, or as absent.
    fn of<T: DeserializeOwned>(value: &Value) -> Lenient<T> {
        Lenient(serde_json::from_value(value.clone()).ok())
    }

    fn thing(value: &Value) -> Lenient<Thing> {
        Lenient(value.as_object().map(|members| {
            let member = |name: &str| members.get(name).unwrap_or(&Value::Null);
            let sizes = member("sizes").as_array().map(|sizes| sizes.iter().map(of).collect());
            let part = Lenient(thing(member("part")).0.map(Box::new));
            Thing { name: of(member("name")), sizes: Lenient(sizes), part }
        }))
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (0..5_u32).prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "\\PC{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = prop_oneof![Just("name"), Just("sizes"), Just("part"), Just("other")];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..4).prop_map(|members| json!(members)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_of_another_type_is_as_if_it_were_absent(value in anything()) {
            let text = value.to_string();
            let value: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Lenient<Thing>>(&text).expect("JSON"), thing(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<String>>(&text).expect("JSON"), of(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<bool>>(&text).expect("JSON"), of(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<u32>>(&text).expect("JSON"), of(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<u64>>(&text).expect("JSON"), of(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<i64>>(&text).expect("JSON"), of(&value));
            prop_assert_eq!(serde_json::from_str::<Lenient<Number>>(&text).expect("JSON"), of(&value));
        }
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for text in ["", "[1", r#"{"name":"#, r#"{"name":"a"} 1"#, r#"{"sizes":[1,]}"#] {
            assert!(serde_json::from_str::<Lenient<Thing>>(text).is_err(), "{text}");
        }
    }
}
