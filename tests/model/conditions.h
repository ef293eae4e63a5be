/* Which guard is missing: compiled in, or named when the verifier is started, so that one serves for all of them. */
#ifdef WITHOUT
#define IS_GONE(name) (WITHOUT == name)
#else
c_decl {
    static int without;
    __attribute__((constructor)) static void choose(void) { without = getenv("WITHOUT") ? atoi(getenv("WITHOUT")) : 0; }
}
#define IS_GONE(name) c_expr { without == name }
#endif

#define GUARD(name, condition) (IS_GONE(name) || (condition))

/* The guards, named as in lifecycle.py; what is missing equals nothing, as in DynamoDB. */

#define IS_WAITING  (J.status <= FAILED)
#define IS_RUNNING  (J.status == IN_PROGRESS)
#define ENTRY_AS_READ (W.entry_stands)
#define OWNER_IS_MINE (W.owner_stands && J.status == IN_PROGRESS)
#define NOT_STARTED (!J.started)
#define STARTED (J.started)
#define NO_CANCEL_REQUESTED (!J.cancel_requested)
#define CANCEL_REQUESTED (J.cancel_requested)
#define LEASE_IS_LIVE (J.status == IN_PROGRESS && !J.expired)
#define LEASE_HAS_EXPIRED (J.expired)
#define MAY_STILL_START (!J.late || J.ran)

#define CAN_claim (GUARD(claim_STATUS, IS_WAITING) && GUARD(claim_ENTRY_AS_READ, ENTRY_AS_READ) \
    && GUARD(claim_MAY_STILL_START, MAY_STILL_START))
#define CAN_release (GUARD(release_STATUS, IS_RUNNING) && GUARD(release_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(release_NOT_STARTED, NOT_STARTED))
#define CAN_start (GUARD(start_STATUS, IS_RUNNING) && GUARD(start_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(start_MAY_STILL_START, MAY_STILL_START))
#define CAN_extend (GUARD(extend_STATUS, IS_RUNNING) && GUARD(extend_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(extend_LEASE_IS_LIVE, LEASE_IS_LIVE))
#define CAN_complete (GUARD(complete_STATUS, IS_RUNNING) && GUARD(complete_OWNER_IS_MINE, OWNER_IS_MINE))
#define CAN_fail (GUARD(fail_STATUS, IS_RUNNING) && GUARD(fail_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(fail_NO_CANCEL_REQUESTED, NO_CANCEL_REQUESTED) && GUARD(rule_ATTEMPT_LIMIT, !LAST_KNOWN))
#define CAN_dead_letter (GUARD(dead_letter_STATUS, IS_RUNNING) && GUARD(dead_letter_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(dead_letter_NO_CANCEL_REQUESTED, NO_CANCEL_REQUESTED) && GUARD(rule_LETTER_IF_ABSENT, J.letters == 0))
#define CAN_snooze (GUARD(snooze_STATUS, IS_RUNNING) && GUARD(snooze_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(snooze_NO_CANCEL_REQUESTED, NO_CANCEL_REQUESTED))
#define CAN_abort (GUARD(abort_STATUS, IS_RUNNING) && GUARD(abort_OWNER_IS_MINE, OWNER_IS_MINE))
#define CAN_cancel (GUARD(cancel_STATUS, IS_WAITING || IS_RUNNING) && GUARD(cancel_NOT_STARTED, NOT_STARTED))
#define CAN_request_cancel (GUARD(request_cancel_STATUS, IS_RUNNING) && GUARD(request_cancel_STARTED, STARTED))
#define CAN_expire (GUARD(expire_STATUS, IS_WAITING || IS_RUNNING) && GUARD(expire_NOT_AFTER_START_BY, J.late) \
    && GUARD(expire_MISSING_LAST_ATTEMPT_AT, !J.ran) && GUARD(expire_NOT_STARTED, NOT_STARTED))
#define CAN_reap_unstarted (GUARD(reap_unstarted_STATUS, IS_RUNNING) \
    && GUARD(reap_unstarted_ENTRY_AS_READ, ENTRY_AS_READ) && GUARD(reap_unstarted_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(reap_unstarted_LEASE_HAS_EXPIRED, LEASE_HAS_EXPIRED) && GUARD(reap_unstarted_NOT_STARTED, NOT_STARTED))
#define CAN_reap_failed (GUARD(reap_failed_STATUS, IS_RUNNING) \
    && GUARD(reap_failed_ENTRY_AS_READ, ENTRY_AS_READ) && GUARD(reap_failed_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(reap_failed_LEASE_HAS_EXPIRED, LEASE_HAS_EXPIRED) && GUARD(reap_failed_STARTED, STARTED) \
    && GUARD(reap_failed_NO_CANCEL_REQUESTED, NO_CANCEL_REQUESTED) && GUARD(rule_ATTEMPT_LIMIT, !LAST_KNOWN))
#define CAN_reap_dead (GUARD(reap_dead_STATUS, IS_RUNNING) \
    && GUARD(reap_dead_ENTRY_AS_READ, ENTRY_AS_READ) && GUARD(reap_dead_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(reap_dead_LEASE_HAS_EXPIRED, LEASE_HAS_EXPIRED) \
    && GUARD(reap_dead_NO_CANCEL_REQUESTED, NO_CANCEL_REQUESTED) && GUARD(rule_LETTER_IF_ABSENT, J.letters == 0))
#define CAN_reap_cancelled (GUARD(reap_cancelled_STATUS, IS_RUNNING) \
    && GUARD(reap_cancelled_ENTRY_AS_READ, ENTRY_AS_READ) && GUARD(reap_cancelled_OWNER_IS_MINE, OWNER_IS_MINE) \
    && GUARD(reap_cancelled_LEASE_HAS_EXPIRED, LEASE_HAS_EXPIRED) \
    && GUARD(reap_cancelled_CANCEL_REQUESTED, CANCEL_REQUESTED))

/* The limit is decided by what the writer knows; one that knows the job no longer may believe anything. */
#define LAST_KNOWN (W.owner_stands && J.attempts >= MAX_ATTEMPTS)

/* A job that reaches no handler is given up some day: here, any day. */
#define MAY_BE_GIVEN_UP (!J.started || LAST_KNOWN || !W.owner_stands)

/* A lease that would not outlast the run is prolonged by the start; one that has expired always would not. */
#define MAY_KEEP_LEASE (IS_GONE(rule_LATE_START_PROLONGS) || !J.expired)
