/* Repartition between iterations: repartition.py and the saved states of balance.py, in C99; see balance.h.
 *
 * Every sum and product stands as it does there, in double; a contracted one (fma) would round once where Python rounds
 * twice. The pragma says so; gcc ignores it outside -std=c99, so compile with -ffp-contract=off. On processors that
 * compute doubles in longer registers (32-bit x86 without SSE2) bits may differ.
 */
#include "balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif

#define LARGEST 1000000000000LL /* units */
#define MOST_PROCESSES 100000
#define MOST_POINTS 100000000LL

enum { WIDTH = 16, AFTER = 6 };
enum { COUNT, CHANGES, LAST, NOISE, WAITED, NOMINAL, FORECAST, DOUBT, LEVELS, ERRORS = 12 };
enum { MODE, PERIOD, LIMIT, FIXED_S, MESSAGE_S, UNIT_S, CONTIGUOUS, LEAST, PATIENCE_S, CALLS, CAUTION, RULE };
enum { STAY = 0, MOVE = 1, FORCED = 2, NOBODY = -1, NO_ROOM = -2, NO_TIME = -3 };

static const double GAINS[4] = {0.0, 0.0625, 0.25, 1.0};
static const double MEMORY = 0.015625, NOISE_CALLS = 32.0, FIRST_NOISE = 0.1;
static const double CHANGE = 4.0, LEAST_CHANGE = 0.05, MOST_STEP = 3.0;
static const double STEP_TO_DEVIATION = 0.886226925452758, BAND_TO_DEVIATION = 0.6079568319117691;
static const double ONE_SIDED = 1.6448536269514722, TWICE_LN_2 = 1.3862943611198906;
static const double NO_ANSWER = 1e300, LEAST_TIME_S = 1e-12, MOST_TIME_S = 1e12;
static const double LEAST_SPEED = 1e-30, MOST_SPEED = 1e30;
enum { MOST_STEPS = 100 };

struct apportion_balance {
    int64_t processes, points;
    double rule[RULE];
    double caution; /* as it was given */
    double *sizes, *speeds, *widths, *memory, *before, *times, *shares;
    int64_t *first, *most, *most_before, *units, *found;
};
typedef struct apportion_balance book;

/* Curves */

static double curve_at(double units, int64_t begins, int64_t ends, const double *sizes, const double *values)
{
    int64_t at = begins;
    if (units <= sizes[begins]) return values[begins];
    if (units >= sizes[ends - 1]) return values[ends - 1];
    while (sizes[at + 1] <= units) at++;
    return values[at] + (values[at + 1] - values[at]) * ((units - sizes[at]) / (sizes[at + 1] - sizes[at]));
}

static double units_within(double seconds, int64_t begins, int64_t ends, const double *sizes, const double *speeds)
{
    int64_t at = begins;
    double slope;
    if (seconds * speeds[ends - 1] >= sizes[ends - 1]) return seconds * speeds[ends - 1];
    while (seconds * speeds[at + 1] >= sizes[at + 1]) at++;
    slope = (speeds[at + 1] - speeds[at]) / (sizes[at + 1] - sizes[at]);
    return seconds * (speeds[at] - slope * sizes[at]) / (1.0 - seconds * slope);
}

static double nominal_of(const book *b, int64_t p, int64_t units)
{
    if (b->first[p + 1] == b->first[p] + 1) return (double)units / b->speeds[b->first[p]];
    return (double)units / curve_at((double)units, b->first[p], b->first[p + 1], b->sizes, b->speeds);
}

static double end_of(const book *b, int64_t p, int64_t units)
{
    return nominal_of(b, p, units) * b->memory[p * WIDTH + FORECAST];
}

/* What is learnt */

static void learn(double *m, double seconds)
{
    double value = seconds / m[NOMINAL], count = m[COUNT] + 1.0, weight = 1.0 / count;
    double step, noise, calls, past, level, off, error, gain, least = 0.0;
    int k, best = 0;
    if (count > 1.0) {
        step = value - m[LAST];
        if (step < 0.0) step = -step;
        noise = m[NOISE];
        if (step > CHANGE * noise && step > LEAST_CHANGE * m[LAST]) m[CHANGES] += 1.0;
        if (step > MOST_STEP * noise) step = MOST_STEP * noise;
        calls = count < NOISE_CALLS ? count : NOISE_CALLS;
        m[NOISE] = noise + (step - noise) / calls;
        past = 1.0 / (count - 1.0);
        if (past < MEMORY) past = MEMORY;
    } else {
        m[NOISE] = FIRST_NOISE * value;
        past = 0.0;
    }
    for (k = 0; k < 4; k++) {
        level = m[LEVELS + k];
        off = value - level;
        error = m[ERRORS + k];
        error = error + past * (off * off - error);
        m[ERRORS + k] = error;
        gain = GAINS[k];
        if (gain < weight) gain = weight;
        m[LEVELS + k] = level + gain * off;
        if (k == 0 || error < least) {
            best = k;
            least = error;
        }
    }
    gain = GAINS[best];
    if (gain < weight) gain = weight;
    m[COUNT] = count;
    m[LAST] = value;
    m[FORECAST] = m[LEVELS + best];
    m[DOUBT] = STEP_TO_DEVIATION * m[NOISE] * sqrt(gain / (2.0 - gain));
}

static int64_t hear(book *b)
{
    double slowest = 0.0, back;
    int64_t p, waiting = 0;
    for (p = 0; p < b->processes; p++)
        if (b->most[p] > 0 && slowest < b->times[p] && b->times[p] < NO_ANSWER) slowest = b->times[p];
    for (p = 0; p < b->processes; p++) {
        double *m = b->memory + p * WIDTH;
        if (b->most[p] == 0) continue;
        if (b->times[p] >= NO_ANSWER) {
            m[WAITED] += slowest;
            if (m[WAITED] > b->rule[PATIENCE_S]) b->most[p] = 0;
            else waiting++;
            continue;
        }
        m[WAITED] = 0.0;
        if (b->units[p] > 0) {
            learn(m, b->times[p]);
        } else if (m[COUNT] > 0.0) {
            back = (m[CHANGES] + 1.0) / (m[COUNT] + 1.0);
            m[FORECAST] += back * (m[LEVELS] - m[FORECAST]);
        }
    }
    return waiting;
}

static int stand(const book *b, int64_t waiting)
{
    int64_t p, total = 0, room = 0, active = 0;
    int standing = 0;
    for (p = 0; p < b->processes; p++) {
        total += b->units[p];
        room += b->most[p];
        if (b->most[p] > 0) active++;
        else if (b->units[p] > 0) standing = FORCED;
    }
    if (active == waiting) return NOBODY;
    return room < total ? NO_ROOM : standing;
}

static int is_due(book *b)
{
    double *m = b->memory + b->processes * WIDTH, longest = 0.0, total = 0.0, count = 0.0;
    int64_t p;
    m[1] += 1.0;
    if (m[1] < b->rule[PERIOD]) return 0;
    m[1] = 0.0;
    if (b->rule[MODE] != APPORTION_THRESHOLD) return 1;
    for (p = 0; p < b->processes; p++) {
        if (b->most[p] > 0 && b->units[p] > 0) {
            total += b->times[p];
            count += 1.0;
            if (b->times[p] > longest) longest = b->times[p];
        }
    }
    return longest / (total / count) - 1.0 > b->rule[LIMIT];
}

static void suppose(book *b)
{
    double known = 0.0, total = 0.0;
    int64_t p;
    for (p = 0; p < b->processes; p++) {
        if (b->memory[p * WIDTH + COUNT] > 0.0 && b->most[p] > 0) {
            known += 1.0;
            total += b->memory[p * WIDTH + FORECAST];
        }
    }
    if (!(known > 0.0)) return;
    for (p = 0; p < b->processes; p++) {
        if (b->memory[p * WIDTH + COUNT] == 0.0) {
            b->memory[p * WIDTH + FORECAST] = total / known;
            b->memory[p * WIDTH + DOUBT] = FIRST_NOISE * (total / known);
        }
    }
}

/* New units */

static double fill(book *b, double seconds)
{
    double total = 0.0, own, share, least = b->rule[LEAST];
    int64_t p, begins;
    for (p = 0; p < b->processes; p++) {
        begins = b->first[p];
        own = seconds / b->memory[p * WIDTH + FORECAST];
        share = own * b->speeds[begins];
        if (share > b->sizes[begins] && b->first[p + 1] > begins + 1)
            share = units_within(own, begins, b->first[p + 1], b->sizes, b->speeds);
        if (share > (double)b->most[p]) share = (double)b->most[p];
        else if (share < least) share = least;
        b->shares[p] = share;
        total += share;
    }
    return total;
}

static void turn(book *b, double wanted, double slack, double guess_s)
{
    double low = 0.0, low_off = -wanted, high = guess_s, middle;
    double high_off = fill(b, high) - wanted, off = high_off;
    int steps = 0, side = 0;
    while (high_off < -slack && steps < MOST_STEPS) {
        low = high;
        low_off = high_off;
        high = steps < 8 && wanted + high_off > 0.0 ? high * (wanted / (wanted + high_off)) : high * 2.0;
        off = high_off = fill(b, high) - wanted;
        steps++;
    }
    steps = 0;
    while ((off > slack || off < -slack) && steps < MOST_STEPS) {
        middle = low - low_off * ((high - low) / (high_off - low_off));
        if (steps % 4 == 3 || !(low < middle && middle < high)) middle = 0.5 * (low + high);
        off = fill(b, middle) - wanted;
        if (off < 0.0) {
            low = middle;
            low_off = off;
            if (side < 0) high_off = 0.5 * high_off;
            side = -1;
        } else {
            high = middle;
            high_off = off;
            if (side > 0) low_off = 0.5 * low_off;
            side = 1;
        }
        steps++;
    }
}

static void divide(book *b, int64_t total, double guess_s)
{
    double room = 0.0, active = 0.0, wanted, ends;
    int64_t p, best, left = total, least = (int64_t)b->rule[LEAST];
    for (p = 0; p < b->processes; p++) {
        room += (double)b->most[p];
        if (b->most[p] > 0) active += 1.0;
    }
    wanted = (double)total + 0.5 * active;
    if (wanted > room) wanted = room;
    turn(b, wanted, 0.5 + active / 64.0, guess_s * (wanted / (double)total));
    for (p = 0; p < b->processes; p++) {
        b->found[p] = (int64_t)b->shares[p];
        left -= b->found[p];
    }
    for (p = 0; p < b->processes; p++) b->shares[p] = end_of(b, p, left > 0 ? b->found[p] + 1 : b->found[p]);
    for (; left > 0; left--) {
        best = -1;
        ends = 0.0;
        for (p = 0; p < b->processes; p++) {
            if (b->found[p] < b->most[p] && (best < 0 || b->shares[p] < ends)) {
                best = p;
                ends = b->shares[p];
            }
        }
        b->found[best]++;
        b->shares[best] = end_of(b, best, b->found[best] + 1);
    }
    for (; left < 0; left++) {
        best = -1;
        ends = 0.0;
        for (p = 0; p < b->processes; p++) {
            if (b->found[p] > least && (best < 0 || b->shares[p] >= ends)) {
                best = p;
                ends = b->shares[p];
            }
        }
        b->found[best]--;
        b->shares[best] = end_of(b, best, b->found[best]);
    }
}

static void settle(book *b)
{
    int64_t p;
    for (p = 0; p < b->processes; p++)
        if (b->found[p] > 0) b->memory[p * WIDTH + NOMINAL] = nominal_of(b, p, b->found[p]);
}

static double cost_of(const book *b)
{
    double worst = 0.0, messages, seconds;
    int64_t p, before, across = 0, moved;
    for (p = 0; p < b->processes; p++) {
        before = b->rule[CONTIGUOUS] > 0.0 ? across : 0;
        across = before + (b->found[p] - b->units[p]);
        moved = 0;
        messages = 0.0;
        if (before != 0) {
            moved += before > 0 ? before : -before;
            messages += 1.0;
        }
        if (across != 0) {
            moved += across > 0 ? across : -across;
            messages += 1.0;
        }
        seconds = b->rule[MESSAGE_S] * messages + b->rule[UNIT_S] * (double)moved;
        if (seconds > worst) worst = seconds;
    }
    return b->rule[FIXED_S] + worst;
}

static int pays(book *b)
{
    double now_s = 0.0, doubt_s = 0.0, new_s = 0.0, new_doubt_s = 0.0, lasting, left;
    double *after = b->memory + b->processes * WIDTH;
    const double *slowest = b->memory;
    int64_t p;
    for (p = 0; p < b->processes; p++) {
        const double *m = b->memory + p * WIDTH;
        double seconds = m[NOMINAL] * m[FORECAST], nominal, own_s;
        int single = b->first[p + 1] == b->first[p] + 1;
        if (b->units[p] > 0 && seconds > now_s) {
            now_s = seconds;
            doubt_s = m[NOMINAL] * m[DOUBT];
            slowest = m;
        }
        nominal = nominal_of(b, p, b->found[p]);
        seconds = nominal * m[FORECAST];
        if (seconds > new_s) new_s = seconds;
        own_s = nominal * m[DOUBT];
        if (b->found[p] != b->units[p] && !(single && b->widths[b->first[p]] == 0.0)) {
            double width = curve_at((double)b->found[p], b->first[p], b->first[p + 1], b->sizes, b->widths), form_s;
            int64_t more = b->found[p], fewer = b->units[p];
            if (more < fewer) {
                more = b->units[p];
                fewer = b->found[p];
            }
            form_s = seconds * width * BAND_TO_DEVIATION * ((double)(more - fewer) / (double)more);
            own_s = sqrt(own_s * own_s + form_s * form_s);
        }
        if (own_s > new_doubt_s) new_doubt_s = own_s;
    }
    lasting = (slowest[COUNT] + 1.0) / (slowest[CHANGES] + 1.0);
    left = b->rule[CALLS] - after[0];
    if (b->rule[CALLS] > 0.0 && left < lasting) lasting = left;
    after[2] = now_s - new_s;
    after[3] = b->rule[CAUTION] * sqrt(doubt_s * doubt_s + new_doubt_s * new_doubt_s);
    after[4] = lasting;
    after[5] = cost_of(b);
    return (after[2] - after[3]) * lasting > after[5];
}

static int decide_units(book *b)
{
    int64_t p, waiting, total = 0;
    int standing, moved = 0, gains;
    double rate = 0.0;
    b->memory[b->processes * WIDTH] += 1.0;
    waiting = hear(b);
    standing = stand(b, waiting);
    if (standing < 0) return standing;
    if (waiting > 0 || (standing != FORCED && !is_due(b))) return STAY;
    suppose(b);
    for (p = 0; p < b->processes; p++) {
        total += b->units[p];
        if (b->units[p] > 0 && b->most[p] > 0)
            rate += (double)b->units[p] / (b->memory[p * WIDTH + NOMINAL] * b->memory[p * WIDTH + FORECAST]);
    }
    divide(b, total, rate > 0.0 ? (double)total / rate : 1.0);
    for (p = 0; p < b->processes; p++)
        if (b->found[p] != b->units[p]) moved = 1;
    if (!moved) return STAY;
    gains = pays(b);
    if (standing != FORCED && b->rule[MODE] == APPORTION_GAIN && !gains) return STAY;
    settle(b);
    return MOVE;
}

/* What users call */

static void note_caution(book *b)
{
    int64_t doublings = 0;
    b->rule[CAUTION] = b->caution;
    if (b->caution != 0.0) return;
    while (((int64_t)1 << doublings) < b->processes) doublings++;
    b->rule[CAUTION] = sqrt(ONE_SIDED * ONE_SIDED + TWICE_LN_2 * (double)doublings);
}

static int within(double value, double least, double most)
{
    return value >= least && value <= most; /* false for what is no number */
}

static int is_rule(const double *r, double caution)
{
    double whole[5];
    int k;
    whole[0] = r[MODE], whole[1] = r[PERIOD], whole[2] = r[CONTIGUOUS], whole[3] = r[LEAST], whole[4] = r[CALLS];
    if (!within(r[MODE], 0.0, 2.0) || !within(r[PERIOD], 1.0, 1e9) || !within(r[CONTIGUOUS], 0.0, 1.0)) return 0;
    if (!within(r[LEAST], 0.0, 1e12) || !within(r[CALLS], 0.0, 1e12) || !within(caution, 0.0, MOST_TIME_S)) return 0;
    for (k = 0; k < 5; k++)
        if (whole[k] != (double)(int64_t)whole[k]) return 0;
    return within(r[LIMIT], 0.0, MOST_TIME_S) && within(r[FIXED_S], 0.0, MOST_TIME_S) &&
           within(r[MESSAGE_S], 0.0, MOST_TIME_S) && within(r[UNIT_S], 0.0, MOST_TIME_S) &&
           within(r[PATIENCE_S], 0.0, MOST_TIME_S);
}

static book *with_room(int64_t processes, int64_t points)
{
    size_t p = (size_t)processes, k = (size_t)points;
    book *b = calloc(1, sizeof *b);
    double *d;
    int64_t *i;
    if (b == NULL) return NULL;
    d = calloc(3 * k + 2 * (p * WIDTH + AFTER) + 2 * p, sizeof *d);
    i = calloc(5 * p + 1, sizeof *i);
    b->sizes = d;
    b->first = i;
    if (d == NULL || i == NULL) {
        apportion_end(b);
        return NULL;
    }
    b->processes = processes;
    b->points = points;
    b->speeds = d + k;
    b->widths = d + 2 * k;
    b->memory = d + 3 * k;
    b->before = b->memory + p * WIDTH + AFTER;
    b->times = b->before + p * WIDTH + AFTER;
    b->shares = b->times + p;
    b->most = i + p + 1;
    b->most_before = b->most + p;
    b->units = b->most_before + p;
    b->found = b->units + p;
    return b;
}

apportion_rule apportion_usual_rule(void)
{
    apportion_rule rule = {APPORTION_GAIN, 1, 0.1, 0.0, 0.0, 0.0, 1, 1, 0.0, 0, 0.0};
    return rule;
}

apportion_balance *apportion_begin(int64_t units, int64_t processes, const double *speeds, const int64_t *most,
                                   const apportion_rule *rule)
{
    int64_t p, room = 0, least = rule->least > 1 ? rule->least : 1;
    book *b;
    if (processes < 1 || processes > MOST_PROCESSES || units < 1 || units > LARGEST) return NULL;
    b = with_room(processes, processes);
    if (b == NULL) return NULL;
    b->rule[MODE] = rule->when;
    b->rule[PERIOD] = (double)rule->every;
    b->rule[LIMIT] = rule->threshold;
    b->rule[FIXED_S] = rule->fixed_s;
    b->rule[MESSAGE_S] = rule->message_s;
    b->rule[UNIT_S] = rule->unit_s;
    b->rule[CONTIGUOUS] = rule->contiguous;
    b->rule[LEAST] = (double)rule->least;
    b->rule[PATIENCE_S] = rule->patience_s;
    b->rule[CALLS] = (double)rule->calls;
    b->caution = rule->caution;
    note_caution(b);
    for (p = 0; p < processes; p++) {
        b->first[p + 1] = p + 1;
        b->speeds[p] = speeds == NULL ? 1.0 : speeds[p];
        b->most[p] = most == NULL ? units : most[p];
        b->memory[p * WIDTH + FORECAST] = 1.0;
        b->memory[p * WIDTH + NOMINAL] = 1.0;
        if (!within(b->speeds[p], LEAST_SPEED, MOST_SPEED) || b->most[p] < least || b->most[p] > LARGEST) {
            apportion_end(b);
            return NULL;
        }
        b->speeds[p] = 0.5 * (b->speeds[p] + b->speeds[p]);
        room += b->most[p];
    }
    if (!is_rule(b->rule, b->caution) || rule->least > units / processes || room < units) {
        apportion_end(b);
        return NULL;
    }
    divide(b, units, 1.0);
    settle(b);
    memcpy(b->units, b->found, (size_t)processes * sizeof *b->units);
    return b;
}

int apportion_update(apportion_balance *b, const double *times)
{
    size_t memory = ((size_t)b->processes * WIDTH + AFTER) * sizeof *b->memory;
    size_t whole = (size_t)b->processes * sizeof *b->most;
    int64_t p;
    int found;
    for (p = 0; p < b->processes; p++) {
        if (b->most[p] == 0 || times[p] == INFINITY) b->times[p] = INFINITY;
        else if (times[p] != times[p]) return NO_TIME;
        else if (b->units[p] == 0) b->times[p] = 0.0;
        else if (!within(times[p], LEAST_TIME_S, MOST_TIME_S)) return NO_TIME;
        else b->times[p] = times[p];
    }
    memcpy(b->before, b->memory, memory);
    memcpy(b->most_before, b->most, whole);
    found = decide_units(b);
    if (found < 0) {
        memcpy(b->memory, b->before, memory);
        memcpy(b->most, b->most_before, whole);
    }
    if (found == MOVE) memcpy(b->units, b->found, whole);
    return found;
}

const int64_t *apportion_units(const apportion_balance *b) { return b->units; }

int64_t apportion_processes(const apportion_balance *b) { return b->processes; }

int apportion_left_out(const apportion_balance *b, int64_t process) { return b->most[process] == 0; }

apportion_outlook apportion_last_outlook(const apportion_balance *b)
{
    const double *after = b->memory + b->processes * WIDTH;
    apportion_outlook outlook;
    outlook.gain_s = after[2];
    outlook.doubt_s = after[3];
    outlook.lasting_calls = after[4];
    outlook.cost_s = after[5];
    return outlook;
}

void apportion_end(apportion_balance *b)
{
    if (b == NULL) return;
    free(b->sizes);
    free(b->first);
    free(b);
}

const char *apportion_fault(int code)
{
    if (code == NOBODY) return "times: no process answered; give at least one time";
    if (code == NO_ROOM) return "times: the processes that still answer cannot hold all units; raise most, or end the run";
    if (code == NO_TIME) return "times: one is no time; give the seconds that each process computed, above 0";
    return "";
}

/* States as text: one line of JSON. Doubles are written in hexadecimal by their bits, as locales do not change that. */

typedef struct {
    char *text;
    size_t room, length;
} writer;

static void put(writer *w, const char *text)
{
    for (; *text != '\0'; text++, w->length++)
        if (w->length + 1 < w->room) w->text[w->length] = *text;
}

static void put_whole(writer *w, int64_t value)
{
    char digits[24];
    int at = 23;
    uint64_t rest = value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) digits[--at] = '-';
    put(w, digits + at);
}

static void put_double(writer *w, double value)
{
    static const char *hex = "0123456789abcdef";
    uint64_t bits, fraction;
    int64_t power;
    char digits[14];
    int k;
    memcpy(&bits, &value, sizeof bits);
    fraction = bits & 0xfffffffffffffULL;
    power = (int64_t)((bits >> 52) & 0x7ff);
    if (bits >> 63) put(w, "-");
    if (power == 0 && fraction == 0) {
        put(w, "0x0.0p+0");
        return;
    }
    for (k = 0; k < 13; k++) digits[k] = hex[(fraction >> (4 * (12 - k))) & 15];
    digits[13] = '\0';
    put(w, power > 0 ? "0x1." : "0x0.");
    put(w, digits);
    power = power > 0 ? power - 1023 : -1022;
    put(w, power < 0 ? "p" : "p+");
    put_whole(w, power);
}

static void put_wholes(writer *w, const char *name, const int64_t *values, int64_t count)
{
    int64_t k;
    put(w, ", \"");
    put(w, name);
    put(w, "\": \"");
    for (k = 0; k < count; k++) {
        if (k > 0) put(w, " ");
        put_whole(w, values[k]);
    }
    put(w, "\"");
}

static void put_doubles(writer *w, const char *name, const double *values, int64_t count)
{
    int64_t k;
    put(w, ", \"");
    put(w, name);
    put(w, "\": \"");
    for (k = 0; k < count; k++) {
        if (k > 0) put(w, " ");
        put_double(w, values[k]);
    }
    put(w, "\"");
}

size_t apportion_save(const apportion_balance *b, char *text, size_t room)
{
    writer w;
    double rule[RULE];
    w.text = text, w.room = room, w.length = 0;
    memcpy(rule, b->rule, sizeof rule);
    rule[CAUTION] = b->caution;
    put(&w, "{\"apportion_balance\": 1, \"processes\": ");
    put_whole(&w, b->processes);
    put_doubles(&w, "rule", rule, RULE);
    put_wholes(&w, "first", b->first, b->processes + 1);
    put_doubles(&w, "sizes", b->sizes, b->points);
    put_doubles(&w, "speeds", b->speeds, b->points);
    put_doubles(&w, "widths", b->widths, b->points);
    put_wholes(&w, "most", b->most, b->processes);
    put_wholes(&w, "units", b->units, b->processes);
    put_doubles(&w, "memory", b->memory, b->processes * WIDTH + AFTER);
    put(&w, "}");
    if (room > 0) text[w.length < room ? w.length : room - 1] = '\0';
    return w.length;
}

static const char *after_blanks(const char *t)
{
    while (*t == ' ' || *t == '\t' || *t == '\n' || *t == '\r') t++;
    return t;
}

/* Each reader returns where it stopped, or NULL. */

static const char *take(const char *t, const char *word)
{
    size_t length = strlen(word);
    if (t == NULL) return NULL;
    t = after_blanks(t);
    return strncmp(t, word, length) == 0 ? t + length : NULL;
}

static const char *take_name(const char *t, const char *name)
{
    t = take(take(take(t, "\""), name), "\"");
    return take(t, ":");
}

static const char *take_whole(const char *t, int64_t *value)
{
    int64_t found = 0;
    int minus;
    if (t == NULL) return NULL;
    t = after_blanks(t);
    minus = *t == '-';
    if (minus) t++;
    if (*t < '0' || *t > '9') return NULL;
    for (; *t >= '0' && *t <= '9'; t++) {
        if (found > INT64_MAX / 20) return NULL;
        found = 10 * found + (*t - '0');
    }
    *value = minus ? -found : found;
    return t;
}

static const char *take_double(const char *t, double *value)
{
    uint64_t bits, fraction = 0;
    int64_t power;
    int k, whole, minus;
    if (t == NULL) return NULL;
    t = after_blanks(t);
    minus = *t == '-';
    if (minus) t++;
    if (strncmp(t, "0x0.0p+0", 8) == 0) {
        *value = minus ? -0.0 : 0.0;
        return t + 8;
    }
    if (strncmp(t, "0x", 2) != 0 || (t[2] != '0' && t[2] != '1') || t[3] != '.') return NULL;
    whole = t[2] == '1';
    t += 4;
    for (k = 0; k < 13; k++, t++) {
        if (*t >= '0' && *t <= '9') fraction = 16 * fraction + (uint64_t)(*t - '0');
        else if (*t >= 'a' && *t <= 'f') fraction = 16 * fraction + (uint64_t)(*t - 'a' + 10);
        else return NULL;
    }
    if (*t++ != 'p') return NULL;
    if (*t == '+') t++;
    t = take_whole(t, &power);
    if (t == NULL || power < -1022 || power > 1023) return NULL;
    bits = fraction | ((uint64_t)(whole ? power + 1023 : 0) << 52) | ((uint64_t)minus << 63);
    memcpy(value, &bits, sizeof bits);
    return t;
}

static const char *take_wholes(const char *t, const char *name, int64_t *values, int64_t count)
{
    int64_t k;
    t = take(take_name(take(t, ","), name), "\"");
    for (k = 0; k < count && t != NULL; k++) t = take_whole(t, values + k);
    return take(t, "\"");
}

static const char *take_doubles(const char *t, const char *name, double *values, int64_t count)
{
    int64_t k;
    t = take(take_name(take(t, ","), name), "\"");
    for (k = 0; k < count && t != NULL; k++) t = take_double(t, values + k);
    return take(t, "\"");
}

static int is_curve(const book *b, int64_t begins, int64_t ends)
{
    int64_t k;
    if (b->sizes[begins] < 0.0) return 0;
    for (k = begins; k < ends; k++) {
        if (!within(b->speeds[k], LEAST_SPEED, MOST_SPEED) || !(b->widths[k] >= 0.0 && b->widths[k] < 1.0)) return 0;
        if (k > begins && !(b->sizes[k - 1] < b->sizes[k])) return 0;
        if (k > begins && !(b->sizes[k - 1] / b->speeds[k - 1] < b->sizes[k] / b->speeds[k])) return 0;
    }
    return 1;
}

static int is_sound(const book *b)
{
    int64_t p, total = 0, active = 0, least;
    if (!is_rule(b->rule, b->caution) || b->first[0] != 0 || b->first[b->processes] != b->points) return 0;
    least = (int64_t)b->rule[LEAST];
    for (p = 0; p < b->processes; p++) {
        const double *m = b->memory + p * WIDTH;
        if (b->first[p] >= b->first[p + 1] || b->first[p + 1] > b->points) return 0;
        if (!is_curve(b, b->first[p], b->first[p + 1])) return 0;
        if (b->units[p] < 0 || b->units[p] > LARGEST || b->most[p] < 0 || b->most[p] > LARGEST) return 0;
        if (b->most[p] > 0 && b->most[p] < least) return 0;
        if (!(m[NOMINAL] > 0.0 && m[FORECAST] > 0.0 && m[COUNT] >= 0.0 && m[CHANGES] >= 0.0)) return 0;
        total += b->units[p];
        active += b->most[p] > 0;
    }
    return total >= 1 && total <= LARGEST && total >= least * active;
}

static int64_t points_of(const char *t, int64_t processes)
{
    int64_t k, points = 0;
    t = take(take_name(take(t, ","), "first"), "\"");
    for (k = 0; k <= processes && t != NULL; k++) t = take_whole(t, &points);
    return t != NULL && points >= processes && points <= MOST_POINTS ? points : 0;
}

apportion_balance *apportion_restore(const char *text)
{
    int64_t format = 0, processes = 0, points;
    double rule[RULE];
    const char *t = take_whole(take_name(take(text, "{"), "apportion_balance"), &format);
    book *b;
    t = take_whole(take_name(take(t, ","), "processes"), &processes);
    if (t == NULL || format != 1 || processes < 1 || processes > MOST_PROCESSES) return NULL;
    t = take_doubles(t, "rule", rule, RULE);
    points = t == NULL ? 0 : points_of(t, processes);
    b = points == 0 ? NULL : with_room(processes, points);
    if (b == NULL) return NULL;
    memcpy(b->rule, rule, sizeof rule);
    b->caution = rule[CAUTION];
    t = take_wholes(t, "first", b->first, processes + 1);
    t = take_doubles(t, "sizes", b->sizes, points);
    t = take_doubles(t, "speeds", b->speeds, points);
    t = take_doubles(t, "widths", b->widths, points);
    t = take_wholes(t, "most", b->most, processes);
    t = take_wholes(t, "units", b->units, processes);
    t = take(take_doubles(t, "memory", b->memory, processes * WIDTH + AFTER), "}");
    if (t == NULL || *after_blanks(t) != '\0' || !is_sound(b)) {
        apportion_end(b);
        return NULL;
    }
    note_caution(b);
    return b;
}
