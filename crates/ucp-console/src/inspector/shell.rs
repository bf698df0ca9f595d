//! The page: a shell, which `inspector.js` fills with what the gateway has recorded.

use maud::{Markup, html};
use ucp_core::Operation;

/// Names of the scripts of the page.
pub(crate) const SCRIPTS: &[&str] = &["inspector.js"];

/// Renders what is in the frame.
pub(crate) fn content() -> Markup {
    html! {
        form.controls #filters aria-label="Which calls are shown" {
            label { "Request " input #id name="id" type="search" autocomplete="off" spellcheck="false" placeholder="Request-Id"; }
            label { "Platform " input #platform name="platform" type="search" autocomplete="off" spellcheck="false" placeholder="name or address"; }
            label { "Operation "
                select #operation name="operation" {
                    option value="" { "all" }
                    @for operation in Operation::ALL { option value=(operation.row().name) { (operation.row().name) } }
                }
            }
            label { "Outcome "
                select #outcome name="outcome" {
                    option value="" { "all" }
                    option value="ok" { "ok" }
                    option value="failed" { "failed" }
                }
            }
            label.live { input #live type="checkbox" checked; " Live" }
        }
        main.inspector #main tabindex="-1" {
            section.calls aria-label="Calls" {
                h1 { "Calls" }
                p #status .hidden role="status" {}
                div #list { p.quiet { "The inspector needs scripts of this gateway." } }
            }
            section.wire aria-label="The call" { div #detail { p.quiet { "Choose a call to see how it was processed." } } }
        }
    }
}
