! The same ring in Fortran with the module mpi_f08.
program ring
  use mpi_f08
  implicit none
  integer :: me, many
  type(MPI_Request) :: requests(2)
  double precision :: mine(10), theirs(10)
  call mpi_init()
  call mpi_comm_rank(mpi_comm_world, me)
  call mpi_comm_size(mpi_comm_world, many)
  mine = me
  call mpi_irecv(theirs, 10, mpi_double_precision, mod(me + many - 1, many), 1, mpi_comm_world, requests(1))
  call mpi_isend(mine, 10, mpi_double_precision, mod(me + 1, many), 1, mpi_comm_world, requests(2))
  call mpi_waitall(2, requests, mpi_statuses_ignore)
  call mpi_allreduce(mpi_in_place, theirs, 10, mpi_double_precision, mpi_sum, mpi_comm_world)
  call mpi_finalize()
end program ring
