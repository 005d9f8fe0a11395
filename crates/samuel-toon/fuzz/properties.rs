//! What must hold for any bytes; used by the fuzz targets and by plain tests.
//!
//! Run a target with `cargo fuzz run decode -- -runs=1000000 -rss_limit_mb=512`
//! in `crates/samuel-toon` (on a stable toolchain with `RUSTC_BOOTSTRAP=1` and
//! `-s none`).

use samuel_toon::{self as toon, DecodeOptions, EventReader, Limits, StreamEvent, Value};

fn options(strict: bool) -> DecodeOptions {
    let limits = Limits { depth: 64, rows: 10_000, ..Limits::default() };
    DecodeOptions { strict, limits, ..DecodeOptions::default() }
}

/// Decoding ends, and the event reader accepts what the decoder accepts.
pub fn decode(bytes: &[u8]) {
    for strict in [true, false] {
        let value = toon::from_slice_with::<Value>(bytes, options(strict));
        let events: toon::Result<Vec<StreamEvent>> = EventReader::new(bytes, options(strict)).collect();
        assert_eq!(value.is_ok(), events.is_ok(), "{value:?} {events:?}");
        if strict && value.is_ok() {
            assert_eq!(toon::from_slice_with::<Value>(bytes, options(false)).ok(), value.ok());
        }
    }
}

/// Recovery ends, is clean exactly for valid text, and keeps what it leaves out.
pub fn recover(bytes: &[u8]) {
    let recovered = toon::recover_with::<Value>(bytes, options(true));
    let strict = toon::from_slice_with::<Value>(bytes, options(true));
    assert_eq!(
        recovered.is_clean(),
        strict.is_ok(),
        "{:?} {strict:?} {recovered:?}",
        String::from_utf8_lossy(bytes)
    );
    for skipped in &recovered.skipped {
        let raw = bytes.get(skipped.span.clone()).expect("the span lies within the text");
        assert_eq!(skipped.bytes.as_deref().unwrap_or(skipped.raw.as_bytes()), raw);
    }
}

/// What decodes is written so that it decodes to the same.
pub fn round_trip(bytes: &[u8]) {
    let Ok(value) = toon::from_slice_with::<Value>(bytes, options(false)) else {
        return;
    };
    let text = toon::to_string(&value).expect("the depth is bounded");
    let back: Value = toon::from_str(&text).expect("what was encoded decodes");
    assert_eq!(back, value);
    assert_eq!(toon::to_string(&back).expect("the depth is bounded"), text);
}
