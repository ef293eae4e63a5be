/* A scope with one seat, and a lane that waits in its line: nobody waits unseen, and no freed seat is overlooked.
 *
 * Joiners hold jobs (limits/admission.py), visitors look at the scope (limits/visit.py), an ender frees the seat
 * (limits/seating.py). Each read and each conditional write of limits/lines.py is one step. Due keys, looks and stamps are
 * only compared, and none recurs: a process holds whether what it saw is still what is stored.
 *
 * Time: whatever was held is in the index a MINUTE later, and what a poll remembers is forgotten by then. Whoever
 * stands still for a minute between its check and its hold does not die before it has checked once more.
 *
 * A rule is taken away by -DWITHOUT=<its number>; then Spin must find a violation. See docs/model.md.
 */
#define JOIN_FIRST          1 /* the lane stands in line before its first job is held */
#define LOOK_FIRST          2 /* the scope has a look before the lane stands in line */
#define JOINER_LOOKS_AGAIN  3 /* who has joined reads whether the scope was called empty meanwhile */
#define VISITOR_LOOKS_AGAIN 4 /* who has called a scope empty reads whether a lane has joined meanwhile */
#define LEAVE_AS_SEEN       5 /* a lane leaves its line only with the stamp that it was found empty with */
#define FORGET_AS_SEEN      6 /* a scope is forgotten only with the due key that it was found empty with */
#define EMPTY_TWICE         7 /* a lane leaves its line only when it was found empty a minute before, too */
#define SEATS_AGAIN         8 /* who has held jobs reads the seats once more */
#define ENTRY_AGAIN         9 /* who has held by memory, or stood still, reads the lane's entry once more */
#define TRY_AGAIN          10 /* a wake that was refused, though nobody began a look, is tried again */
#define SEATS_AFTER_LOOK   11 /* who looks reads the seats after it took the look */
#define PUT_OFF_AS_SEEN    12 /* a look is put off only with the due key that was seen */
#define AT_ONCE            13 /* a scope that was called empty by mistake is looked at at once */
#define HAS(rule) (WITHOUT != rule)

#define SEEN   1 /* a held job's lane stands in the line of a scope that is due at some time */
#define PROMPT 2 /* a free seat that a lane waits for is looked at, unless a start of a poller or a process was lost */
#define CALLED 3 /* a scope in whose line a lane waits is not called empty, unless a process was lost, or gave up */

#ifndef WITHOUT
int WITHOUT = 0;
c_decl { \#include <stdlib.h> }
#endif

#define JOINERS 2
#ifndef VISITORS
#define VISITORS 2
#endif
#define PROCESSES 5
#define ENDER 4
#define NONE 0
#define LATER 1
#define NOW 2

bool s_exists, s_empty, s_old;
byte due = NONE;
bool e_exists, e_empty, e_old;
bool seat = 1;
byte held, shown, wakes, minutes, crashes, joins, looks;
bool trouble;
bool gave_up; /* after three tries: its job stays due, and the next poll decides */
/* Of each process: whether what it saw still stands; whether it is in the midst of something. */
bool key_ok[PROCESSES], look_ok[PROCESSES], stamp_ok[PROCESSES], busy[PROCESSES];
bool remembers[JOINERS], stalled[JOINERS], is_holding[JOINERS];
bool is_made = 0;
byte broken = 0;

#define ALL_FALSE(bits) bits[0] = 0; bits[1] = 0; bits[2] = 0; bits[3] = 0; bits[4] = 0
#define LOOKED_AT (s_exists && !s_empty && due != NONE)
#define WAITED_FOR (s_exists && !s_empty)

inline set_due(when) { due = (when); ALL_FALSE(key_ok) }
inline read_scope() { key_ok[me] = 1 }

/* Whenever nobody is in the midst of anything, this must hold. */
inline check() {
    if
    :: !busy[0] && !busy[1] && !busy[2] && !busy[3] && !busy[4] && wakes == 0 ->
        if
        :: held > 0 && !(e_exists && s_exists && due != NONE) -> broken = SEEN
        :: held > 0 && e_exists && s_exists && due != NONE && !trouble && !seat && !e_empty && !s_empty && due != NOW ->
            broken = PROMPT
        :: e_exists && !e_empty && held > 0 && s_exists && s_empty && due != NONE && !trouble && !gave_up -> broken = CALLED
        :: else -> skip
        fi
    :: else -> skip
    fi;
    assert(broken != SEEN);
    assert(broken != PROMPT);
    assert(broken != CALLED)
}

inline ends() { busy[me] = 0; key_ok[me] = 0; look_ok[me] = 0; stamp_ok[me] = 0; check() }

#define MAY_CRASH (crashes < CRASHES && (me >= JOINERS || !stalled[me % JOINERS]))
inline crash() { crashes++; trouble = 1; is_holding[me % JOINERS] = is_holding[me % JOINERS] && me >= JOINERS; ends() }

/* Lines.nudge: make the scope due now. `tries` is how often it was refused. */
inline nudge() {
    tries = 0;
    d_step { read_scope(); look_ok[me] = 1; seen = LOOKED_AT && due != NOW };
    do
    :: seen ->
        d_step {
            if
            :: key_ok[me] && due != NONE -> set_due(NOW); seen = 0
            :: else -> tries++; seen = 1
            fi };
        if
        :: !seen -> break
        :: seen && (!HAS(TRY_AGAIN) || tries == 3) -> break
        :: else -> d_step { read_scope(); seen = LOOKED_AT && due != NOW && look_ok[me] }
        fi
    :: else -> break
    od
}

/* Admission.expect_look, then _joins; `is_in_line` says how it went. */
inline stand_in_line() {
    tries = 0; is_in_line = 0;
    do
    :: tries < 3 && !is_in_line ->
        tries++;
        if
        :: HAS(LOOK_FIRST) ->
            d_step { read_scope(); was_there = s_exists; seen = WAITED_FOR && due != NONE };
            if
            :: seen -> skip
            :: else -> d_step {
                if
                :: (was_there && key_ok[me] && s_exists) || (!was_there && !s_exists) ->
                    s_exists = 1; s_empty = 0; s_old = 0; set_due(LATER); seen = 1
                :: else -> skip
                fi }
            fi
        :: else -> seen = 1
        fi;
        if
        :: seen ->
            d_step { stamp_ok[me] = 1; was_there = e_exists; is_in_line = e_exists && !e_empty };
            if
            :: !is_in_line ->
                d_step {
                    if
                    :: (was_there && stamp_ok[me] && e_exists) || (!was_there && !e_exists) ->
                        e_exists = 1; e_empty = 0; e_old = 0; ALL_FALSE(stamp_ok); is_in_line = 1
                    :: else -> is_in_line = e_exists && !e_empty
                    fi };
                if
                :: HAS(JOINER_LOOKS_AGAIN) -> d_step { is_in_line = is_in_line && WAITED_FOR }
                :: else -> skip
                fi
            :: else -> skip
            fi
        :: else -> skip
        fi
    :: else -> break
    od
}

proctype Joiner(byte me) {
    bool seen, was_there, is_in_line, by_memory;
    byte tries;
    do
    :: atomic { joins < JOINS && seat -> joins++; busy[me] = 1; stalled[me] = 0; is_holding[me] = 1; by_memory = remembers[me] };
        if
        :: by_memory || !HAS(JOIN_FIRST) -> is_in_line = 1
        :: else -> stand_in_line()
        fi;
        if
        :: !is_in_line -> atomic { gave_up = 1; is_holding[me] = 0; ends() }
        :: else ->
            d_step { remembers[me] = !stalled[me]; held++ };
            if
            :: atomic { MAY_CRASH -> remembers[me] = 0; crash() }; goto next
            :: true
            fi;
            if
            :: !HAS(JOIN_FIRST) && !by_memory -> stand_in_line()
            :: HAS(JOIN_FIRST) && HAS(ENTRY_AGAIN) && (by_memory || stalled[me]) ->
                d_step { seen = e_exists && !e_empty };
                if
                :: seen -> skip
                :: else -> remembers[me] = 0; stand_in_line()
                fi
            :: else -> skip
            fi;
            if
            :: HAS(SEATS_AGAIN) ->
                d_step { seen = !seat };
                if
                :: seen -> nudge()
                :: else -> skip
                fi
            :: else -> skip
            fi;
            atomic { is_holding[me] = 0; ends() }
        fi;
next:   skip; d_step { seen = 0; was_there = 0; is_in_line = 0; by_memory = 0; tries = 0 }
    :: joins == JOINS -> break
    od
}

/* A look: by time, or by a wake. */
proctype Visitor(byte me) {
    bool free, found, was_empty, was_old, has_lane, seen;
    byte tries;
    do
    :: atomic { due != NONE && s_exists && looks < LOOKS -> looks++; busy[me] = 1; read_scope() };
        if
        :: HAS(SEATS_AFTER_LOOK) -> skip
        :: else -> d_step { free = !seat; has_lane = e_exists; was_empty = e_empty; was_old = e_old; stamp_ok[me] = 1 }
        fi;
        d_step {
            seen = key_ok[me] && s_exists && due != NONE;
            if
            :: seen -> set_due(LATER); ALL_FALSE(look_ok); key_ok[me] = 1
            :: else -> skip
            fi };
        if
        :: seen -> goto visit
        :: else -> atomic { ends() }; goto done
        fi
    :: atomic { wakes > 0 -> wakes--; busy[me] = 1; tries = 0; read_scope(); look_ok[me] = 1; seen = LOOKED_AT };
        do
        :: seen ->
            if
            :: HAS(SEATS_AFTER_LOOK) -> skip
            :: else -> d_step { free = !seat; has_lane = e_exists; was_empty = e_empty; was_old = e_old; stamp_ok[me] = 1 }
            fi;
            d_step {
                found = key_ok[me] && look_ok[me] && s_exists;
                if
                :: found -> ALL_FALSE(look_ok)
                :: else -> tries++
                fi };
            if
            :: found -> goto visit
            :: !found && !HAS(TRY_AGAIN) -> atomic { ends() }; goto done
            :: !found && HAS(TRY_AGAIN) && tries == 3 -> nudge(); atomic { ends() }; goto done
            :: else -> d_step { read_scope(); seen = LOOKED_AT && look_ok[me] }
            fi
        :: else -> atomic { ends() }; goto done
        od;
visit:
        if
        :: atomic { MAY_CRASH -> crash() }; goto done
        :: true
        fi;
        if
        :: HAS(SEATS_AFTER_LOOK) ->
            d_step { free = !seat; has_lane = e_exists; was_empty = e_empty; was_old = e_old; stamp_ok[me] = 1 }
        :: else -> skip
        fi;
        if
        :: !free && has_lane ->
            /* Full: the next look is at the end of a seat, or where it was. */
            if
            :: d_step { (key_ok[me] || !HAS(PUT_OFF_AS_SEEN)) && s_exists && due != NONE -> set_due(LATER) }
            :: true
            fi;
            atomic { ends() }; goto done
        :: free && has_lane ->
            d_step { found = shown > 0 };
            if
            :: found ->
                d_step {
                    if
                    :: !seat && shown > 0 -> seat = 1; held--; shown--
                    :: else -> skip
                    fi };
                /* It had been found empty, and is not. */
                if
                :: was_empty -> d_step {
                    if
                    :: stamp_ok[me] && e_exists -> e_empty = 0; e_old = 0; ALL_FALSE(stamp_ok)
                    :: else -> skip
                    fi;
                    if
                    :: s_exists && s_empty -> s_empty = 0; s_old = 0; set_due((HAS(AT_ONCE) -> NOW : LATER))
                    :: else -> skip
                    fi }
                :: else -> skip
                fi;
                atomic { ends() }; goto done
            :: else ->
                if
                :: was_empty && (was_old || !HAS(EMPTY_TWICE)) -> d_step {
                    if
                    :: (stamp_ok[me] || !HAS(LEAVE_AS_SEEN)) && e_exists -> e_exists = 0; e_empty = 0; e_old = 0; ALL_FALSE(stamp_ok)
                    :: else -> skip
                    fi }
                :: !was_empty -> d_step {
                    if
                    :: stamp_ok[me] && e_exists -> e_empty = 1; e_old = 0; ALL_FALSE(stamp_ok)
                    :: else -> skip
                    fi }
                :: else -> skip
                fi
            fi
        :: else -> skip
        fi;
        /* _end_served: nobody can go on. */
        d_step { has_lane = e_exists; found = e_exists && !e_empty; was_empty = s_empty; was_old = s_old };
        if
        :: found -> skip
        :: !found && !was_empty ->
            d_step {
                seen = (key_ok[me] || !HAS(PUT_OFF_AS_SEEN)) && s_exists && due != NONE;
                if
                :: seen -> s_empty = 1; s_old = 0; set_due(LATER)
                :: else -> skip
                fi };
            if
            :: HAS(VISITOR_LOOKS_AGAIN) ->
                d_step { found = e_exists && !e_empty };
                if
                :: found -> d_step { read_scope(); seen = s_exists && s_empty };
                    d_step {
                        if
                        :: seen && key_ok[me] && s_exists -> s_empty = 0; s_old = 0; set_due((HAS(AT_ONCE) -> NOW : LATER))
                        :: else -> skip
                        fi }
                :: else -> skip
                fi
            :: else -> skip
            fi
        :: !found && was_empty && (has_lane || !was_old) ->
            d_step {
                if
                :: (key_ok[me] || !HAS(PUT_OFF_AS_SEEN)) && s_exists && due != NONE -> set_due(LATER)
                :: else -> skip
                fi }
        :: else -> d_step {
            if
            :: (key_ok[me] || !HAS(FORGET_AS_SEEN)) && s_exists -> s_exists = 0; s_empty = 0; s_old = 0; set_due(NONE)
            :: else -> skip
            fi }
        fi;
        atomic { ends() };
done:   skip; d_step { free = 0; found = 0; was_empty = 0; was_old = 0; has_lane = 0; seen = 0; tries = 0 }
    od
}

/* The job that has the seat ends; its handler starts a poller, or makes the scope due where none can be started. */
proctype Ender(byte me) {
    bool seen;
    byte tries;
    do
    :: atomic { seat -> busy[me] = 1; seat = 0 };
        if
        :: atomic { MAY_CRASH -> crash() }; goto next
        :: true
        fi;
        d_step { seen = LOOKED_AT };
        if
        :: seen ->
            if
            :: wakes++
            :: crashes < CRASHES -> atomic { crashes++; trouble = 1 } /* the start is lost */
            :: nudge()
            fi
        :: else -> skip
        fi;
        atomic { ends() };
next:   skip; d_step { seen = 0; tries = 0 }
    od
}

/* The index catches up; a minute passes, and by then it has. */
proctype Time() {
    do
    :: d_step { shown < held -> shown = held }
    :: d_step { minutes < MINUTES -> minutes++; shown = held;
        e_old = e_empty; s_old = s_empty;
        remembers[0] = 0; remembers[1] = 0;
        stalled[0] = is_holding[0]; stalled[1] = is_holding[1] }
    od
}

init {
    atomic {
#ifdef CHOSEN
        c_code { now.WITHOUT = getenv("WITHOUT") ? atoi(getenv("WITHOUT")) : 0; };
#endif
        run Joiner(0); run Joiner(1); run Visitor(2); run Ender(4); run Time();
#if VISITORS > 1
        run Visitor(3)
#endif
    }
}
