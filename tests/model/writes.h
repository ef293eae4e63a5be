/* What a write that is accepted does, and what must hold when it is. */

#define OF_THIS_JOB(k) (k != w && worker[k].phase != IDLE && worker[k].on == W.on)

/* Another owner, or none: what others saw of it stands no longer, nor does what they wrote. */
inline others_lose_the_owner() {
    for (k : 0 .. WORKERS - 1) {
        if
        :: OF_THIS_JOB(k) -> worker[k].owner_stands = 0; worker[k].write_stands = 0
        :: else
        fi
    }
    J.stale_copies = (J.copies > 0 || J.stale_copies > 0);
    J.copies = 0;
    J.extensions = 0
}

inline the_entry_moves() {
    for (k : 0 .. WORKERS - 1) {
        if
        :: worker[k].on == W.on -> worker[k].entry_stands = 0
        :: else
        fi
    }
}

/* Ends of leases: the job goes to another status, with another due entry or none, and without an owner. */
inline the_lease_ends(to) {
    REQUIRE(ABSORB, J.status < COMPLETED);
    others_lose_the_owner();
    the_entry_moves();
    J.status = to;
    J.expired = 0;
    W.owner_stands = 0;
    if
    :: to <= FAILED -> J.started = 0
    :: else -> J.attempts = 0 /* of no more interest: fewer states */
    fi
}

inline is_fenced() { REQUIRE(FENCED, W.owner_stands) }

inline a_run_ends() { REQUIRE(HONEST, J.started) }

inline no_run_is_lost() { REQUIRE(HONEST, !J.started) }

inline takes_an_expired_lease() { REQUIRE(LIVE, J.expired); is_fenced() }

#define A_HANDLER(k) (worker[k].phase == RUNNING || worker[k].phase == RE_EXTEND)

/* Whoever takes the job from a handler whose lease has not expired. */
inline no_living_handler() {
    for (k : 0 .. WORKERS - 1) {
        REQUIRE(ALONE, !(k != w && A_HANDLER(k) && worker[k].on == W.on && !worker[k].outlived))
    }
}

inline do_claim() {
    REQUIRE(LIVE, J.status <= FAILED || J.expired);
    REQUIRE(DUE, W.entry_stands); /* a poller reads only what is due; what moved meanwhile may be due later */
    no_run_is_lost();
    no_living_handler();
    others_lose_the_owner();
    the_entry_moves();
    J.status = IN_PROGRESS; J.started = 0; J.expired = 0;
    W.owner_stands = 1
}

/* The handler's nonce takes the token's place. */
inline do_start(moves) {
    is_fenced();
    REQUIRE(ABSORB, J.status < COMPLETED);
    REQUIRE(PUNCTUAL, !J.late || J.ran);
    no_living_handler();
    if
    :: !IS_GONE(rule_START_TAKES_A_NEW_NONCE) -> others_lose_the_owner()
    :: else
    fi;
    if
    :: moves -> the_entry_moves(); J.expired = 0
    :: else
    fi;
    J.started = 1;
    J.attempts++;
    REQUIRE(ATTEMPTS, J.attempts <= MAX_ATTEMPTS);
    W.owner_stands = 1; W.outlived = 0
}

inline do_extend() {
    is_fenced();
    REQUIRE(LIVE, J.status == IN_PROGRESS && !J.expired);
    the_entry_moves();
    J.expired = 0;
    the_lease_grows()
}

/* With the guard, a copy of an earlier extension changes nothing when it arrives, whenever that is. Without it, the
 * copy takes back what a later one gave: see happens(). */
inline the_lease_grows() {
    if
    :: (IS_GONE(extend_LEASE_GROWS) && J.extensions < 2) -> J.extensions++
    :: else
    fi
}

inline do_release() { is_fenced(); no_run_is_lost(); the_lease_ends(PENDING); back_is_not_cancelled() }

inline back_is_not_cancelled() { REQUIRE(CANCEL, !J.cancel_requested) }

inline do_complete() {
    is_fenced(); a_run_ends(); the_lease_ends(COMPLETED);
    J.completions++;
    REQUIRE(ONCE, J.completions == 1)
}

inline do_fail() { is_fenced(); a_run_ends(); back_is_not_cancelled(); the_lease_ends(FAILED); J.ran = 1 }

inline the_letter_is_written() {
    if
    :: !IS_GONE(rule_LETTER_IN_TRANSACTION) -> J.letters++
    :: else /* its writer died between the two writes */
    fi;
    REQUIRE(LETTER, J.letters == 1)
}

inline do_dead_letter() { is_fenced(); back_is_not_cancelled(); the_lease_ends(DEAD); the_letter_is_written() }

inline do_snooze() {
    is_fenced(); back_is_not_cancelled(); the_lease_ends(PENDING); J.ran = 1; J.attempts--
}

inline do_abort() { is_fenced(); a_run_ends(); the_lease_ends(CANCELLED) }

inline do_reap_unstarted() {
    takes_an_expired_lease(); no_run_is_lost(); no_living_handler(); the_lease_ends(PENDING); back_is_not_cancelled()
}

inline do_reap_failed() {
    takes_an_expired_lease(); a_run_ends(); no_living_handler(); back_is_not_cancelled();
    the_lease_ends(FAILED);
    J.ran = 1
}

inline do_reap_dead() {
    takes_an_expired_lease(); no_living_handler(); back_is_not_cancelled();
    the_lease_ends(DEAD);
    the_letter_is_written()
}

inline do_reap_cancelled() {
    takes_an_expired_lease(); no_living_handler(); a_run_ends();
    REQUIRE(CANCEL, J.cancel_requested);
    the_lease_ends(CANCELLED)
}
