//! `GET /`: the page. One file, its style and its script inside it and named by their digests, so that nothing else is ever run.

use axum::http::header;
use axum::response::{Html, IntoResponse};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const PAGE: &str = include_str!("page.html");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = |tag: &str| {
        let inside = PAGE.split_once(&format!("<{tag}>")).and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        format!("'sha256-{}'", base64(&Sha256::digest(inside.map_or("", |(inside, _)| inside))))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src blob: data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        digest("script"),
        digest("style")
    )
});

/// The handler.
pub(super) async fn page() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY.as_str())], Html(PAGE))
}

/// As a content security policy writes digests.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for digit in 0..4 {
            let padding = digit > part.len();
            text.push(if padding { '=' } else { char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From RFC 4648.
    #[test]
    fn base64_by_the_book() {
        let found = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(found, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn the_page_has_one_style_and_one_script_and_asks_nobody_else() {
        assert_eq!((PAGE.matches("<style>").count(), PAGE.matches("<script>").count()), (1, 1));
        for foreign in ["http://", "https://", "//cdn", "@import", "innerHTML", "onclick="] {
            assert!(!PAGE.contains(foreign), "`{foreign}` in the page");
        }
    }
}
