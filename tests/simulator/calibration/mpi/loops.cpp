// A ring in C++.
#include <mpi.h>
#include <vector>

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<double> mine(10, me), theirs(10);
    MPI_Request requests[2];
    MPI_Irecv(theirs.data(), 10, MPI_DOUBLE, (me + size - 1) % size, 1, MPI_COMM_WORLD, requests);
    MPI_Isend(mine.data(), 10, MPI_DOUBLE, (me + 1) % size, 1, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, theirs.data(), 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
}
