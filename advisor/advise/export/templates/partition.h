/* Reads this rank's part of partition.csv (rank,host,pe,first,units), written by apportion advise.
 *
 *   long long first, units;
 *   if (read_partition("partition.csv", rank, &first, &units)) MPI_Abort(MPI_COMM_WORLD, 1);
 */
#ifndef APPORTION_PARTITION_H
#define APPORTION_PARTITION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 if the rank was found; 1 if the file cannot be read or does not have it. */
static int read_partition(const char *path, int rank, long long *first, long long *units)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    while (fgets(line, sizeof line, file)) {
        char *end, *last = strrchr(line, ','), *before;
        long found = strtol(line, &end, 10);
        if (end == line || *end != ',' || !last || found != rank)
            continue;
        *last = '\0';
        before = strrchr(line, ',');
        if (!before)
            break;
        *first = strtoll(before + 1, NULL, 10);
        *units = strtoll(last + 1, NULL, 10);
        fclose(file);
        return 0;
    }
    fclose(file);
    return 1;
}

#endif
