"""A simulator that goes from tick to tick and follows the text of simulator/DESIGN.md as literally as it can.

Far too slow for anything but small programs with coarse ticks, and with nothing clever in it: the engines, which leap
from event to event, must find the same ticks.
"""

from math import floor

from simulator.engines import faults
from simulator.engines.costs import service_table
from simulator.programs.columns import Kind
from simulator.programs.program import ANY
from tests.support.chunk_oracle import Pool

FULL = 2**30
POLLED = (Kind.SEND, Kind.RECV, Kind.EXCHANGE, Kind.WAIT, Kind.BARRIER)


class TooLongError(Exception):
    """More ticks than anybody wants to wait for."""


def service(table, tick):
    """R(tick), piece by piece."""
    knots, end = table.knots.tolist(), int(table.knots[-1])
    if table.after_end == "cycle" and tick >= end:
        return tick // end * int(table.attained[-1]) + service(table, tick % end)
    for piece in range(len(knots) - 1):
        if knots[piece] <= tick < knots[piece + 1]:
            gained = floor(float(table.rates[piece]) * ours(table, piece, tick - knots[piece]))
            return min(int(table.attained[piece]) + gained, int(table.attained[piece + 1]))
    return int(table.attained[-1]) + floor(float(table.rates[-1]) * ours(table, -1, tick - end))


def ours(table, piece, ticks):
    """Of so many ticks those in which our processes have their turn."""
    if table.turns is None:
        return ticks
    own, every = table.turns[:, piece].tolist()
    return sum(tick % every >= every - own for tick in range(ticks))


class Transfer:
    def __init__(self, row, sender, tick):
        self.row, self.sender, self.requested = row, sender, tick
        self.ends = self.flows_from = self.left = self.over = None
        self.rate = 0
        self.granted = False


class Message:
    def __init__(self, row, sender, receiver, tag, tick, eager):
        self.row, self.sender, self.receiver, self.tag, self.tick, self.eager = row, sender, receiver, tag, tick, eager
        self.transfer, self.taken = None, False


class Stepwise:
    def __init__(self, scenario, costs, configuration, replication, *, starts, tick_s, longest=3000):
        self.scenario, self.costs, self.c, self.r = scenario, costs, configuration, replication
        self.columns, self.longest = costs.columns, longest
        self.name = scenario.configurations[costs.configurations[configuration]].name
        self.starts, self.tick_s = starts, tick_s
        self.placement = costs.placement[configuration].tolist()
        count = self.columns.processes
        self.row = self.columns.first[:-1].tolist()
        self.state = [None] * count
        self.begun = [0] * count
        self.ends = {}
        self.finish = [0] * count
        self.busy = [0] * count
        self.computing = {}
        self.transfers, self.messages, self.receives, self.pulls = [], [], [], []
        self.posted = []
        """Receives from named senders that have no message yet, in the order in which they were posted."""
        self.requests = {}
        self.arrived = [0] * self.columns.barriers.size
        self.pools = [Pool(self.columns.farm_tables[table]) for table in self.columns.farms.tolist()]
        self.turns = []
        """Requests that a pool serves later, and when."""
        self.m = {}
        self.kept = {}
        self.quotas = []
        """Of each control group its PEs, budget, period, phase."""
        if costs.quotas is not None:
            quotas, phases = costs.quotas, costs.quotas.phases[replication].tolist()
            self.quotas = list(
                zip(quotas.members, quotas.budgets.tolist(), quotas.periods.tolist(), phases, strict=True)
            )
        self.used = [0] * len(self.quotas)
        self.standing = set()
        """PEs whose control group has used its quota."""
        self.now = 0

    def cost(self, values, row):
        values = values[min(self.c, values.shape[0] - 1)]
        return int((values[min(self.r, values.shape[0] - 1)] if values.ndim > 1 else values)[row])

    def run(self):
        while True:
            self.ended()
            moved = True
            while moved:
                moved = False
                for process in range(len(self.row)):
                    moved |= self.advance(process)
            self.grant()
            self.share()
            if not self.pending():
                break
            self.now += 1
            if self.now > self.longest:
                raise TooLongError
        stuck = [row for row, last in zip(self.row, self.columns.first[1:].tolist(), strict=True) if row < last]
        if stuck:
            raise faults.stuck(self.costs, self.name, stuck)
        lost = [message.row for message in self.messages if not message.taken]
        if lost:
            raise faults.unreceived(self.costs, self.name, lost)
        return max(self.finish)

    def pending(self):
        timers = any(state and state.get("until", -1) > self.now for state in self.state)
        return timers or bool(self.turns) or bool(self.computing) or any(one.over is None for one in self.transfers)

    # What is due ends, phase a

    def ended(self):
        self.use()
        for process, (pe, left, _) in list(self.computing.items()):
            table = service_table(self.scenario.platform.pes[pe], self.m[pe], tick_s=self.tick_s)
            at = self.starts[pe] + self.now
            grown = service(table, at) - service(table, at - 1)
            still = left - (0 if pe in self.standing else self.kept.get(process, FULL) * grown)
            self.computing[process] = (pe, still, None)
            if still <= 0:
                del self.computing[process]
                self.state[process]["done"] = True
        for one in self.transfers:
            if one.over is not None:
                continue
            if one.left is not None:
                one.left -= (one.rate * self.now >> 40) - (one.rate * (self.now - 1) >> 40)
                if one.left <= 0:
                    one.over = self.now
            elif one.ends == self.now:
                one.over = self.now

    def use(self):
        """What control groups used in the last tick."""
        for number, (pes, _, _, _) in enumerate(self.quotas):
            for pe in pes:
                if self.m.get(pe) and pe not in self.standing:
                    table = service_table(self.scenario.platform.pes[pe], self.m[pe], tick_s=self.tick_s)
                    at, last = self.starts[pe] + self.now, int(table.knots[-1])
                    if table.after_end != "error" or at <= last:
                        self.used[number] += self.m[pe] * (service(table, at) - service(table, at - 1))

    # Processes advance, phase b

    def advance(self, process):
        row = self.row[process]
        if row >= self.columns.first[process + 1]:
            return False
        if self.state[process] is None:
            self.begun[process] = self.now
            self.state[process] = {}
            self.post(process, row, self.state[process])
            return True  # somebody may have waited for what was posted
        if not self.is_over(process, row, self.state[process]):
            return False
        self.ends[row] = (self.begun[process], self.now)
        self.row[process] += 1
        self.state[process] = None
        self.finish[process] = self.now
        return True

    def post(self, process, row, state):
        kind = self.columns.kind[row]
        if kind == Kind.COMPUTE:
            self.compute(process, self.nominal(row))
        if kind in (Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND):
            eager = bool(self.costs.eager[row])
            receiver, tag = int(self.columns.partner[row]), int(self.columns.tag[row])
            state["sent"] = Message(row, process, receiver, tag, self.now, eager)
            self.messages.append(state["sent"])
            if eager:
                state["sent"].transfer = self.request(row, process)
        if kind in (Kind.RECV, Kind.EXCHANGE, Kind.POST_RECV):
            column = self.columns.source if kind == Kind.EXCHANGE else self.columns.partner
            state["source"] = int(column[row])
            state["received"] = None
            if state["source"] == ANY:
                self.receives.append((self.now, process, state))
            else:
                self.posted.append((state["source"], process, int(self.columns.tag[row]), state))
        if kind in (Kind.POST_SEND, Kind.POST_RECV):
            self.requests[process, int(self.columns.source[row])] = state
        self.match_posted()
        if kind == Kind.BARRIER:
            self.arrived[self.columns.partner[row]] += 1
        if kind == Kind.FARM:
            self.pulls.append((self.now, process, state, int(self.columns.partner[row])))
        if kind == Kind.WAIT_UNTIL:
            state["until"] = self.cost(self.costs.ticks, row)
        if kind == Kind.DELAY:
            drawn = self.costs.computation[row] >= 0
            state["until"] = self.now + (self.nominal(row) if drawn else self.cost(self.costs.ticks, row))
        if kind == Kind.READ_WRITE:
            state["transfer"] = self.request(row, process)

    def nominal(self, row):
        ticks = self.costs.nominal_ticks
        ticks = ticks[min(self.c, ticks.shape[0] - 1)][min(self.r, ticks.shape[1] - 1)]
        return int(ticks[self.costs.computation[row]])

    def compute(self, process, ticks):
        self.computing[process] = (self.placement[process], ticks * FULL, None)
        self.state[process]["done"] = False
        self.state[process]["computing_since"] = self.now

    def request(self, row, process):
        transfer = Transfer(row, process, self.now)
        self.transfers.append(transfer)
        ticks, route = self.cost(self.costs.ticks, row), self.cost(self.costs.route, row)
        if route < 0 or self.costs.contention == "none":
            transfer.ends = self.now + ticks
        elif self.costs.contention == "fair":
            if self.cost(self.costs.units, row):
                transfer.flows_from = self.now + ticks
            else:
                transfer.ends = self.now + ticks
        return transfer

    def is_over(self, process, row, state):  # noqa: PLR0911 - one for each kind
        kind = self.columns.kind[row]
        if kind == Kind.COMPUTE:
            if state["done"]:
                self.busy[process] += self.now - state["computing_since"]
            return state["done"]
        if kind in (Kind.DELAY, Kind.WAIT_UNTIL):
            return state["until"] <= self.now
        if kind == Kind.READ_WRITE:
            return state["transfer"].over is not None
        if kind == Kind.BARRIER:
            return self.arrived[self.columns.partner[row]] == self.columns.barriers[self.columns.partner[row]]
        if kind == Kind.FARM:
            return self.farm(process, row, state)
        if kind in (Kind.POST_SEND, Kind.POST_RECV):
            return True
        if kind == Kind.WAIT:
            state = self.requests[process, int(self.columns.source[row])]
        return self.has_met(state)

    def has_met(self, state):
        over = True
        if "sent" in state:
            message = state["sent"]
            over = message.eager or (message.transfer is not None and message.transfer.over is not None)
        if "source" in state:
            over &= self.received(state)
        return over

    def match_posted(self):
        for entry in list(self.posted):
            *channel, state = entry
            mine = [one for one in self.messages if [one.sender, one.receiver, one.tag] == channel and not one.taken]
            if mine:
                self.match(mine[0], state)
                self.posted = [one for one in self.posted if one is not entry]

    def received(self, state):
        if state["received"] is None:
            return False
        over = state["received"].transfer.over
        return over is not None and self.now >= state.get("granted", -1) + 1

    def match(self, message, state):
        message.taken = True
        state["received"] = message
        if not message.eager:
            message.transfer = self.request(message.row, message.sender)

    def farm(self, process, row, state):
        """Whether a process has done its part."""
        number = int(self.columns.partner[row])
        table, pool = int(self.columns.farms[number]), self.pools[number]
        place = self.columns.farm_tables[table].processes.index(process)
        if state.get("done") is True:
            self.busy[process] += self.now - state["computing_since"]
            state.pop("done")
            first, after = state["units"]
            pool.times[place].append((after - first, self.now - state["computing_since"]))
            if pool.rule == "static":
                return True
            self.pulls.append((self.now, process, state, number))
            return False
        if "until" not in state or state["until"] > self.now:
            return False
        first, after = state["units"]
        if first == after:
            return True
        before = self.costs.farm_ticks[table]
        before = before[min(self.c, before.shape[0] - 1)][min(self.r, before.shape[1] - 1)]
        before = before[self.costs.farm_rows[table][place]]
        state.pop("until")
        self.compute(process, max(1, int(before[after] - before[first])))
        return False

    # Grants, phase c

    def grant(self):
        for tick, process, state in sorted(self.receives, key=lambda one: one[:2]):
            tag = int(self.columns.tag[self.row[process]])
            mine = [one for one in self.messages if (one.receiver, one.tag) == (process, tag) and not one.taken]
            earliest = {}
            for one in mine:
                earliest.setdefault(one.sender, one)
            if earliest:
                chosen = min(earliest.values(), key=lambda one: (one.tick, one.sender, one.row))
                state["granted"], state["until"] = self.now, self.now + 1
                self.match(chosen, state)
                self.receives.remove((tick, process, state))
        for _, process, state, number in sorted(self.pulls, key=lambda one: one[:2]):
            pool, table = self.pools[number], int(self.columns.farms[number])
            served = max(self.now, pool.free)
            pool.free = served + self.costs.serve_ticks[table]
            self.turns.append((served, process, state, number))
        self.pulls.clear()
        for turn in [one for one in self.turns if one[0] == self.now]:
            self.turns.remove(turn)
            self.serve(*turn[1:])
        if self.costs.contention == "fifo":
            self.grant_links()

    def serve(self, process, state, number):
        table, pool = int(self.columns.farms[number]), self.pools[number]
        place = self.columns.farm_tables[table].processes.index(process)
        first, after = pool.take(place)
        row = self.costs.data_rows[table][self.c][place]
        state["units"] = first, after
        state["until"] = self.now + self.costs.pull_ticks[table] + int(self.costs.data_ticks[table][row][after - first])

    def links_of(self, transfer):
        route = self.cost(self.costs.route, transfer.row)
        if route < 0:
            return set()
        first, last = self.costs.route_first[route : route + 2].tolist()
        return set(self.costs.route_links[first:last].tolist())

    def grant_links(self):
        taken = set()
        for one in self.transfers:
            if one.granted and one.over is None:
                taken |= self.links_of(one)
        waiting = [one for one in self.transfers if one.ends is None and one.over is None]
        for one in sorted(waiting, key=lambda one: (one.requested, one.sender, one.row)):
            links = self.links_of(one)
            if not links & taken:
                one.granted = True
                one.ends = self.now + self.cost(self.costs.ticks, one.row)
            taken |= links

    # Shares and rates, phase d

    def share(self):
        for pe in range(len(self.scenario.platform.pes)):
            self.m[pe] = sum(place == pe for place, _, _ in self.computing.values())
            if self.columns.polls:
                self.m[pe] += sum(self.polls(process) for process, place in enumerate(self.placement) if place == pe)
        self.stand()
        if self.costs.sharing is not None:
            running = [process for process in self.computing if self.placement[process] not in self.standing]
            self.kept = {process: self.keeps(process) for process in running}
        if self.costs.contention == "fair":
            self.rates()

    def stand(self):
        self.standing = set()
        busy = {place for place, _, _ in self.computing.values()}
        for number, (pes, budget, period, phase) in enumerate(self.quotas):
            if (self.now + phase) % period == 0:
                self.used[number] = 0
            if self.used[number] >= budget and busy.intersection(pes):
                self.standing.update(pes)

    # Sharing domains, straight from the text

    def load(self, pe):
        """In 1/1024, from the trace itself."""
        load, cores = self.scenario.platform.pes[pe].load, self.scenario.platform.pes[pe].cores
        if load is None:
            return 0
        tick, end = self.starts[pe] + self.now, round(load.trace.end_s / self.tick_s)
        tick = tick % end if load.trace.after_end == "cycle" else tick
        begun = [i for i, t in enumerate(load.trace.times_s.tolist()) if round(t / self.tick_s) <= tick]
        value = float(load.trace.values[begun[-1]])
        return round(1024 * ((1 - value) * cores if load.rule == "given" else value))

    def on(self, pe, slot, without=None):
        """Units of all on a PE but one process, as if each had a core; `m` of them; the load."""
        sharing, c = self.costs.sharing, self.c
        kind = sharing.domains[int(sharing.slots[pe, slot])].kind
        units = self.load(pe) * int(sharing.load_demands[c, pe, slot]) // 1024
        if pe in self.standing:
            return units
        for process, (place, _, _) in self.computing.items():
            if place == pe and process != without:
                units += int(sharing.demands[c, process, slot])
        if kind in ("core", "clock") and self.columns.polls:
            units += 16 * sum(self.polls(process) for process, place in enumerate(self.placement) if place == pe)
        return units

    def keeps(self, process):
        sharing, c, pe = self.costs.sharing, self.c, self.placement[process]
        share = FULL
        for slot, number in enumerate(sharing.slots[pe].tolist()):
            if number < 0 or sharing.tables[c, process, slot] < 0:
                continue
            domain, others = sharing.domains[number], 0
            for place in domain.pes:
                cores, load = self.scenario.platform.pes[place].cores, self.load(place)
                m = 0 if place in self.standing else self.m[place]
                at = sharing.slots[place].tolist().index(number)
                units = self.on(place, at, process)
                if domain.kind != "cache" and m + load / 1024 > cores:
                    if place == pe:
                        units = units * 1024 * (cores - 1) // (1024 * (m - 1) + load)
                    else:
                        units = units * 1024 * cores // (1024 * m + load)
                others += units
            table = sharing.table(int(sharing.tables[c, process, slot])).tolist()
            share = max(1, share * table[min(others, len(table) - 1)] >> 30)
        return share

    def polls(self, process):
        state = self.state[process]
        if state is None:
            return False
        kind = self.columns.kind[self.row[process]]
        return kind in POLLED or (kind == Kind.FARM and process not in self.computing)

    def rates(self):
        flows = [one for one in self.transfers if one.flows_from is not None and one.over is None]
        for one in flows:
            if one.flows_from == self.now:
                one.left = self.cost(self.costs.units, one.row)
        flows = [one for one in flows if one.left is not None]
        free = dict(enumerate(self.costs.capacities.tolist()))
        unfixed = list(flows)
        while unfixed:
            on = {link: [one for one in unfixed if link in self.links_of(one)] for link in free}
            shares = {link: free[link] // len(some) for link, some in on.items() if some}
            least = min(shares.values())
            if least == 0:
                first = min(link for link, share in shares.items() if share == 0)
                raise faults.no_rate(faults.link_name(self.scenario.platform, first))
            fixed = [one for one in unfixed if any(shares[link] == least for link in self.links_of(one))]
            for one in fixed:
                one.rate = least
                for link in self.links_of(one):
                    free[link] -= least
            unfixed = [one for one in unfixed if one not in fixed]
