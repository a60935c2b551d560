/* Repartition between iterations, for C programs: from each process's seconds so far, new units or stay.
 *
 * Compile balance.c with your program and link libm; on compilers that contract products and sums, add
 * -ffp-contract=off, so that it decides bit for bit as apportion.balance in Python does (gcc: also with -std=c99).
 *
 *     apportion_rule rule = apportion_usual_rule();
 *     apportion_balance *b = apportion_begin(1000, 4, NULL, NULL, &rule);
 *     for (each iteration) {
 *         compute apportion_units(b)[rank] units; gather all processes' seconds into times;
 *         if (apportion_update(b, times) == 1) move to apportion_units(b);
 *     }
 *     apportion_end(b);
 *
 * What each number means stands with the same names in balance.py; how it is decided, in repartition.py.
 */
#ifndef APPORTION_BALANCE_H
#define APPORTION_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { APPORTION_EVERY = 0, APPORTION_THRESHOLD = 1, APPORTION_GAIN = 2 };

typedef struct {
    int when;          /* APPORTION_GAIN, APPORTION_THRESHOLD or APPORTION_EVERY */
    int64_t every;     /* calls from one decision to the next */
    double threshold;  /* longest time over the mean one, minus 1 */
    double fixed_s;    /* seconds of any move, of a message, and of a unit sent or received */
    double message_s;
    double unit_s;
    int contiguous;    /* 1: neighbouring units in the order of processes; 0: any units */
    int64_t least;     /* units that each process keeps */
    double patience_s; /* without an answer for longer: left out */
    int64_t calls;     /* that there will be; 0: not known */
    double caution;    /* standard deviations that a gain is ahead of its doubt by; 0: by the number of processes */
} apportion_rule;

typedef struct {
    double gain_s, doubt_s, lasting_calls, cost_s;
} apportion_outlook;

typedef struct apportion_balance apportion_balance;

/* The rule that is usual: by the gain, moving costs nothing, contiguous, at least one unit each. */
apportion_rule apportion_usual_rule(void);

/* The state before the first call; NULL if memory is short or a number cannot be used. `speeds` and `most` (units that
 * fit each process) have one number per process or are NULL. States with bands come from Python: apportion_restore. */
apportion_balance *apportion_begin(int64_t units, int64_t processes, const double *speeds, const int64_t *most,
                                   const apportion_rule *rule);

/* Each process's seconds since the last call, INFINITY where it did not answer: 1 if there are new units, 0 to stay;
 * -1 if no process answered, -2 if those left cannot hold all units, -3 if a time is none. Below 0 nothing changed. */
int apportion_update(apportion_balance *balance, const double *times);

/* Each process's units; valid until the next call. */
const int64_t *apportion_units(const apportion_balance *balance);
int64_t apportion_processes(const apportion_balance *balance);

/* Whether a process never answered and was left out. */
int apportion_left_out(const apportion_balance *balance, int64_t process);

/* What the last decision weighed. */
apportion_outlook apportion_last_outlook(const apportion_balance *balance);

/* The state as text, which Python restores too; returns its length without the final zero, however small the room. */
size_t apportion_save(const apportion_balance *balance, char *text, size_t room);

/* From such a text, of C or Python; NULL if it is none or memory is short. */
apportion_balance *apportion_restore(const char *text);

void apportion_end(apportion_balance *balance);

/* What a code below 0 means, in a sentence. */
const char *apportion_fault(int code);

#ifdef __cplusplus
}
#endif

#endif
