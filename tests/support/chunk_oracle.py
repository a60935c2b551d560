"""A pool of units by the text of simulator/DESIGN.md: it keeps every chunk and looks at all of them again each time."""

import math


class Pool:
    def __init__(self, table):
        told = table.scheduling
        self.rule, self.units, self.processes = told.rule, table.volumes.size, len(table.processes)
        self.told, self.chunk = told, table.chunk
        self.given = []
        """Sizes of all chunks."""
        self.times = [[] for _ in table.processes]
        """Units and ticks of the finished chunks of each process."""
        self.batch, self.of_batch = None, 0
        """What was agreed when the batch began; chunks (fac, fac2) or units (awf-b) of it that are left."""
        self.free = 0

    @property
    def left(self):
        return self.units - sum(self.given)

    def take(self, place):
        """First unit and the one after for a process."""
        if self.rule == "static":
            first = sum(self.told.parts[:place])
            self.given.append(self.told.parts[place])
            return first, first + self.told.parts[place]
        first, left = sum(self.given), self.left
        if left == 0:
            return first, first
        count = min(left, max(1, getattr(self, self.rule.replace("-", "_"))(left, place)))
        self.given.append(count)
        return first, first + count

    def ss(self, _left, _place):
        return self.chunk

    def gss(self, left, _place):
        return max(self.told.least, math.ceil(left / self.processes))

    def tss(self, _left, _place):
        last = min(self.told.last, self.units)
        first = self.told.first or math.ceil(self.units / (2 * self.processes))
        first = max(first, last)
        count = math.ceil(2 * self.units / (first + last))
        step = (first - last) // (count - 1) if count > 1 else 0
        return max(last, first - len(self.given) * step)

    def fac2(self, left, _place):
        if self.of_batch == 0:
            self.of_batch, self.batch = self.processes, max(self.told.least, math.ceil(left / (2 * self.processes)))
        self.of_batch -= 1
        return self.batch

    def fac(self, left, _place):
        if self.of_batch == 0:
            b = self.processes / (2 * math.sqrt(left)) * self.told.assumed_cv
            x = 2 + b * b + b * math.sqrt(b * b + 4) if self.given else 1 + b * b + b * math.sqrt(b * b + 2)
            self.of_batch = self.processes
            self.batch = max(self.told.least, math.ceil(left / (x * self.processes)))
        self.of_batch -= 1
        return self.batch

    def awf_b(self, left, place):
        if self.of_batch == 0:
            size = max(self.told.least, math.ceil(left / (2 * self.processes)))
            self.of_batch = min(left, self.processes * size)
            speeds = []
            for chunks in self.times:
                done, took = 0.0, 0.0
                for k, (units, ticks) in enumerate(chunks, 1):
                    done += k * units
                    took += k * ticks
                speeds.append(done / took if chunks else None)
            known = [speed for speed in speeds if speed is not None]
            mean = added(known) / len(known) if known else 1.0
            speeds = [mean if speed is None else speed for speed in speeds]
            self.batch = size, speeds, added(speeds)
        size, speeds, whole = self.batch
        count = max(self.told.least, int(self.processes * speeds[place] / whole * size + 0.5))
        count = min(count, self.of_batch)
        self.of_batch -= count
        return count

    def af(self, left, place):
        if min(map(len, self.times)) < 2:
            return self.told.least
        known = [mean_and_variance(chunks) for chunks in self.times]
        d = added([variance / mean for mean, variance in known])
        t = 1 / added([1 / mean for mean, _ in known])
        root = math.sqrt(d * d + 4 * d * t * left)
        return max(self.told.least, int((d + 2 * t * left - root) / (2 * known[place][0])))


def added(numbers):
    whole = 0.0
    for number in numbers:
        whole += number
    return whole


def mean_and_variance(chunks):
    """Of a unit's time."""
    weight = mean = squares = 0.0
    for units, ticks in chunks:
        each = ticks / units
        weight += units
        off = each - mean
        mean += off * units / weight
        squares += units * off * (each - mean)
    return mean, squares / (len(chunks) - 1)
