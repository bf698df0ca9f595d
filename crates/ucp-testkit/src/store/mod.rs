//! Conformance suite of the store port: the rules that every [`Store`] keeps.
//!
//! | module | rules of |
//! | :-- | :-- |
//! | [`agenda`] | tasks that outlive a call |
//! | [`happened`] | what happened to orders and checkouts without a call |
//! | [`ledger`] | carts, checkouts, orders, stock, recorded answers |
//! | [`operator`] | queries of operators, forwarded webhook messages, removal of expired rows |
//! | [`outbox`] | webhook events about orders: their order, and the tasks that tell them |
//! | [`owners`] | owners of what a remote shop keeps |
//! | [`shops`] | isolation of the shops that share one store |
//! | [`fixtures`] | the documents that the rules store, also for tests of a single store |
//!
//! The crate of a store implements [`StoreUnderTest`] in its tests and joins with one line,
//! [`store_suite!`](crate::store_suite). Each rule becomes a test of its own, on a store of its own. A store that keeps
//! a part of the port joins with the macro of that part.

pub mod agenda;
pub mod fixtures;
pub mod happened;
pub mod ledger;
pub mod operator;
pub mod outbox;
pub mod owners;
pub mod shops;

use std::sync::Arc;

use ucp_core::{
    ShopId,
    ports::{ledger::Ledger, store::Store},
};

/// Data of a store, which outlives the handles on it.
pub trait StoreUnderTest: Sized {
    /// A handle on the data, as a process of the gateway has one.
    type Store: Ledger + 'static;

    /// Returns `false` if what the data are kept in is not on this machine: then the rules are not tested, which the
    /// implementation says once, and where no output of tests is held back.
    fn is_available() -> bool {
        true
    }

    /// Creates empty data that no other test sees.
    fn create() -> impl Future<Output = Self>;

    /// Opens another handle on the data of a shop, as a process does that starts beside the others or after them.
    fn open_shop(&self, shop: ShopId) -> impl Future<Output = Arc<Self::Store>>;

    /// Opens another handle on the data of the default shop.
    fn open(&self) -> impl Future<Output = Arc<Self::Store>> {
        self.open_shop(ShopId::default())
    }

    /// Sets the quantities of these variants of the default shop; called once.
    fn count(&self, stock: &[(&str, u64)]) -> impl Future<Output = ()>;
}

/// Fails to compile for a store that lacks a part of the port.
pub const fn is_whole<T: StoreUnderTest<Store: Store>>() {}

/// Tests that a store keeps all rules of the port, from the name of its [`StoreUnderTest`].
///
/// The crate that calls it needs `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! store_suite {
    ($subject:ident) => {
        const _: () = $crate::store::is_whole::<$subject>();
        $crate::ledger_suite!($subject);
        $crate::outbox_suite!($subject);
        $crate::owners_suite!($subject);
        $crate::store_rules! {
            $subject, ledger:
            an_answer_that_comes_later_needs_its_room_now,
            each_group_of_a_holder_has_its_bound,
            a_registered_platform_has_its_bound,
        }
        $crate::store_rules! {
            $subject, shops:
            what_one_shop_stores_does_not_exist_in_another,
            the_same_names_mean_something_else_in_another_shop,
        }
        $crate::store_rules! {
            $subject, happened:
            each_version_of_an_order_is_told_once,
            a_quiet_version_of_an_order_is_not_told,
            checkouts_that_expire_unfinished_are_told_once,
            of_many_who_ask_what_happened_each_is_told_something_else,
        }
        $crate::store_rules! {
            $subject, operator:
            operators_see_the_orders_of_all_platforms,
            identifiers_with_personal_data_are_told,
            buyers_are_found_as_long_as_anything_of_them_is_stored,
            a_checkout_stays_while_a_webhook_event_of_its_order_waits,
            forwarded_messages_are_queued_once_and_in_order,
            expired_rows_of_the_shop_are_removed,
            holders_are_listed_and_what_one_holds_is_released,
            what_registered_platforms_hold_stays_and_what_strangers_hold_goes,
        }
    };
}

/// Tests that a store keeps the rules of the [`Ledger`] and of its [agenda](ucp_core::ports::agenda::Agenda), from the name of its [`StoreUnderTest`].
#[macro_export]
macro_rules! ledger_suite {
    ($subject:ident) => {
        $crate::store_rules! {
            $subject, ledger:
            documents_come_back_as_they_were_with_growing_versions,
            everything_is_there_after_a_restart,
            tokens_open_what_they_belong_to_and_nothing_else,
            a_change_of_an_older_version_changes_nothing_at_all,
            a_change_is_committed_whole_or_not_at_all,
            a_checkout_becomes_one_order,
            what_belongs_to_others_does_not_exist,
            an_answer_is_kept_once_per_key_and_comes_before_all_else,
            the_newest_checkout_of_a_cart_is_found,
            a_cart_has_one_open_checkout,
            two_processes_share_one_ledger,
            counts_follow_orders_and_never_fall_below_zero,
            the_last_ones_are_sold_once,
            of_many_calls_under_one_key_one_is_carried_out,
        }
        $crate::store_rules! {
            $subject, agenda:
            tasks_follow_from_what_is_committed,
            a_claimed_task_is_nobody_elses_until_the_claim_ends,
            of_many_who_claim_the_same_tasks_each_gets_others,
            what_is_woken_is_due_whoever_holds_it,
            many_tasks_of_one_lane_hide_no_other,
            a_task_is_seized_once_in_a_while,
            what_was_given_up_can_be_retried,
            who_waits_is_woken_by_what_is_planned_here,
        }
    };
}

/// Tests that a store keeps the rules of the [`Outbox`](ucp_core::ports::outbox::Outbox), from the name of its
/// [`StoreUnderTest`].
#[macro_export]
macro_rules! outbox_suite {
    ($subject:ident) => {
        $crate::store_rules! {
            $subject, outbox:
            each_version_of_an_order_is_told_of_in_turn,
            what_was_sent_first_is_kept_for_good,
            what_is_queued_while_others_are_sent_comes_after_them,
            who_waits_is_woken_by_what_is_queued_here,
            an_order_that_is_not_stored_is_not_told_of,
        }

        /// A property, which makes data for each of its cases.
        #[test]
        fn of_each_order_the_first_unsettled_notice_is_due() {
            if !<$subject as $crate::store::StoreUnderTest>::is_available() {
                return;
            }
            $crate::store::outbox::of_each_order_the_first_unsettled_notice_is_due::<$subject>();
        }
    };
}

/// Tests that a store keeps the rules of the [`Owners`](ucp_core::ports::owners::Owners), from the name of its
/// [`StoreUnderTest`].
#[macro_export]
macro_rules! owners_suite {
    ($subject:ident) => {
        $crate::store_rules! {
            $subject, owners:
            the_first_who_claims_something_has_it_for_good,
            of_many_who_claim_something_at_once_one_has_it,
            a_time_is_extended_and_never_made_shorter,
        }
    };
}

/// Makes a test of each rule of a part of the port.
#[doc(hidden)]
#[macro_export]
macro_rules! store_rules {
    ($subject:ident, $part:ident: $($rule:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $rule() {
                if !<$subject as $crate::store::StoreUnderTest>::is_available() {
                    return;
                }
                let subject = <$subject as $crate::store::StoreUnderTest>::create().await;
                $crate::store::$part::$rule(&subject).await;
            }
        )*
    };
}

#[cfg(test)]
mod tests;
