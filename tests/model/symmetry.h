#define KEY(w) (worker[w].phase * 32 + worker[w].on * 16 + worker[w].owner_stands * 8 + worker[w].entry_stands * 4 \
    + worker[w].write_stands * 2 + worker[w].outlived)

#define SWAP(this, that, field) k = this.field; this.field = that.field; that.field = k

inline workers_in_order(a, b) {
    if
    :: a < WORKERS && b < WORKERS && KEY(a) > KEY(b) ->
        SWAP(worker[a], worker[b], phase); SWAP(worker[a], worker[b], on);
        SWAP(worker[a], worker[b], owner_stands); SWAP(worker[a], worker[b], entry_stands);
        SWAP(worker[a], worker[b], write_stands); SWAP(worker[a], worker[b], outlived)
    :: else
    fi
}

#define JOB_KEY(j) (((job[j].status * 4 + job[j].attempts) * 4 + job[j].copies) * 128 + job[j].started * 64 \
    + job[j].cancel_requested * 32 + job[j].expired * 16 + job[j].late * 8 + job[j].ran * 4 + job[j].stale_copies)

inline jobs_in_order() {
    if
    :: JOB_KEY(0) > JOB_KEY(JOBS - 1) ->
        SWAP(job[0], job[1], status); SWAP(job[0], job[1], started); SWAP(job[0], job[1], cancel_requested);
        SWAP(job[0], job[1], expired); SWAP(job[0], job[1], late); SWAP(job[0], job[1], ran);
        SWAP(job[0], job[1], attempts); SWAP(job[0], job[1], copies); SWAP(job[0], job[1], stale_copies);
        SWAP(job[0], job[1], extensions); SWAP(job[0], job[1], letters); SWAP(job[0], job[1], completions);
        for (k : 0 .. WORKERS - 1) {
            if
            :: worker[k].phase != IDLE -> worker[k].on = 1 - worker[k].on
            :: else
            fi
        }
    :: else
    fi
}

/* Workers are alike, and so are jobs: which of them is the first does not matter, and twelve states are one. */
inline step_ends() {
#ifndef KEEP_NAMES
#if JOBS > 1
    jobs_in_order();
#endif
    workers_in_order(0, 1); workers_in_order(1, 2); workers_in_order(0, 1);
#endif
    k = 0;
    assert(broken != FENCED); assert(broken != LIVE); assert(broken != ALONE); assert(broken != ONCE);
    assert(broken != ABSORB); assert(broken != LETTER); assert(broken != ATTEMPTS); assert(broken != HONEST);
    assert(broken != CANCEL); assert(broken != PUNCTUAL); assert(broken != TOLD); assert(broken != DUE)
}
