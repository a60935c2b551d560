! The same ring in Fortran with mpif.h.
program ring
  implicit none
  include 'mpif.h'
  integer :: me, many, ierr, requests(2)
  double precision :: mine(10), theirs(10)
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, me, ierr)
  call mpi_comm_size(mpi_comm_world, many, ierr)
  mine = me
  call mpi_irecv(theirs, 10, mpi_double_precision, mod(me + many - 1, many), 1, mpi_comm_world, requests(1), ierr)
  call mpi_isend(mine, 10, mpi_double_precision, mod(me + 1, many), 1, mpi_comm_world, requests(2), ierr)
  call mpi_waitall(2, requests, mpi_statuses_ignore, ierr)
  call mpi_allreduce(mpi_in_place, theirs, 10, mpi_double_precision, mpi_sum, mpi_comm_world, ierr)
  call mpi_finalize(ierr)
end program ring
