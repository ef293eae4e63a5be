/* What must hold, always. The first that does not is kept in `broken`. */
#define FENCED   1 /* no write is accepted from a lease that was lost */
#define LIVE     2 /* nobody takes a lease that has not expired, and none comes back to life */
#define ALONE    3 /* two handlers overlap only after a lease expired under a living one */
#define ONCE     4 /* a job is completed at most once */
#define ABSORB   5 /* an end state is never left or written over */
#define LETTER   6 /* a dead job has one dead letter, and no other job has any */
#define ATTEMPTS 7 /* no job is started more often than it may be */
#define HONEST   8 /* a run is recorded of each start that ended, and of nothing else */
#define CANCEL   9 /* a requested cancel wins over every way back, and nobody is cancelled unasked */
#define PUNCTUAL 10 /* no first start after start_by, and no job expires otherwise */
#define TOLD     11 /* a writer whose write stands is told so, though the first response was lost */
#define DUE      12 /* no job is claimed before the time that it waits for */

#define REQUIRE(property, condition) if :: !(condition) && broken == 0 -> broken = property :: else fi
