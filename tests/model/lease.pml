/* The lease protocol of Leasehold: three workers, two jobs, and whatever may go wrong between them.
 *
 * Each transition of leasehold.kernel.transitions is one atomic conditional write, and nothing else writes. Workers are
 * unwary: they try every write with what they once saw, however long ago, so that only the conditions keep order.
 *
 * Nonces and due keys are only ever compared, and none recurs. So a worker does not hold a value here: it holds whether
 * the value that it saw is still the stored one (`owner_stands`, `entry_stands`), which is the same and far smaller.
 *
 * A guard is taken away by -DWITHOUT=<its name>; then Spin must find a violation. See docs/model.md.
 */
#include "guards.h"
#include "properties.h"
#include "state.h"
#include "conditions.h"
#include "writes.h"
#include "symmetry.h"

inline becomes_idle() {
    W.phase = IDLE; W.on = 0; W.owner_stands = 0; W.entry_stands = 0; W.write_stands = 0; W.outlived = 0
}

inline goes_on_as(next) {
    if
    :: next == IDLE -> becomes_idle()
    :: else -> W.phase = next; W.write_stands = 0; W.entry_stands = 0
    fi
}

inline is_unsure_of(write, keeps_owner) {
    mishaps++;
    W.phase = write; W.write_stands = 1; W.entry_stands = 0; W.owner_stands = keeps_owner;
    W.outlived = W.outlived && keeps_owner
}

/* For people who follow a counterexample. */
#ifdef KEEP_NAMES
#define SAY(what) printf("worker %d, job %d: %s\n", w, W.on, what)
#define SAY_OF_JOB(what) printf("          job %d: %s\n", j, what)
#else
#define SAY(what) skip
#define SAY_OF_JOB(what) skip
#endif

/* A write that is accepted: its writer learns so, or not. `cost` counts what is bounded though it is no fault. */
#define WRITE(who, transition, cost, effect, next, repeat, keeps_owner) \
    :: d_step { (who) && mishaps + cost <= MISHAPS && CAN_##transition -> \
        SAY(#transition); mishaps = mishaps + cost; effect; goes_on_as(next); step_ends() } \
    :: d_step { (who) && mishaps + cost < MISHAPS && CAN_##transition -> \
        SAY(#transition ", but the response is lost"); mishaps = mishaps + cost; effect; \
        is_unsure_of(repeat, keeps_owner); step_ends() }

#define DOING(phase_of, repeat) (W.phase == phase_of || W.phase == repeat)

/* The repeat of a write that is not accepted again: the signature tells whether the first one stands. */
#define REPEAT(repeat, transition, next) \
    :: d_step { W.phase == repeat && !CAN_##transition -> SAY("repeats " #transition " and is not accepted"); \
        REQUIRE(TOLD, !W.write_stands || !IS_GONE(transition##_SIGNATURE)); \
        if \
        :: W.write_stands && !IS_GONE(transition##_SIGNATURE) -> \
            W.owner_stands = 1; W.outlived = J.expired; goes_on_as(next) \
        :: else -> becomes_idle() \
        fi; \
        step_ends() }

#define HOLDS_A_LEASE (W.owner_stands && W.phase >= CLAIMED \
    || W.write_stands && (W.phase == RE_CLAIM || W.phase == RE_START))
#define CAN_GO_ON(i) (i < WORKERS && i != w && worker[i].on == W.on && worker[i].owner_stands \
    && worker[i].phase >= CLAIMED && worker[i].phase <= RUNNING)
#define OTHERS_CAN_GO_ON (J.copies > 0 || CAN_GO_ON(0) || CAN_GO_ON(1) || CAN_GO_ON(2))

#define READS(j) \
    :: d_step { W.phase == IDLE && (WAITING(j) || job[j].expired) -> reads(j); SAY("reads it as due"); step_ends() } \
    :: d_step { W.phase == IDLE && job[j].status == IN_PROGRESS && !job[j].expired && mishaps < MISHAPS -> \
        mishaps++; reads(j); SAY("reads it before it is due"); step_ends() } \
    :: d_step { W.phase == IDLE && job[j].copies > 0 -> \
        job[j].copies--; W.phase = RECEIVED; W.on = j; W.owner_stands = 1; \
        SAY("receives the hand-over"); step_ends() } \
    :: d_step { W.phase == IDLE && job[j].stale_copies > 0 -> \
        job[j].stale_copies--; W.phase = RECEIVED; W.on = j; SAY("receives an old hand-over"); step_ends() }

inline reads(j) { W.phase = READ; W.on = j; W.owner_stands = 1; W.entry_stands = 1 }

#define SENDS(number, next, cost) \
    :: d_step { W.phase == CLAIMED && mishaps + cost <= MISHAPS -> \
        SAY("hands over: " #number " copies, then " #next); mishaps = mishaps + cost; \
        if \
        :: W.owner_stands -> J.copies = J.copies + number \
        :: else -> J.stale_copies = (J.stale_copies > 0 || number > 0) \
        fi; \
        goes_on_as(next); step_ends() }

active [WORKERS] proctype works() {
    byte w = _pid;
end:
    do
    READS(0)
#if JOBS > 1
    READS(1)
#endif
    /* the poller, with an entry that it read some time ago */
    WRITE(DOING(READ, RE_CLAIM), claim, 0, do_claim(), CLAIMED, RE_CLAIM, 0)
    WRITE(DOING(READ, RE_UNSTARTED), reap_unstarted, 0, do_reap_unstarted(), IDLE, RE_UNSTARTED, 0)
    WRITE(DOING(READ, RE_FAILED), reap_failed, 0, do_reap_failed(), IDLE, RE_FAILED, 0)
    WRITE(DOING(READ, RE_DEAD) && MAY_BE_GIVEN_UP, reap_dead, 0, do_reap_dead(), IDLE, RE_DEAD, 0)
    WRITE(DOING(READ, RE_CANCELLED), reap_cancelled, 0, do_reap_cancelled(), IDLE, RE_CANCELLED, 0)
    SENDS(1, IDLE, 0)
    SENDS(2, IDLE, 1)
    SENDS(0, UNSENT, 1)
    SENDS(1, UNSENT, 1) /* it arrived, though its sender was told that it did not */
    WRITE(DOING(UNSENT, RE_RELEASE), release, 0, do_release(), IDLE, RE_RELEASE, 0)
    /* the handler */
    :: d_step { W.phase == RECEIVED && mishaps < MISHAPS ->
        SAY("may not run it now"); mishaps++; W.phase = UNSENT; step_ends() }
    WRITE(DOING(RECEIVED, RE_START) && MAY_KEEP_LEASE, start, 0, do_start(false), RUNNING, RE_START, 0)
    WRITE(DOING(RECEIVED, RE_START), start, !J.expired, do_start(true), RUNNING, RE_START, 0)
    WRITE(DOING(RUNNING, RE_EXTEND), extend, (W.phase == RUNNING), do_extend(), RUNNING, RE_EXTEND, 1)
    WRITE(DOING(RUNNING, RE_COMPLETE), complete, 0, do_complete(), IDLE, RE_COMPLETE, 0)
    WRITE(DOING(RUNNING, RE_FAIL), fail, 0, do_fail(), IDLE, RE_FAIL, 0)
    WRITE(DOING(RUNNING, RE_DEAD_LETTER) || W.phase == UNSENT, dead_letter, 0, do_dead_letter(), \
        IDLE, RE_DEAD_LETTER, 0)
    WRITE(DOING(RUNNING, RE_SNOOZE), snooze, (W.phase == RUNNING), do_snooze(), IDLE, RE_SNOOZE, 0)
    WRITE(DOING(RUNNING, RE_ABORT), abort, 0, do_abort(), IDLE, RE_ABORT, 0)
    REPEAT(RE_CLAIM, claim, CLAIMED)
    REPEAT(RE_START, start, RUNNING)
    REPEAT(RE_EXTEND, extend, RUNNING)
    REPEAT(RE_RELEASE, release, IDLE)
    REPEAT(RE_COMPLETE, complete, IDLE)
    REPEAT(RE_FAIL, fail, IDLE)
    REPEAT(RE_DEAD_LETTER, dead_letter, IDLE)
    REPEAT(RE_SNOOZE, snooze, IDLE)
    REPEAT(RE_ABORT, abort, IDLE)
    REPEAT(RE_UNSTARTED, reap_unstarted, IDLE)
    REPEAT(RE_FAILED, reap_failed, IDLE)
    REPEAT(RE_DEAD, reap_dead, IDLE)
    REPEAT(RE_CANCELLED, reap_cancelled, IDLE)
    /* it is refused, or crashes, and nothing depended on it; a poller reads again, a handler is told that it lost */
    :: d_step { W.phase != IDLE && W.phase < UNSURE && !W.owner_stands -> SAY("gives up"); becomes_idle(); step_ends() }
    :: d_step { W.phase == READ && W.owner_stands && (!W.entry_stands || J.status == IN_PROGRESS && !J.expired) ->
        SAY("gives up"); becomes_idle(); step_ends() }
    :: d_step { HOLDS_A_LEASE && OTHERS_CAN_GO_ON -> SAY("crashes"); becomes_idle(); step_ends() }
    /* a crash that leaves an orphan, or a hand-over that never arrives: its lease will expire */
    :: d_step { HOLDS_A_LEASE && !OTHERS_CAN_GO_ON && J.expired -> SAY("crashes"); becomes_idle(); step_ends() }
    :: d_step { HOLDS_A_LEASE && !OTHERS_CAN_GO_ON && !J.expired && expiries < EXPIRIES ->
        SAY("crashes, and the lease expires"); expiries++; J.expired = 1; becomes_idle(); step_ends() }
    od
}

/* ---- what nobody has to have read anything for ---- */

inline is_ended_from_outside(j) {
    REQUIRE(ABSORB, !ENDED(j));
    for (k : 0 .. WORKERS - 1) {
        if
        :: worker[k].phase != IDLE && worker[k].on == j ->
            REQUIRE(ALONE, !(A_HANDLER(k) && worker[k].owner_stands && !worker[k].outlived));
            worker[k].owner_stands = 0; worker[k].entry_stands = 0; worker[k].write_stands = 0
        :: else
        fi
    }
    job[j].stale_copies = (job[j].copies > 0 || job[j].stale_copies > 0);
    job[j].copies = 0;
    job[j].status = CANCELLED; job[j].expired = 0; job[j].attempts = 0
}

inline the_lease_expires(j) {
    expiries++;
    job[j].expired = 1;
    for (k : 0 .. WORKERS - 1) {
        if
        :: A_HANDLER(k) && worker[k].on == j && worker[k].owner_stands -> worker[k].outlived = 1
        :: else
        fi
    }
}

#undef J
#define J job[j]

/* What happens to a job by itself, what an operator does, and EXPIRE, which depends on nothing that was read. */
active [JOBS] proctype happens() {
    byte j = _pid - WORKERS;
end:
    do
    :: d_step { J.status == IN_PROGRESS && !J.expired && expiries < EXPIRIES ->
        SAY_OF_JOB("the lease expires"); the_lease_expires(j); step_ends() }
    :: d_step { (IS_GONE(extend_LEASE_GROWS) && J.extensions == 2 && J.status == IN_PROGRESS && !J.expired
        && expiries < EXPIRIES) ->
        SAY_OF_JOB("a copy of the first extension arrives, and that one has run out by now");
        expiries++; J.expired = 1; J.extensions = 0; step_ends() }
    :: d_step { !J.late && !ENDED(j) -> SAY_OF_JOB("start_by has passed"); J.late = 1; step_ends() }
    :: d_step { CAN_expire -> SAY_OF_JOB("expire");
        REQUIRE(PUNCTUAL, J.late && !J.ran); is_ended_from_outside(j); step_ends() }
    :: d_step { CAN_cancel -> SAY_OF_JOB("cancel"); is_ended_from_outside(j); step_ends() }
    :: d_step { CAN_request_cancel && !J.cancel_requested ->
        SAY_OF_JOB("request_cancel"); REQUIRE(ABSORB, !ENDED(j)); REQUIRE(CANCEL, J.started);
        J.cancel_requested = 1; step_ends() }
    od
}

/* Nothing is lost: a run that comes to a stop before this does is an invalid end state. */
active proctype every_job_ends() {
    ENDED(0) && ENDED(JOBS - 1)
}
