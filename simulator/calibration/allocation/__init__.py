"""Runs of a program under chosen numbers of processes per PE: the plan's file, the runs made for real, their times."""
