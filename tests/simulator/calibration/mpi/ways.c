/* Programs that a recorder has to refuse, cut or warn of; the first word says which. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define W MPI_COMM_WORLD

static int me, size, x[1024];

static double work(double millions)
{
    volatile double sum = 0;
    for (long i = 0; i < 1e6 * millions; i++) sum += 1.0 / (i + 1.0);
    return sum;
}

static void *other_thread(void *none)
{
    MPI_Send(x + 9, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    return none;
}

static void *busy_thread(void *none)
{
    work(60);
    return none;
}

/* What a recorder of point-to-point messages and blocking collectives does not understand. */
static void unknown(void)
{
    MPI_Request r;
    MPI_Win win;
    MPI_Comm first, second;
    MPI_File file;
    MPI_Comm_split(W, me % 2, 0, &first);
    MPI_Ibarrier(W, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Win_create(x, sizeof x, 4, MPI_INFO_NULL, W, &win), MPI_Win_fence(0, win), MPI_Win_free(&win);
    MPI_Intercomm_create(first, 0, W, 1 - me % 2, 7, &second);
    MPI_Barrier(second), MPI_Comm_free(&second);
    MPI_Irecv(x, 1, MPI_INT, me, 99, W, &r), MPI_Cancel(&r), MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Send(x, 1, MPI_INT, size + 5, 0, W);
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_File_close(&file);
}

/* As often as this was called before with a file, by the length of that. */
static int turn(const char *path)
{
    FILE *file = fopen(path, "a+");
    fseek(file, 0, SEEK_END);
    long at = ftell(file);
    MPI_Barrier(W);
    if (me == 0) fputc('x', file);
    fclose(file);
    return (int)at;
}

int main(int count, char **words)
{
    const char *way = words[1];
    int provided, there = !strcmp(way, "threads") || !strcmp(way, "busy"), flag = 0, own;
    pthread_t thread;
    MPI_Request r;
    if (there) MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
    else MPI_Init(&count, &words);
    MPI_Comm_rank(W, &me), MPI_Comm_size(W, &size);
    if (!strcmp(way, "part")) {
        MPI_Barrier(W), work(20);
        MPI_Pcontrol(1);
        MPI_Bcast(x, 1, MPI_INT, 0, W), work(40);
        MPI_Irecv(x, 1, MPI_INT, (me + 1) % size, 1, W, &r);
        MPI_Send(x, 1, MPI_INT, (me + size - 1) % size, 1, W);
        MPI_Pcontrol(0);
        work(20), MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_Barrier(W);
    } else if (!strcmp(way, "dies")) {
        MPI_Barrier(W);
        if (me == 1) _Exit(3);
        MPI_Barrier(W);
    } else if (!strcmp(way, "polls")) {
        if (me == 0) work(120), MPI_Ssend(x, 1, MPI_INT, 1, 1, W);
        if (me == 1) for (work(40), MPI_Irecv(x, 1, MPI_INT, 0, 1, W, &r); !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "overlaps")) {
        if (me == 1) MPI_Irecv(x, 1, MPI_INT, 0, 1, W, &r), MPI_Test(&r, &flag, MPI_STATUS_IGNORE), work(40);
        MPI_Barrier(W);
        if (me == 0) MPI_Send(x, 1, MPI_INT, 1, 1, W);
        if (me == 1) MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "threads")) {
        MPI_Irecv(x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r);
        pthread_create(&thread, NULL, other_thread, NULL), pthread_join(thread, NULL);
    } else if (!strcmp(way, "busy")) {
        pthread_create(&thread, NULL, busy_thread, NULL), pthread_join(thread, NULL);
    } else if (!strcmp(way, "differs")) {
        own = turn(words[2]);
        for (int i = 0; i < own + 1; i++) MPI_Barrier(W);
    } else if (!strcmp(way, "some")) { /* two end in one call, or in two */
        MPI_Request two[2];
        int places[2];
        own = turn(words[2]);
        if (me == 0) for (int i = 0; i < 2; i++) usleep(i && own ? 600000 : 1), MPI_Send(x, 1, MPI_INT, 1, i, W);
        if (me == 1) for (int i = 0; i < 2; i++) MPI_Irecv(x + i, 1, MPI_INT, 0, i, W, two + i);
        if (me == 1) usleep(200000);
        for (int i = 0; i < 100 && me == 1; i++) MPI_Iprobe(0, 9, W, &count, MPI_STATUS_IGNORE); /* all that came is seen */
        if (me == 1) for (; flag < 2; flag += count) MPI_Waitsome(2, two, &count, places, MPI_STATUSES_IGNORE);
    } else if (!strcmp(way, "torn") || !strcmp(way, "uneven")) { /* parts that do not fit each other */
        if (me == 0) MPI_Pcontrol(1);
        if (!strcmp(way, "uneven")) MPI_Barrier(W);
        else if (me == 0) MPI_Send(x, 1, MPI_INT, 1, 5, W);
        else MPI_Recv(x, 1, MPI_INT, 0, 5, W, MPI_STATUS_IGNORE);
        if (me == 1) MPI_Pcontrol(1);
    } else if (!strcmp(way, "who")) { /* the first of two that come is another one each time */
        own = turn(words[2]) % 2 ? 1 : 2;
        if (me == 3 - own) usleep(300000);
        if (me > 0) MPI_Send(x, me, MPI_INT, 0, 1, W);
        for (int i = 0; i < 2 && me == 0; i++) MPI_Recv(x, 9, MPI_INT, MPI_ANY_SOURCE, 1, W, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "reads")) {
        if (me == 0 && scanf("%d", x) != 1) _Exit(9);
        MPI_Bcast(x, 1, MPI_INT, 0, W);
        MPI_Bcast(x, x[0], MPI_INT, 0, W);
    } else if (!strcmp(way, "works")) {
        for (int i = 0; i < 20; i++) work(2 * (me + 1)), MPI_Barrier(W);
    } else if (!strcmp(way, "unknown")) unknown();
    MPI_Finalize();
    return strcmp(way, "fails") ? 0 : 4;
}
