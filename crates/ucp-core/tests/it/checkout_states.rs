//! The states of a checkout: every transition from every status against a table, and random walks.

use jiff::Timestamp;
use proptest::prelude::*;
use ucp_core::{
    checkout::{State, Status, status::Illegal},
    message::{Message, Severity},
    money::{Amount, Currency},
    order::Confirmation,
    purchase::payment::Attempt,
};

/// A transition, and what is said about the checkout where that matters.
#[derive(Clone, Copy, Debug)]
enum Transition {
    Judge(Said),
    Begin,
    Conclude,
    Reopen(Said),
    Cancel,
    Place,
}

/// The worst that is said about a checkout.
#[derive(Clone, Copy, Debug)]
enum Said {
    Nothing,
    Warning,
    Recoverable,
    Unrecoverable,
    BuyerInput,
    BuyerReview,
}

const SAID: [Said; 6] =
    [Said::Nothing, Said::Warning, Said::Recoverable, Said::Unrecoverable, Said::BuyerInput, Said::BuyerReview];

impl Said {
    /// Something of each kind that is not worse, in an order that must not matter.
    fn messages(self) -> Vec<Message> {
        let error = |severity| Message::error("wrong", "Something is wrong.", severity);
        let mut messages = vec![Message::info("note", "By the way.")];
        match self {
            Self::Nothing => {}
            Self::Warning => messages.push(Message::warning("careful", "Look here.")),
            Self::Recoverable => messages.insert(0, error(Severity::Recoverable)),
            Self::Unrecoverable => messages.push(error(Severity::Unrecoverable)),
            Self::BuyerInput => messages.extend([error(Severity::Recoverable), error(Severity::RequiresBuyerInput)]),
            Self::BuyerReview => messages.extend([error(Severity::RequiresBuyerReview), error(Severity::Recoverable)]),
        }
        messages
    }

    fn status(self) -> Status {
        match self {
            Self::Nothing | Self::Warning => Status::ReadyForComplete,
            Self::Recoverable | Self::Unrecoverable => Status::Incomplete,
            Self::BuyerInput | Self::BuyerReview => Status::RequiresEscalation,
        }
    }
}

fn transitions() -> Vec<Transition> {
    let mut all = vec![Transition::Begin, Transition::Conclude, Transition::Cancel, Transition::Place];
    all.extend(SAID.map(Transition::Judge));
    all.extend(SAID.map(Transition::Reopen));
    all
}

fn attempt() -> Attempt {
    Attempt {
        id: "pay_1".into(),
        handler_id: "scripted".into(),
        checkout_id: "chk_1".into(),
        amount: Amount::new(100).expect("an amount"),
        currency: Currency::USD,
        begun_at: Timestamp::UNIX_EPOCH,
        memo: serde_json::Value::Null,
        at_shop: false,
        return_url: None,
        page_url: None,
        challenge: None,
    }
}

fn confirmation() -> Confirmation {
    Confirmation { id: "ord_1".into(), label: "#1".into(), token: "t".into(), permalink_url: None }
}

fn standing(status: Status) -> State {
    match status {
        Status::Incomplete => State::Incomplete,
        Status::RequiresEscalation => State::RequiresEscalation,
        Status::ReadyForComplete => State::ReadyForComplete,
        Status::CompleteInProgress => State::CompleteInProgress { attempt: Box::new(attempt()) },
        Status::Completed => State::Completed { order: confirmation() },
        Status::Canceled => State::Canceled,
    }
}

fn made(state: &State, transition: Transition) -> Result<State, Illegal> {
    match transition {
        Transition::Judge(said) => state.judge(&said.messages()),
        Transition::Begin => state.begin(attempt()),
        Transition::Conclude => state.conclude(confirmation()),
        Transition::Reopen(said) => state.reopen(&said.messages()),
        Transition::Cancel => state.cancel(),
        Transition::Place => state.place(confirmation()),
    }
}

/// Returns the status after a transition that is allowed, written down once more from the rules.
fn allowed(from: Status, transition: Transition) -> Option<Status> {
    use Status::{Canceled, CompleteInProgress, Completed, Incomplete, ReadyForComplete, RequiresEscalation};
    match (from, transition) {
        (CompleteInProgress, Transition::Conclude)
        | (Incomplete | RequiresEscalation | ReadyForComplete | Canceled, Transition::Place) => Some(Completed),
        (ReadyForComplete, Transition::Begin) => Some(CompleteInProgress),
        (Incomplete | RequiresEscalation | ReadyForComplete, Transition::Judge(said))
        | (CompleteInProgress, Transition::Reopen(said)) => Some(said.status()),
        (Incomplete | RequiresEscalation | ReadyForComplete, Transition::Cancel) => Some(Canceled),
        _ => None,
    }
}

#[test]
fn every_legal_transition_exists_and_no_other() {
    for from in Status::ALL {
        let state = standing(from);
        assert_eq!(state.status(), from);
        for transition in transitions() {
            let followed = made(&state, transition);
            assert_eq!(
                followed.as_ref().ok().map(State::status),
                allowed(from, transition),
                "{transition:?} from {from:?}"
            );
            match followed {
                Ok(state) => {
                    assert_eq!(state.attempt().is_some(), state.status() == Status::CompleteInProgress);
                    assert_eq!(state.order().is_some(), state.status() == Status::Completed);
                }
                Err(illegal) => {
                    assert_eq!(illegal.from, from);
                    assert!(illegal.to_string().contains(from.as_str()), "{illegal}");
                }
            }
        }
    }
}

#[test]
fn nothing_follows_on_the_end_and_only_open_ones_can_be_changed() {
    for status in Status::ALL {
        // An order that the buyer placed at the shop is a fact, also of a checkout that was canceled meanwhile.
        let own = transitions().into_iter().filter(|transition| !matches!(transition, Transition::Place));
        let anything = own.into_iter().any(|transition| allowed(status, transition).is_some());
        assert_eq!(status.is_terminal(), !anything, "{status:?}");
        assert_eq!(status.is_open(), standing(status).judge(&[]).is_ok(), "{status:?}");
    }
}

#[test]
fn messages_decide_the_status_of_a_new_checkout() {
    for said in SAID {
        assert_eq!(State::opened(&said.messages()).status(), said.status(), "{said:?}");
    }
}

#[test]
fn states_are_stored_under_the_name_of_their_status() {
    for status in Status::ALL {
        let kept = serde_json::to_value(standing(status)).expect("serialises");
        assert_eq!(kept["status"], status.as_str());
        assert_eq!(serde_json::from_value::<State>(kept).expect("a state"), standing(status));
    }
}

proptest! {
    #[test]
    fn any_sequence_of_transitions_ends_a_checkout_at_most_once(
        walk in prop::collection::vec(prop::sample::select(transitions()), 0..40),
    ) {
        let mut state = State::opened(&[]);
        for transition in walk {
            let before = state.clone();
            match made(&state, transition) {
                Ok(after) => {
                    prop_assert!(!before.status().is_terminal() || matches!(transition, Transition::Place));
                    prop_assert!(before.status() != Status::Completed);
                    state = after;
                }
                Err(_) => prop_assert_eq!(&state, &before),
            }
        }
    }
}
