/* Preloaded before an MPI program in C or Fortran of MPICH, or C of Open MPI: rank 0 writes the seconds from the end of
   MPI_Init to MPI_Finalize of the slowest rank. With -DPING a program: seconds of one way of messages by their bytes. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef PING
int main(int argc, char **argv)
{
    static char data[1 << 20];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int size = 1; size <= 1 << 20; size *= 8) {
        int times = size < 20000 ? 1000 : 50;
        double begun = 0;
        for (int k = -times / 10; k < times; k++) {
            if (k == 0)
                begun = MPI_Wtime();
            if (rank == 0) {
                MPI_Send(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("oneway %d %.9f\n", size, (MPI_Wtime() - begun) / times / 2);
    }
    fflush(NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0); /* MPICH over TCP of UCX now and then hangs in MPI_Finalize */
}
#else
static double begun;

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

static void end(void)
{
    double mine = now() - begun, most;
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        fprintf(stderr, "\nseconds %.6f\n", most);
    fflush(NULL);
    PMPI_Barrier(MPI_COMM_WORLD);
#ifndef OPEN_MPI
    _exit(0);
#endif
}

static void begin(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    begun = now();
}

int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    begin();
    return error;
}

int MPI_Finalize(void)
{
    end();
    return PMPI_Finalize();
}

#ifdef OPEN_MPI /* its Fortran functions call PMPI ones */
void pmpi_init_(int *error);
void pmpi_finalize_(int *error);
void mpi_init_(int *error) { pmpi_init_(error); begin(); }
void mpi_finalize_(int *error) { end(); pmpi_finalize_(error); }
#endif
#endif
