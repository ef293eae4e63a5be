/* What is stored, what each worker knows, and how much may happen in all. */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 3
#endif
#ifndef MISHAPS
#define MISHAPS 2
#endif
#define MAX_ATTEMPTS 2

#define PENDING     0
#define FAILED      1
#define IN_PROGRESS 2
#define COMPLETED   3
#define CANCELLED   4
#define DEAD        5

typedef Job {
    byte status;
    bit started;          /* started_at */
    bit cancel_requested;
    bit expired;          /* lock_expires_at has passed */
    bit late;             /* start_by has passed */
    bit ran;              /* last_attempt_at */
    byte attempts;
    byte extensions;      /* by this owner; counted only where an old one can do harm, see the_lease_grows */
    byte copies;          /* of the hand-over, under way, with the token that is stored */
    byte stale_copies;    /* ... with one that is not */
    byte letters;
    byte completions
}

/* What a worker is doing. From UNSURE on, it repeats a write whose response was lost. */
#define IDLE      0
#define READ      1 /* a poller that has read an entry and the job behind it */
#define CLAIMED   2
#define UNSENT    3 /* the hand-over failed, as far as its poller knows, or its handler may not run it now */
#define RECEIVED  4 /* a handler with a hand-over */
#define RUNNING   5
#define UNSURE    10
#define RE_CLAIM     11
#define RE_START     12
#define RE_EXTEND    13
#define RE_RELEASE   14
#define RE_COMPLETE  15
#define RE_FAIL      16
#define RE_DEAD_LETTER      17
#define RE_SNOOZE    18
#define RE_ABORT     19
#define RE_UNSTARTED 20
#define RE_FAILED    21
#define RE_DEAD      22
#define RE_CANCELLED 23

typedef Worker {
    byte phase;
    bit on;            /* which job */
    bit owner_stands;  /* the locked_by that it saw, or was handed, is the stored one */
    bit entry_stands;  /* so is the due_key */
    bit write_stands;  /* the write that it is unsure of is what is stored */
    bit outlived       /* its lease expired while it ran */
}

Job job[JOBS];
Worker worker[WORKERS];
byte expiries;
byte mishaps;
byte broken;
byte k; /* a loop variable within one step, zero between two */

#define J job[worker[w].on]
#define W worker[w]
#define ENDED(j) (job[j].status >= COMPLETED)
#define WAITING(j) (job[j].status <= FAILED)
