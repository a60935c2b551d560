/* Recorder of MPI calls, preloaded into the ranks of a program; `shim.py` adds a wrapper for each function of mpi.h.

   Wrappers have the names PMPI_* and MPI_*: bindings of Fortran and Python that call either are seen. Calls inside of
   calls are the library's own and are not recorded. A rank writes $APPORTION_MPI/rank-N: rows, then lines of text, then
   where those begin and ENDED; without that end the file is cut off. Read by `rank_file.py`. */

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#define PUBLIC __attribute__((visibility("default")))
#define CAPACITY 16384
#define BUCKETS 4096
#define PROBES 2001
#define LONGEST 65536 /* of what a library says of itself, if it is another one than this was compiled for */
#define ENDED 0x31444e4552505041ULL
/* A shorter stretch after a test that failed is polling; a longer one is work that was done meanwhile. */
#define POLLING_NS 20000

enum { SEND = 2, RECV, EXCHANGE, POST_SEND, POST_RECV, WAIT, BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, GATHER,
       SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV, REDUCE_SCATTER, PARTS = 100, PCONTROL, END };
enum { FIRST = 1, WILDCARD = 2, CHOSEN = 4, LEFT = 8 };
enum { STANDARD, SYNCHRONOUS, BUFFERED };
enum { WRITE_FAILED = -2, OF_LANGUAGE = 1, OF_PYTHON = 2 };

typedef struct {
    uint8_t kind, mode;
    uint16_t flags;
    int32_t partner, source, tag, comm, site;
    int64_t amount, cpu_ns;
} Row;

/* Tables by handle: of equal ones the oldest first, since MPICH gives all sends that are done at once the same. */

typedef struct Node { uint64_t key; int64_t value; struct Node *next; } Node;
typedef struct { Node *first[BUCKETS], *last[BUCKETS]; } Map;

static unsigned bucket(uint64_t key) { return (unsigned)((key * 0x9E3779B97F4A7C15ULL) >> 52); }

static void put(Map *map, uint64_t key, int64_t value)
{
    unsigned at = bucket(key);
    Node *node = malloc(sizeof *node);
    *node = (Node){key, value, NULL};
    if (map->last[at]) map->last[at]->next = node; else map->first[at] = node;
    map->last[at] = node;
}

static Node *found(Map *map, uint64_t key, Node **before)
{
    Node *node = map->first[bucket(key)];
    for (*before = NULL; node && node->key != key; node = node->next) *before = node;
    return node;
}

static int64_t look(Map *map, uint64_t key)
{
    Node *before, *node = found(map, key, &before);
    return node ? node->value : -1;
}

static int64_t take(Map *map, uint64_t key)
{
    unsigned at = bucket(key);
    Node *before, *node = found(map, key, &before);
    if (!node) return -1;
    int64_t value = node->value;
    if (before) before->next = node->next; else map->first[at] = node->next;
    if (map->last[at] == node) map->last[at] = before;
    free(node);
    return value;
}

#define KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* State of the rank. */

typedef struct { int size, rank, inter, *members; } Comm;
typedef struct { int open, recv, comm; } Slot;
typedef struct { int kind, mode, partner, tag, comm; int64_t amount; } Start;
typedef struct { void *at; const char *call; int binding, number; char *line; } Site;
typedef struct { const char *name, *why; long count; } Unknown;

static int active, file = -1, world_rank, world_size, filled, fresh, polling, later_threads;
static __thread int inside;
static __thread char here;
static char *owner;
static Row *rows;
static int64_t left_ns, floor_ns, last_gap_ns, carried_ns, polled_ns, begun_ns, begun_thread_ns, begun_process_ns;
static uint64_t written;
static Map requests, starts, comm_ids, messages, site_ids;
static Comm *comms;
static Slot *slots;
static Start *descriptors;
static Site *sites;
static Unknown unknowns[1024];
static int comm_count, slot_count, lowest, descriptor_count, site_count, used_sites, unknown_count;
static int site = -1;
static MPI_Group world;

#define GROWN(array, count) \
    (((count) & ((count) - 1)) == 0 ? (array = realloc(array, sizeof *array * ((count) ? 2 * (count) : 1))) : array)

static void *next_of(const char *name)
{
    void *real = dlsym(RTLD_NEXT, name);
    if (!real) {
        fprintf(stderr, "apportion: this MPI library has no %s\n", name);
        _exit(1);
    }
    return real;
}

static int64_t clock_ns(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void flush_rows(void)
{
    const char *from = (const char *)rows;
    size_t bytes = sizeof *rows * filled;
    while (bytes && file >= 0) {
        ssize_t done = write(file, from, bytes);
        if (done <= 0) file = WRITE_FAILED; else { from += done; bytes -= done; written += done; }
    }
    filled = 0;
}

static Row *push(int kind)
{
    if (filled == CAPACITY) flush_rows();
    Row *row = &rows[filled++];
    *row = (Row){.kind = kind, .partner = -1, .source = -1, .comm = -1, .site = site};
    if (fresh) {
        row->flags = FIRST;
        row->cpu_ns = carried_ns;
        carried_ns = fresh = 0;
    }
    return row;
}

static void unknown(const char *name, const char *why)
{
    int at = 0;
    while (at < unknown_count && !(unknowns[at].name == name && !strcmp(unknowns[at].why, why))) at++;
    if (at == unknown_count && unknown_count < 1023) unknowns[unknown_count++] = (Unknown){name, why, 0};
    unknowns[at].count++;
}

/* Where a call comes from; behind the bindings of another language where it comes through those. */

static int new_site(void *at, const char *call)
{
    Dl_info about;
    static const char *bindings[] = {"mpi_mpifh", "mpi_usempi", "mpichf", "mpifort", "mpicxx", "mpi_cxx"};
    int binding = 0;
    if (dladdr(at, &about) && about.dli_fname) {
        if (strstr(about.dli_fname, "/mpi4py/")) binding = OF_PYTHON;
        const char *base = strrchr(about.dli_fname, '/');
        for (unsigned i = 0; i < sizeof bindings / sizeof *bindings; i++)
            binding |= strstr(base ? base : about.dli_fname, bindings[i]) != NULL;
    }
    GROWN(sites, site_count);
    sites[site_count] = (Site){at, call, binding, -1, NULL};
    put(&site_ids, KEY(at), site_count);
    return site_count++;
}

static Site *site_at(void *at, const char *call)
{
    int64_t known = look(&site_ids, KEY(at));
    if (known < 0) known = new_site(at, call);
    return &sites[known];
}

#define PYTHON(kind, name, ...) static kind (*name)(__VA_ARGS__); if (!name) name = dlsym(RTLD_DEFAULT, #name)

/* The line of Python that runs; mpi4py may have let go of the interpreter for the call. */
static Site *python_site(Site *own)
{
    PYTHON(int, Py_IsInitialized, void);
    PYTHON(int, PyGILState_Ensure, void);
    PYTHON(void, PyGILState_Release, int);
    PYTHON(void *, PyEval_GetFrame, void);
    PYTHON(void *, PyFrame_GetCode, void *);
    PYTHON(int, PyFrame_GetLineNumber, void *);
    PYTHON(void *, PyObject_GetAttrString, void *, const char *);
    PYTHON(const char *, PyUnicode_AsUTF8, void *);
    PYTHON(void, Py_DecRef, void *);
    if (!PyFrame_GetCode || !Py_IsInitialized()) return own;
    int held = PyGILState_Ensure();
    void *frame = PyEval_GetFrame(), *code = frame ? PyFrame_GetCode(frame) : NULL;
    if (code) {
        int line = PyFrame_GetLineNumber(frame);
        const char *call = own->call;
        own = site_at((void *)((KEY(code) << 16 | (line & 0xffff)) * 31 + KEY(own->at)), call);
        if (!own->line) {
            void *name = PyObject_GetAttrString(code, "co_filename");
            const char *path = name ? PyUnicode_AsUTF8(name) : NULL, *base = path ? strrchr(path, '/') : NULL;
            own->line = malloc(300);
            snprintf(own->line, 300, "%.200s:%d", base ? base + 1 : path ? path : "?", line);
            for (char *at = own->line; *at; at++) if (*at == ' ' || *at == '\n') *at = '_';
            if (name) Py_DecRef(name);
        }
        Py_DecRef(code);
    }
    PyGILState_Release(held);
    return own;
}

static int site_of(void *at, const char *call)
{
    Site *own = site_at(at, call);
    if (own->binding == OF_PYTHON) own = python_site(own);
#ifdef __GLIBC__
    if (own->binding == OF_LANGUAGE) {
        void *frames[12];
        int count = backtrace(frames, 12), i = 0;
        while (i < count && frames[i] != at) i++;
        for (i++; i < count && own->binding == OF_LANGUAGE; i++) own = site_at(frames[i], call);
    }
#endif
    return own->number < 0 ? (own->number = used_sites++) : own->number;
}

/* Around each call: what the rank computed since the last one. */

static int enter(void *at, const char *call)
{
    if (active != 1 || inside) return 0;
    if (&here != owner) {
        __atomic_add_fetch(&later_threads, 1, __ATOMIC_RELAXED);
        return 0;
    }
    int64_t gap = clock_ns(CLOCK_THREAD_CPUTIME_ID) - left_ns;
    inside = 1;
    last_gap_ns = gap;
    gap = gap > floor_ns ? gap - floor_ns : 0;
    if (polling && gap < POLLING_NS) polled_ns += gap; else carried_ns += gap;
    polling = 0;
    fresh = 1;
    site = at ? site_of(at, call) : -1;
    return 1;
}

static int leave(int code, const char *call)
{
    if (code != MPI_SUCCESS) unknown(call, " that failed");
    left_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    inside = 0;
    return code;
}

/* Communicators. */

static int define(MPI_Comm comm)
{
    MPI_Group group;
    Comm new;
    PMPI_Comm_test_inter(comm, &new.inter);
    PMPI_Comm_size(comm, &new.size);
    PMPI_Comm_rank(comm, &new.rank);
    int *ranks = malloc(sizeof(int) * new.size);
    new.members = malloc(sizeof(int) * new.size);
    for (int i = 0; i < new.size; i++) ranks[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Group_translate_ranks(group, new.size, ranks, world, new.members);
    PMPI_Group_free(&group);
    free(ranks);
    GROWN(comms, comm_count);
    comms[comm_count] = new;
    put(&comm_ids, KEY(comm), comm_count);
    return comm_count++;
}

static int comm_of(MPI_Comm comm)
{
    int64_t known = look(&comm_ids, KEY(comm));
    return known < 0 ? define(comm) : (int)known;
}

/* Whether a call stays within one group of ranks; else it is not understood. */
static int within(MPI_Comm comm, const char *call)
{
    if (comm == MPI_COMM_NULL) return 0;
    if (!comms[comm_of(comm)].inter) return 1;
    unknown(call, " between two groups");
    return 0;
}

static int of_world(int comm, int rank)
{
    return rank < 0 || rank >= comms[comm].size ? -1 : comms[comm].members[rank];
}

static int64_t bytes_of(int64_t count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type != MPI_DATATYPE_NULL) PMPI_Type_size_x(type, &size);
    return count * size;
}

static int64_t received_bytes(MPI_Status *status)
{
    MPI_Count count = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &count);
    return count > 0 ? count : 0;
}

/* Messages. */

static void sent(int64_t amount, int to, int tag, MPI_Comm comm, int mode, const char *call)
{
    if (to == MPI_PROC_NULL || !within(comm, call)) return;
    Row *row = push(SEND);
    row->comm = comm_of(comm), row->partner = of_world(row->comm, to), row->tag = tag;
    row->mode = mode, row->amount = amount;
}

static void received(int from, int tag, int comm, MPI_Status *status)
{
    Row *row = push(RECV);
    row->flags |= from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG ? WILDCARD : 0;
    row->comm = comm, row->partner = of_world(comm, status->MPI_SOURCE), row->tag = status->MPI_TAG;
    row->amount = received_bytes(status);
}

static void received_from(int from, int tag, MPI_Comm comm, MPI_Status *status, const char *call)
{
    if (from != MPI_PROC_NULL && within(comm, call)) received(from, tag, comm_of(comm), status);
}

/* A request of MPI_PROC_NULL is an entry 0, since other requests may have its handle. */
static int open_slot(uint64_t handle, int recv, int comm)
{
    while (lowest < slot_count && slots[lowest].open) lowest++;
    if (lowest == slot_count) {
        GROWN(slots, slot_count);
        slot_count++;
    }
    slots[lowest] = (Slot){1, recv, comm};
    put(&requests, handle, lowest + 1);
    return lowest;
}

static void post(Start start, uint64_t handle)
{
    if (start.partner == MPI_PROC_NULL) {
        put(&requests, handle, 0);
        return;
    }
    int slot = open_slot(handle, start.kind == POST_RECV, start.comm);
    Row *row = push(start.kind);
    int any = start.kind == POST_RECV && (start.partner == MPI_ANY_SOURCE || start.tag == MPI_ANY_TAG);
    row->flags |= any ? WILDCARD : 0;
    row->partner = of_world(start.comm, start.partner), row->source = slot, row->tag = start.tag < 0 ? -1 : start.tag;
    row->comm = start.comm, row->mode = start.mode, row->amount = start.amount;
}

static Start start_of(int kind, int64_t amount, int partner, int tag, MPI_Comm comm, int mode)
{
    return (Start){kind, mode, partner, tag, comm_of(comm), amount};
}

static void posted(int kind, int64_t amount, int partner, int tag, MPI_Comm comm, int mode, MPI_Request request,
                   const char *call)
{
    if (within(comm, call)) post(start_of(kind, amount, partner, tag, comm, mode), KEY(request));
}

static void described(Map *map, uint64_t handle, Start start)
{
    GROWN(descriptors, descriptor_count);
    descriptors[descriptor_count] = start;
    put(map, handle, descriptor_count++);
}

static void prepared(int kind, int64_t amount, int partner, int tag, MPI_Comm comm, int mode, MPI_Request request,
                     const char *call)
{
    if (within(comm, call)) described(&starts, KEY(request), start_of(kind, amount, partner, tag, comm, mode));
}

static void started(MPI_Request request, const char *call)
{
    int64_t known = look(&starts, KEY(request));
    if (known < 0) unknown(call, " of a request that is not known"); else post(descriptors[known], KEY(request));
}

static void closed(int slot, MPI_Status *status, int flags)
{
    Slot *own = &slots[slot];
    Row *row = push(WAIT);
    row->flags |= flags | (flags & CHOSEN ? FIRST : 0); /* whether several end in one call is chance */
    row->source = slot;
    if (own->recv && status) {
        row->partner = of_world(own->comm, status->MPI_SOURCE), row->tag = status->MPI_TAG;
        row->amount = received_bytes(status);
    }
    own->open = 0;
    if (slot < lowest) lowest = slot;
}

static void waited(MPI_Request request, MPI_Status *status, int flags)
{
    int64_t known = request == MPI_REQUEST_NULL ? -1 : take(&requests, KEY(request));
    if (known > 0) closed((int)known - 1, status, flags);
}

/* MPI ends what is freed while it goes on at the latest in MPI_Finalize: there its wait is recorded. */
static void freed(MPI_Request request)
{
    take(&starts, KEY(request)), take(&requests, KEY(request));
}

static MPI_Request *copied(int count, MPI_Request from[])
{
    static MPI_Request *copy;
    static int room;
    if (count > room) copy = realloc(copy, sizeof *copy * (room = 2 * count));
    if (count > 0) memcpy(copy, from, sizeof *copy * count);
    return copy;
}

static MPI_Status *statuses_for(int count, MPI_Status *own)
{
    static MPI_Status *spare;
    static int room;
    if (own != MPI_STATUSES_IGNORE) return own;
    if (count > room) spare = realloc(spare, sizeof *spare * (room = 2 * count));
    return spare ? spare : (spare = malloc(sizeof *spare));
}

static void waited_all(int count, MPI_Request *of, MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) waited(of[i], &statuses[i], 0);
}

static void waited_some(int count, MPI_Request *of, int indices[], MPI_Status *statuses)
{
    if (count == MPI_UNDEFINED) return;
    for (int i = 0; i < count; i++) waited(of[indices[i]], &statuses[i], CHOSEN);
}

static void exchanged(int64_t amount, int to, int sent_tag, int from, int tag, MPI_Comm comm, MPI_Status *status,
                      const char *call)
{
    if (to == MPI_PROC_NULL) { received_from(from, tag, comm, status, call); return; }
    if (from == MPI_PROC_NULL) { sent(amount, to, sent_tag, comm, STANDARD, call); return; }
    if (!within(comm, call)) return;
    int any = from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG ? WILDCARD : 0, own = comm_of(comm);
    if (status->MPI_TAG == sent_tag) {
        Row *row = push(EXCHANGE);
        row->flags |= any;
        row->comm = own, row->partner = of_world(own, to), row->source = of_world(own, status->MPI_SOURCE);
        row->tag = sent_tag, row->amount = amount;
        return;
    }
    int slot = open_slot(0, 1, own); /* two tags: the same as a posted receive, a send and a wait */
    take(&requests, 0);
    Row *row = push(POST_RECV);
    row->flags |= any;
    row->partner = of_world(own, status->MPI_SOURCE), row->source = slot, row->tag = status->MPI_TAG, row->comm = own;
    row->amount = received_bytes(status);
    sent(amount, to, sent_tag, comm, STANDARD, call);
    closed(slot, status, 0);
}

static void probed_message(MPI_Message message, MPI_Comm comm, MPI_Status *status)
{
    described(&messages, KEY(message), start_of(POST_RECV, 0, status->MPI_SOURCE, status->MPI_TAG, comm, STANDARD));
}

static void received_message(MPI_Message message, MPI_Status *status, const char *call)
{
    int64_t known = take(&messages, KEY(message));
    if (message == MPI_MESSAGE_NO_PROC) return;
    if (known < 0) unknown(call, " of a message that is not known");
    else received(descriptors[known].partner, descriptors[known].tag, descriptors[known].comm, status);
}

static void posted_message(MPI_Message message, int64_t amount, MPI_Request request, const char *call)
{
    int64_t known = take(&messages, KEY(message));
    if (message == MPI_MESSAGE_NO_PROC) put(&requests, KEY(request), 0);
    else if (known < 0) unknown(call, " of a message that is not known");
    else {
        descriptors[known].amount = amount;
        post(descriptors[known], KEY(request));
    }
}

/* Collectives: bytes of this rank's part, or of the whole where it is everybody's. */

static Row *collected(int kind, int64_t amount, int root, MPI_Comm comm, const char *call)
{
    if (!within(comm, call)) return NULL;
    Row *row = push(kind);
    row->comm = comm_of(comm), row->amount = amount;
    if (root >= 0) row->partner = of_world(row->comm, root);
    return row;
}

/* Making a communicator has its ranks agree on a number; to split one, all hear of all. */
static void made_comm(MPI_Comm from, MPI_Comm comm, int kind, const char *call)
{
    if (comm != MPI_COMM_NULL) define(comm);
    collected(kind, 8, -1, from == MPI_COMM_NULL ? comm : from, call);
}

static int rank_in(MPI_Comm comm) { return comm == MPI_COMM_NULL ? 0 : comms[comm_of(comm)].rank; }

static int size_of(MPI_Comm comm) { return comm == MPI_COMM_NULL ? 0 : comms[comm_of(comm)].size; }

/* Bytes to each rank, four to a row; the amounts come from a macro, since counts are of two types. */
static int64_t parts[4];

static void push_part(int at, int size, int64_t bytes)
{
    parts[at % 4] = bytes;
    if (at % 4 < 3 && at + 1 < size) return;
    if (filled == CAPACITY) flush_rows();
    char *row = (char *)&rows[filled++];
    memset(row, 0, sizeof(Row));
    *(uint8_t *)row = PARTS;
    *(int32_t *)(row + 4) = at % 4 + 1;
    memcpy(row + 8, parts, sizeof parts);
}

#define TO_EACH(counts, type, comm, call) do { \
    Row *row_ = collected(ALLTOALLV, 0, -1, comm, call); \
    if (!row_) break; \
    int size_ = size_of(comm); \
    for (int i_ = 0; i_ < size_; i_++) row_->amount += bytes_of((counts)[i_], type); \
    for (int i_ = 0; i_ < size_; i_++) push_part(i_, size_, bytes_of((counts)[i_], type)); } while (0)

/* Beginning and end. */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static __attribute__((noinline)) int nothing(void) { return enter(NULL, "") ? leave(MPI_SUCCESS, "") : 0; }

static void measure_floor(void)
{
    static int64_t seen[PROBES];
    left_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < PROBES; i++) {
        nothing();
        seen[i] = last_gap_ns;
    }
    qsort(seen, PROBES, sizeof *seen, ascending);
    floor_ns = seen[PROBES / 2];
    carried_ns = polled_ns = 0;
}

static void place_of(char *into, size_t room, const char *name)
{
    const char *folder = getenv("APPORTION_MPI");
    snprintf(into, room, "%s/%s", folder ? folder : ".", name);
}

/* The program and this recorder must be of one library: their handles differ. */
static void check_library(void)
{
    static char said[LONGEST];
    char place[4096];
    int length;
    PMPI_Get_library_version(said, &length);
    int open_mpi = strstr(said, "Open MPI") != NULL;
#ifdef OPEN_MPI
    open_mpi = !open_mpi;
#endif
    if (!open_mpi || !getenv("APPORTION_MPI")) return;
    place_of(place, sizeof place, "other-library");
    FILE *out = fopen(place, "w");
    if (out) { fprintf(out, "%.*s\n", (int)strcspn(said, "\n,"), said); fclose(out); }
    _exit(1);
}

static void begin(void)
{
    char name[32], place[4096];
    if (!getenv("APPORTION_MPI")) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    snprintf(name, sizeof name, "rank-%d", world_rank);
    place_of(place, sizeof place, name);
    file = open(place, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) { /* there was a program before: said by a file, and nothing is recorded */
        place_of(place, sizeof place, "another-program");
        file = open(place, O_WRONLY | O_CREAT, 0666);
        if (file >= 0) close(file);
        return;
    }
    rows = malloc(sizeof *rows * CAPACITY);
    memset(rows, 0, sizeof *rows * CAPACITY);
    define(MPI_COMM_WORLD);
    define(MPI_COMM_SELF);
    owner = &here;
#ifdef __GLIBC__
    void *frame[1];
    backtrace(frame, 1);
#endif
    active = 1;
    measure_floor();
    begun_ns = clock_ns(CLOCK_MONOTONIC);
    begun_process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    begun_thread_ns = left_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void say_site(FILE *out, Site *own)
{
    Dl_info about = {0};
    const char *symbol = "-";
    uintptr_t at = (uintptr_t)own->at, from = at, beyond = 0;
    if (own->line) { fprintf(out, "site %d %s 0 %s -\n", own->number, own->call, own->line); return; }
    if (dladdr(own->at, &about) && about.dli_fname) {
        if (((Elf64_Ehdr *)about.dli_fbase)->e_type != ET_EXEC) from = at - (uintptr_t)about.dli_fbase;
        if (about.dli_sname) symbol = about.dli_sname, beyond = at - (uintptr_t)about.dli_saddr;
    }
    char whole[4096];
    if (!about.dli_fname || !realpath(about.dli_fname, whole)) strcpy(whole, "-");
    fprintf(out, "site %d %s %lx %s+0x%lx %s\n", own->number, own->call, (long)from, symbol, (long)beyond, whole);
}

static void say(FILE *out, int64_t thread_ns, int64_t process_ns)
{
    struct rusage usage;
    static char library[LONGEST];
    char host[256] = "";
    int length;
    getrusage(RUSAGE_SELF, &usage);
    gethostname(host, sizeof host - 1);
    PMPI_Get_library_version(library, &length);
    fprintf(out, "ranks %d %d\nhost %s\nlibrary %.*s\n", world_rank, world_size, host, (int)strcspn(library, "\n,"), library);
    fprintf(out, "clock_ns %lld\nthread_ns %lld\nprocess_ns %lld\n", (long long)(clock_ns(CLOCK_MONOTONIC) - begun_ns),
            (long long)thread_ns, (long long)process_ns);
    fprintf(out, "floor_ns %lld\npolled_ns %lld\nmemory_bytes %lld\n", (long long)floor_ns, (long long)polled_ns,
            usage.ru_maxrss * 1024LL);
    for (int i = 0; i < comm_count; i++) {
        fprintf(out, "comm %d", i);
        for (int j = 0; !comms[i].inter && j < comms[i].size; j++) fprintf(out, " %d", comms[i].members[j]);
        fputc('\n', out);
    }
    for (int i = 0; i < site_count; i++) if (sites[i].number >= 0) say_site(out, &sites[i]);
    for (int i = 0; i < unknown_count; i++)
        fprintf(out, "unknown %ld %s%s\n", unknowns[i].count, unknowns[i].name, unknowns[i].why);
    if (later_threads) fprintf(out, "unknown %d MPI calls of further threads\n", later_threads);
}

/* Open requests end here; then the lines and the end of the file. */
static void end(void)
{
    int64_t thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_thread_ns;
    int64_t process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_process_ns;
    for (int i = 0; i < slot_count; i++)
        if (slots[i].open) closed(i, NULL, LEFT);
    push(END);
    flush_rows();
    if (file < 0) return;
    uint64_t tail[2] = {written, ENDED};
    FILE *out = fdopen(file, "w");
    say(out, thread_ns, process_ns);
    fflush(out);
    if (!ferror(out)) fwrite(tail, sizeof tail, 1, out);
    fclose(out);
    active = 2;
}

/* Functions whose wrappers are not like the others. */

#define BEGINNING(name, declared, ...) \
    PUBLIC int P##name declared \
    { \
        __typeof__(P##name) *real = next_of("P" #name); \
        check_library(); \
        inside = 1; \
        int code = real(__VA_ARGS__); \
        inside = 0; \
        if (code == MPI_SUCCESS) begin(); \
        return code; \
    } \
    PUBLIC int name declared __attribute__((alias("P" #name)));

BEGINNING(MPI_Init, (int *argc, char ***argv), argc, argv)
BEGINNING(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), argc, argv, required, provided)

PUBLIC int PMPI_Finalize(void)
{
    int (*real)(void) = next_of("PMPI_Finalize");
    if (enter(__builtin_return_address(0), "MPI_Finalize")) end();
    inside = 1;
    return real();
}

PUBLIC int PMPI_Pcontrol(const int level, ...)
{
    if (enter(__builtin_return_address(0), "MPI_Pcontrol")) {
        Row *row = push(PCONTROL);
        row->partner = level, row->amount = clock_ns(CLOCK_MONOTONIC) - begun_ns;
        return leave(MPI_SUCCESS, "MPI_Pcontrol");
    }
    return MPI_SUCCESS;
}

PUBLIC int MPI_Finalize(void) __attribute__((alias("PMPI_Finalize")));
PUBLIC int MPI_Pcontrol(const int level, ...) __attribute__((alias("PMPI_Pcontrol")));
