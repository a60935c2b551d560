/* One function per way to call MPI, run one after another on 4 ranks; a broadcast of 100000 + k bytes begins case k.
   What each rank is to be recorded with stands in verbs.txt. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define NO MPI_STATUS_IGNORE
#define ALL MPI_STATUSES_IGNORE
#define I MPI_INT

static int me, size;
static int x[4096], y[4096];
static char much[200000];
static MPI_Request r[8];
static MPI_Status s[8];

/* Wait until all are at the same place, by nothing that is recorded but a barrier. */
static void meet(void) { MPI_Barrier(W); }

static void send(void)
{
    if (me == 0) MPI_Send(x, 10, I, 1, 3, W);
    if (me == 1) MPI_Recv(x, 20, I, 0, 3, W, NO);
}

static void modes(void)
{
    if (me == 1) MPI_Irecv(x, 10, I, 0, 4, W, r), MPI_Irecv(y, 10, I, 0, 5, W, r + 1);
    meet();
    if (me == 0) {
        MPI_Ssend(x, 10, I, 1, 1, W);
        MPI_Bsend(x, 10, I, 1, 2, W);
        MPI_Rsend(x, 10, I, 1, 4, W);
        MPI_Irsend(x, 10, I, 1, 5, W, r);
        MPI_Wait(r, NO);
    }
    if (me == 1) MPI_Recv(x, 10, I, 0, 1, W, NO), MPI_Recv(x, 10, I, 0, 2, W, NO), MPI_Waitall(2, r, ALL);
}

static void posted(void)
{
    if (me == 0) {
        MPI_Isend(x, 10, I, 1, 1, W, r), MPI_Issend(x, 10, I, 1, 2, W, r + 1), MPI_Ibsend(x, 10, I, 1, 3, W, r + 2);
        MPI_Waitall(3, r, s);
    }
    if (me == 1) {
        for (int i = 0; i < 3; i++) MPI_Irecv(x + 100 * i, 10, I, 0, i + 1, W, r + i);
        MPI_Wait(r + 1, NO), MPI_Wait(r + 0, NO), MPI_Wait(r + 2, s);
    }
}

static void many(void)
{
    MPI_Request own[40];
    for (int i = 0; i < 40; i++)
        if (me == 0) MPI_Isend(x, 1, I, i % 2 ? 1 : MPI_PROC_NULL, i, W, own + i);
        else if (me == 1 && i % 2) MPI_Recv(x, 1, I, 0, i, W, NO);
    if (me == 0) MPI_Waitall(40, own, ALL);
    if (me == 0) MPI_Isend(x, 1, I, MPI_PROC_NULL, 1, W, own), MPI_Isend(x, 1, I, 1, 1, W, own + 1), MPI_Wait(own, NO);
    meet();
    if (me == 0) MPI_Wait(own + 1, NO);
    if (me == 1) MPI_Recv(x, 1, I, 0, 1, W, NO);
}

static void persistent(void)
{
    if (me == 0) MPI_Send_init(x, 10, I, 1, 1, W, r), MPI_Ssend_init(x, 5, I, 1, 2, W, r + 1);
    if (me == 1) MPI_Recv_init(x, 10, I, 0, 1, W, r), MPI_Recv_init(y, 10, I, 0, 2, W, r + 1);
    for (int i = 0; i < 2 && me < 2; i++) {
        if (i) MPI_Startall(2, r); else MPI_Start(r), MPI_Start(r + 1);
        MPI_Waitall(2, r, ALL);
    }
    if (me < 2) MPI_Request_free(r), MPI_Request_free(r + 1);
}

static void tests(void)
{
    int flag = 0, index, count = 0, indices[2], done = 0;
    if (me == 1) {
        for (int i = 0; i < 6; i++) MPI_Irecv(x + 100 * i, 10, I, 0, i, W, r + i);
        while (!flag) MPI_Test(r, &flag, NO);
        meet();
        for (flag = 0; !flag;) MPI_Testany(1, r + 1, &index, &flag, NO);
        for (flag = 0; !flag;) MPI_Testall(2, r + 2, &flag, ALL);
        for (; done < 2; done += count) MPI_Testsome(2, r + 4, &count, indices, ALL);
        return;
    }
    if (me == 0) MPI_Send(x, 1, I, 1, 0, W);
    meet();
    for (int i = 1; i < 6 && me == 0; i++) MPI_Send(x, 1, I, 1, i, W);
}

static void waits(void)
{
    int index, count, indices[2];
    if (me == 0) for (int i = 0; i < 3; i++) MPI_Send(x, 1, I, 1, i, W);
    if (me == 1) {
        for (int i = 0; i < 3; i++) MPI_Irecv(x + 100 * i, 1, I, 0, i, W, r + i);
        MPI_Waitany(1, r, &index, NO);
        for (int done = 0; done < 2; done += count) MPI_Waitsome(2, r + 1, &count, indices, ALL);
        MPI_Waitany(3, r, &index, s);
    }
}

static void probes(void)
{
    int flag = 0;
    MPI_Message message;
    if (me == 0) for (int i = 0; i < 4; i++) MPI_Send(x, i + 1, I, 1, i, W);
    if (me != 1) return;
    MPI_Probe(MPI_ANY_SOURCE, 0, W, s);
    MPI_Recv(x, 1, I, s->MPI_SOURCE, s->MPI_TAG, W, NO);
    while (!flag) MPI_Iprobe(0, 1, W, &flag, s);
    MPI_Recv(x, 2, I, 0, 1, W, NO);
    MPI_Mprobe(0, 2, W, &message, NO);
    MPI_Mrecv(x, 3, I, &message, NO);
    for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, W, &flag, &message, s);
    MPI_Imrecv(x, 4, I, &message, r);
    MPI_Wait(r, NO);
}

static void wildcards(void)
{
    if (me == 2) {
        MPI_Recv(x, 10, I, MPI_ANY_SOURCE, 1, W, NO);
        MPI_Irecv(x, 10, I, 3, MPI_ANY_TAG, W, r), MPI_Wait(r, NO);
        MPI_Irecv(x, 10, I, MPI_ANY_SOURCE, 3, W, r), MPI_Waitall(1, r, ALL);
    }
    if (me == 3) for (int i = 1; i < 4; i++) MPI_Send(x, i, I, 2, i, W);
}

static void exchanges(void)
{
    int right = (me + 1) % 4, left = (me + 3) % 4;
    MPI_Sendrecv(x, 10, I, right, 1, y, 10, I, left, 1, W, NO);
    MPI_Sendrecv_replace(x, 5, I, right, 2, left, 2, W, NO);
    MPI_Sendrecv(x, 3, I, me == 3 ? MPI_PROC_NULL : me + 1, 3, y, 10, I, me == 0 ? MPI_PROC_NULL : me - 1, 3, W, NO);
    if (me < 2) MPI_Sendrecv(x, me + 1, I, 1 - me, me, y, 10, I, 1 - me, 1 - me, W, NO);
}

static void nobody(void)
{
    MPI_Send(x, 1, I, MPI_PROC_NULL, 1, W);
    MPI_Recv(x, 1, I, MPI_PROC_NULL, 1, W, NO);
    MPI_Irecv(x, 1, I, MPI_PROC_NULL, 1, W, r), MPI_Wait(r, NO);
    MPI_Sendrecv(x, 1, I, MPI_PROC_NULL, 1, y, 1, I, MPI_PROC_NULL, 1, W, NO);
}

static void types(void)
{
    MPI_Datatype column;
    MPI_Type_vector(4, 3, 10, MPI_DOUBLE, &column), MPI_Type_commit(&column);
    if (me == 0) MPI_Send(x, 2, column, 1, 1, W), MPI_Send(x, 0, I, 1, 2, W);
    if (me == 1) MPI_Recv(y, 2, column, 0, 1, W, NO), MPI_Recv(y, 0, I, 0, 2, W, NO);
    MPI_Type_free(&column);
}

static void self(void)
{
    MPI_Isend(x, 2, I, 0, 1, MPI_COMM_SELF, r);
    MPI_Recv(y, 2, I, 0, 1, MPI_COMM_SELF, NO);
    MPI_Wait(r, NO);
    MPI_Allreduce(x, y, 1, I, MPI_SUM, MPI_COMM_SELF);
}

static void whole(void)
{
    MPI_Barrier(W);
    MPI_Bcast(x, 5, I, 1, W);
    MPI_Reduce(x, y, 6, I, MPI_SUM, 2, W);
    MPI_Allreduce(x, y, 7, I, MPI_SUM, W);
    MPI_Scan(x, y, 8, I, MPI_SUM, W);
    MPI_Exscan(x, y, 9, I, MPI_SUM, W);
    MPI_Gather(x, 2, I, y, 2, I, 1, W);
    MPI_Scatter(x, 3, I, y, 3, I, 2, W);
    MPI_Allgather(x, 4, I, y, 4, I, W);
    MPI_Alltoall(x, 5, I, y, 5, I, W);
    MPI_Reduce_scatter_block(x, y, 3, I, MPI_SUM, W);
}

static void vectors(void)
{
    int counts[] = {1, 2, 3, 4}, places[] = {0, 10, 20, 30}, bytes[] = {0, 40, 80, 120}, same[4];
    int to[4], from[4];
    MPI_Datatype kinds[] = {I, MPI_SHORT, MPI_CHAR, I}, mine[4];
    MPI_Gatherv(x, me + 1, I, y, counts, places, I, 0, W);
    MPI_Scatterv(x, counts, places, I, y, me + 1, I, 3, W);
    MPI_Allgatherv(x, me + 1, I, y, counts, places, I, W);
    for (int i = 0; i < 4; i++) to[i] = me + i, from[i] = me + i, same[i] = 1, mine[i] = kinds[me];
    MPI_Alltoallv(x, to, places, I, y, from, places, I, W);
    MPI_Alltoallw(x, same, bytes, kinds, y, same, bytes, mine, W);
    MPI_Reduce_scatter(x, y, counts, I, MPI_SUM, W);
}

static void in_place(void)
{
    int counts[] = {1, 2, 3, 4}, places[] = {0, 10, 20, 30}, same[] = {2, 2, 2, 2};
    void *here = MPI_IN_PLACE;
    MPI_Allreduce(here, y, 1, I, MPI_SUM, W);
    if (me == 1) MPI_Gather(here, 0, I, y, 2, I, 1, W); else MPI_Gather(x, 2, I, y, 2, I, 1, W);
    if (me == 1) MPI_Gatherv(here, 0, I, y, counts, places, I, 1, W); else MPI_Gatherv(x, me + 1, I, y, counts, places, I, 1, W);
    if (me == 1) MPI_Scatter(x, 3, I, here, 0, I, 1, W); else MPI_Scatter(x, 3, I, y, 3, I, 1, W);
    if (me == 1) MPI_Scatterv(x, counts, places, I, here, 0, I, 1, W); else MPI_Scatterv(x, counts, places, I, y, me + 1, I, 1, W);
    MPI_Allgather(here, 0, I, y, 4, I, W);
    MPI_Allgatherv(here, 0, I, y, counts, places, I, W);
    MPI_Alltoall(here, 0, I, y, 5, I, W);
    MPI_Alltoallv(here, NULL, NULL, I, y, same, places, I, W);
}

static void groups(void)
{
    MPI_Comm half, again, pair, grid, row, node, some;
    MPI_Group all, two;
    int dims[] = {2, 2}, around[] = {0, 0}, keep[] = {0, 1}, ranks[] = {3, 1};
    MPI_Comm_split(W, me % 2, -me, &half);
    MPI_Bcast(x, 1, I, 0, half);
    MPI_Comm_dup(half, &again);
    MPI_Bcast(x, 2, I, 1, again);
    MPI_Comm_group(W, &all), MPI_Group_incl(all, 2, ranks, &two);
    MPI_Comm_create(W, two, &pair);
    if (pair != MPI_COMM_NULL) MPI_Bcast(x, 3, I, 0, pair);
    MPI_Cart_create(W, 2, dims, around, 0, &grid);
    MPI_Cart_sub(grid, keep, &row);
    MPI_Bcast(x, 4, I, 1, row);
    MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &node);
    MPI_Barrier(node);
    if (me % 2) MPI_Comm_create_group(W, two, 9, &some), MPI_Barrier(some), MPI_Comm_free(&some);
    if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
    MPI_Comm_free(&half), MPI_Comm_free(&again), MPI_Comm_free(&row), MPI_Comm_free(&grid), MPI_Comm_free(&node);
    MPI_Comm_split(W, me == 3 ? MPI_UNDEFINED : 0, 0, &half);
    if (me == 0) MPI_Send(x, 1, I, 2, 1, half);
    if (me == 2) MPI_Recv(x, 1, I, 0, 1, half, NO);
    if (me != 3) MPI_Comm_free(&half);
}

static void freed(void)
{
    if (me == 0) MPI_Isend(x, 1, I, 1, 1, W, r), MPI_Request_free(r), MPI_Isend(x, 2, I, 1, 2, W, r), MPI_Wait(r, NO);
    if (me == 1) MPI_Recv(x, 1, I, 0, 1, W, NO), MPI_Recv(x, 2, I, 0, 2, W, NO);
}

int main(int count, char **words)
{
    static char room[65536];
    void (*cases[])(void) = {send, modes, posted, many, persistent, tests, waits, probes, wildcards, exchanges,
                             nobody, types, self, whole, vectors, in_place, groups, freed};
    MPI_Init(&count, &words);
    MPI_Comm_rank(W, &me), MPI_Comm_size(W, &size);
    MPI_Buffer_attach(room, sizeof room);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        MPI_Bcast(much, 100000 + i, MPI_CHAR, 0, W);
        cases[i]();
    }
    MPI_Finalize();
    return 0;
}
