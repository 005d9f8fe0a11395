//! Sample payloads, one a point, for trying plugins out.

use serde_json::Value;

use crate::hook::{HookPoint, Point};

/// Returns a sample input of a point, as JSON. Every field has a value that a
/// handler can work with.
pub fn sample_text(point: HookPoint) -> Value {
    serde_json::from_str(point.sample()).expect("a test reads the sample of every point")
}

/// Returns a sample input of a point.
pub fn sample_input<P: Point>() -> P::Input {
    serde_json::from_value(sample_text(P::POINT)).expect("a test reads the sample of every point")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::hook::PointVisitor;

    struct Reads;

    impl PointVisitor for Reads {
        type Out = Value;

        fn visit<P: Point>(self) -> Value {
            serde_json::to_value(sample_input::<P>()).unwrap()
        }
    }

    #[test]
    fn the_sample_of_every_point_is_its_input_and_has_every_field() {
        for point in HookPoint::ALL {
            let read = point.visit(Reads);
            assert_eq!(read, sample_text(*point), "{point}");
            for field in point.input_fields() {
                let name = field.name;
                assert!(name == "extensions" || read.get(name).is_some(), "{point} lacks {name}");
            }
        }
    }
}
