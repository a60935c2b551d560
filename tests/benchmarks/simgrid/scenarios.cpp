// Runs one of the benchmark's scenarios in SimGrid, as fast as SimGrid can, and says how long that took.
//
//   scenarios NAME FILE [--cfg=KEY:VALUE ...]
//
// NAME: A, B, Bbar, C, D, E (one configuration after the other in one simulation), Efork (a process for each), F, G;
// `tests/benchmarks/scenarios.py` defines them. FILE: 8 bytes `ARRAYS01`, int64 count, count int64 lengths, then the doubles of all arrays, little-endian:
//
//   A       peaks[H], holds_s[H*K], shares[H*K], flops[H*T]
//   B, Bbar peaks[P], flops[S*P], (message_bytes, latency_s, bandwidth)
//   C       peaks[P], panel_flops[N], panel_bytes[N], update_flops[N*P], (0, latency_s, bandwidth)
//   D       capacities[F], flow_bytes[R*F], (backbone, latency_s)
//   E       as C with peaks[configurations*P]
//   F       arrivals_s[N], flops[N], (speed)
//   G       peaks[P], flops[N], (1 for guided chunks, pull_s)
//
// Prints {"simgrid": VERSION, "makespan_s": ..., "build_s": ..., "run_s": ..., "cpu_s": ...}. The clock starts when SimGrid's engine is
// there and the file is in memory; building is platform, profiles and actors, running is the simulation. In Efork it starts
// before the first fork, and each child needs an engine of its own, because SimGrid allows one per process: all is in run_s.
// cpu_s is the processor time of both together, which a busy machine does not stretch.

#include "names.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using DatedValues = std::vector<simgrid::kernel::profile::DatedValue>;

struct Array {
  const double* data;
  std::size_t size;
  double operator[](std::size_t i) const { return data[i]; }
};

[[noreturn]] void fail(const char* why)
{
  std::fprintf(stderr, "error: %s\n", why);
  std::exit(2);
}

std::vector<Array> read_arrays(const char* path)
{
  const int file = open(path, O_RDONLY);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0 || about.st_size < 16)
    fail("FILE cannot be read");
  const auto bytes = static_cast<std::size_t>(about.st_size);
  const void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (mapped == MAP_FAILED)
    fail("FILE cannot be mapped");
  const char* text = static_cast<const char*>(mapped);
  if (std::memcmp(text, "ARRAYS01", 8) != 0)
    fail("FILE is not of this format");
  const auto* numbers = reinterpret_cast<const int64_t*>(text + 8);
  const auto* next    = reinterpret_cast<const double*>(numbers + 1 + numbers[0]);
  std::vector<Array> arrays;
  for (int64_t i = 1; i <= numbers[0]; i++) {
    arrays.push_back({next, static_cast<std::size_t>(numbers[i])});
    next += numbers[i];
  }
  if (reinterpret_cast<const char*>(next) != text + bytes)
    fail("FILE is too short or too long");
  return arrays;
}

// Processor time of this process and of the children it has waited for.
double cpu_s()
{
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage used {};
    getrusage(who, &used);
    total += static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    total += 1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }
  return total;
}

double now_s()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

char payload;

// One process per host

std::vector<sg4::Host*> make_hosts(sg4::NetZone* zone, Array peaks, std::size_t count)
{
  std::vector<sg4::Host*> hosts;
  for (std::size_t h = 0; h < count; h++)
    hosts.push_back(add_host(zone, "h" + std::to_string(h), peaks[h]));
  return hosts;
}

void build_hosts_with_traces(sg4::Engine& engine, const std::vector<Array>& arrays)
{
  const std::size_t hosts = arrays[0].size, knots = arrays[1].size / hosts, tasks = arrays[3].size / hosts;
  auto* zone              = full_zone(engine, "all");
  auto all                = make_hosts(zone, arrays[0], hosts);
  for (std::size_t h = 0; h < hosts; h++) {
    const double* holds  = arrays[1].data + h * knots;
    const double* shares = arrays[2].data + h * knots;
    auto fill            = [holds, shares, knots](DatedValues& values) {
      const bool again = not values.empty();
      values.reserve(values.size() + knots);
      values.emplace_back(again ? holds[knots - 1] : 0.0, shares[0]);
      for (std::size_t k = 1; k < knots; k++)
        values.emplace_back(holds[k - 1], shares[k]);
    };
    all[h]->set_speed_profile(simgrid::kernel::profile::ProfileBuilder::from_callback("profile" + std::to_string(h), fill,
                                                                                      holds[knots - 1]));
    const double* flops = arrays[3].data + h * tasks;
    add_actor("p", all[h], [flops, tasks] {
      for (std::size_t t = 0; t < tasks; t++)
        sg4::this_actor::execute(flops[t]);
    });
  }
  zone->seal();
}

// Rings: message from process p to p + 1 through mailbox p, over one link of its own. Waiting for what was not started
// is SimGrid's quickest way to send and to receive.

struct Ring {
  std::vector<sg4::Mailbox*> boxes;

  // Routes to the next host only, or to all.
  Ring(sg4::NetZone* zone, const std::vector<sg4::Host*>& hosts, Array link, bool to_all = false)
  {
    for (std::size_t p = 0; p < hosts.size(); p++) {
      const std::string name = std::to_string(p);
      auto* own              = add_link(zone, "l" + name, link[2])->set_latency(link[1]);
      for (std::size_t step = 1; step < (to_all ? hosts.size() : 2); step++)
        add_route(zone, hosts[p], hosts[(p + step) % hosts.size()], {sg4::LinkInRoute(own)});
      boxes.push_back(sg4::Mailbox::by_name(name));
    }
  }

  void broadcast(std::size_t p, std::size_t root, double bytes) const
  {
    const std::size_t processes = boxes.size(), place = (p + processes - root) % processes;
    if (place > 0) {
      void* got = nullptr;
      boxes[(p + processes - 1) % processes]->get_init()->set_dst_data(&got, sizeof got)->wait();
    }
    if (place < processes - 1)
      boxes[p]->put_init()->set_payload_size(static_cast<uint64_t>(bytes))->set_src_data(&payload)->wait();
  }
};

void build_bulk_synchronous(sg4::Engine& engine, const std::vector<Array>& arrays, bool broadcast)
{
  const std::size_t processes = arrays[0].size, steps = arrays[1].size / processes;
  auto* zone   = full_zone(engine, "all");
  auto hosts   = make_hosts(zone, arrays[0], processes);
  auto ring    = std::make_shared<Ring>(zone, broadcast ? hosts : std::vector<sg4::Host*>{}, arrays[2]);
  auto barrier = sg4::Barrier::create(static_cast<unsigned>(processes));
  for (std::size_t p = 0; p < processes; p++)
    add_actor("p", hosts[p], [p, processes, steps, broadcast, ring, barrier, flops = arrays[1], link = arrays[2]] {
      for (std::size_t s = 0; s < steps; s++) {
        sg4::this_actor::execute(flops[s * processes + p]);
        if (broadcast)
          ring->broadcast(p, s % processes, link[0]);
        else
          barrier->wait();
      }
    });
  zone->seal();
}

// Process p of one factorization.
void factorize(const Ring& ring, std::size_t p, const std::vector<Array>& arrays)
{
  const std::size_t processes = ring.boxes.size();
  const Array panels = arrays[1], sizes = arrays[2], updates = arrays[3];
  for (std::size_t k = 0; k < panels.size; k++) {
    if (p == k % processes)
      sg4::this_actor::execute(panels[k]);
    ring.broadcast(p, k % processes, sizes[k]);
    if (const double flops = updates[k * processes + p]; flops > 0)
      sg4::this_actor::execute(flops);
  }
}

void build_panel_factorization(sg4::Engine& engine, const std::vector<Array>& arrays)
{
  auto* zone = full_zone(engine, "all");
  auto hosts = make_hosts(zone, arrays[0], arrays[0].size);
  auto ring  = std::make_shared<Ring>(zone, hosts, arrays[4]);
  for (std::size_t p = 0; p < hosts.size(); p++)
    add_actor("p", hosts[p], [ring, p, &arrays] { factorize(*ring, p, arrays); });
  zone->seal();
}

// All configurations one after the other on the same hosts, which only change places: `least` gets the shortest.
void build_allocation_sweep(sg4::Engine& engine, const std::vector<Array>& arrays, double* least)
{
  const std::size_t processes = arrays[3].size / arrays[1].size;
  auto* zone                  = full_zone(engine, "all");
  auto hosts                  = make_hosts(zone, arrays[0], processes);
  auto ring                   = std::make_shared<Ring>(zone, hosts, arrays[4], true);
  add_actor("all", hosts[0], [ring, processes, hosts, least, &arrays] {
    *least = 1e300;
    for (std::size_t first = 0; first < arrays[0].size; first += processes) {
      const double start = sg4::Engine::get_clock();
      std::vector<sg4::ActorPtr> actors;
      for (std::size_t p = 0; p < processes; p++) {
        auto same = [&](const sg4::Host* host) { return host->get_speed() == arrays[0][first + p]; };
        auto* host = *std::find_if(hosts.begin(), hosts.end(), same);
        actors.push_back(add_actor("p", host, [ring, p, &arrays] { factorize(*ring, p, arrays); }));
      }
      for (const auto& actor : actors)
        actor->join();
      *least = std::min(*least, sg4::Engine::get_clock() - start);
    }
  });
  zone->seal();
}

// Flows and tasks

void build_shared_backbone(sg4::Engine& engine, const std::vector<Array>& arrays)
{
  const std::size_t flows = arrays[0].size, rounds = arrays[1].size / flows;
  auto* zone     = full_zone(engine, "all");
  auto* sink     = add_host(zone, "sink", 1e9);
  auto* backbone = add_link(zone, "backbone", arrays[2][0]);
  std::vector<sg4::Host*> hosts;
  for (std::size_t f = 0; f < flows; f++) {
    hosts.push_back(add_host(zone, "h" + std::to_string(f), 1e9));
    auto* own = add_link(zone, "l" + std::to_string(f), arrays[0][f])->set_latency(arrays[2][1]);
    add_route(zone, hosts[f], sink, {sg4::LinkInRoute(own), sg4::LinkInRoute(backbone)});
  }
  add_actor("rounds", sink, [flows, rounds, hosts, sink, sizes = arrays[1]] {
    for (std::size_t r = 0; r < rounds; r++) {
      std::vector<sg4::CommPtr> comms;
      comms.reserve(flows);
      for (std::size_t f = 0; f < flows; f++)
        comms.push_back(sg4::Comm::sendto_async(hosts[f], sink, static_cast<uint64_t>(sizes[r * flows + f])));
      for (const auto& comm : comms)
        comm->wait();
    }
  });
  zone->seal();
}

void build_processor_sharing(sg4::Engine& engine, const std::vector<Array>& arrays)
{
  auto* zone = full_zone(engine, "all");
  auto* host = add_host(zone, "h", arrays[2][0]);
  for (std::size_t i = 0; i < arrays[0].size; i++)
    add_actor("p", host, [arrival = arrays[0][i], flops = arrays[1][i]] {
      sg4::this_actor::sleep_until(arrival);
      sg4::this_actor::execute(flops);
    });
  zone->seal();
}

// Actors run one after the other, so the pool is a number that all of them share.
void build_self_scheduled(sg4::Engine& engine, const std::vector<Array>& arrays)
{
  auto* zone        = full_zone(engine, "all");
  auto hosts        = make_hosts(zone, arrays[0], arrays[0].size);
  const bool guided = arrays[2][0] != 0;
  auto taken        = std::make_shared<std::size_t>(0);
  for (auto* host : hosts)
    add_actor("p", host, [guided, taken, processes = hosts.size(), flops = arrays[1], pull_s = arrays[2][1]] {
      for (bool more = true; more;) {
        const std::size_t left = flops.size - *taken, first = *taken;
        const std::size_t chunk = guided ? (left + processes - 1) / processes : std::min<std::size_t>(1, left);
        *taken += chunk;
        more = chunk > 0;
        sg4::this_actor::sleep_for(pull_s);
        double sum = 0;
        for (std::size_t unit = first; unit < first + chunk; unit++)
          sum += flops[unit];
        if (more)
          sg4::this_actor::execute(sum);
      }
    });
  zone->seal();
}

// Running

struct Times {
  double makespan_s, build_s, run_s, cpu_s;
};

Times run_once(std::vector<std::string>& words, const std::string& name, const std::vector<Array>& arrays)
{
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  sg4::Engine engine(&count, arguments.data());

  const double start = now_s(), start_cpu = cpu_s();
  double least = -1;
  if (name == "A")
    build_hosts_with_traces(engine, arrays);
  else if (name == "B" || name == "Bbar")
    build_bulk_synchronous(engine, arrays, name == "B");
  else if (name == "C" || name == "Efork")
    build_panel_factorization(engine, arrays);
  else if (name == "D")
    build_shared_backbone(engine, arrays);
  else if (name == "E")
    build_allocation_sweep(engine, arrays, &least);
  else if (name == "F")
    build_processor_sharing(engine, arrays);
  else if (name == "G")
    build_self_scheduled(engine, arrays);
  else
    fail("NAME is none of A, B, Bbar, C, D, E, Efork, F, G");
  const double built = now_s();
  engine.run();
  const double done = now_s();
  return {name == "E" ? least : sg4::Engine::get_clock(), built - start, done - built,
          cpu_s() - start_cpu};
}

Times run_forked(std::vector<std::string>& words, const std::vector<Array>& arrays)
{
  const std::size_t processes = arrays[3].size / arrays[1].size;
  const double start = now_s(), start_cpu = cpu_s();
  double least                     = 1e300;
  for (std::size_t first = 0; first < arrays[0].size; first += processes) {
    int ends[2];
    if (pipe(ends) != 0)
      fail("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      std::vector<Array> own = arrays;
      own[0]                 = {arrays[0].data + first, processes};
      const double makespan  = run_once(words, "Efork", own).makespan_s;
      const bool sent        = write(ends[1], &makespan, sizeof makespan) == sizeof makespan;
      _exit(sent ? 0 : 1);
    }
    double makespan = 0;
    close(ends[1]);
    if (child < 0 || read(ends[0], &makespan, sizeof makespan) != sizeof makespan)
      fail("a configuration ended without a makespan");
    close(ends[0]);
    waitpid(child, nullptr, 0);
    least = std::min(least, makespan);
  }
  return {least, 0, now_s() - start, cpu_s() - start_cpu};
}

} // namespace

int main(int argc, char* argv[])
{
  if (argc < 3)
    fail("usage: scenarios NAME FILE [--cfg=KEY:VALUE ...]");
  const std::string name = argv[1];
  const auto arrays      = read_arrays(argv[2]);
  std::vector<std::string> words{argv[0],
                                 "--log=root.thres:critical",
                                 "--cfg=network/model:CM02",
                                 "--cfg=network/TCP-gamma:0",
                                 "--cfg=network/crosstraffic:0",
                                 "--cfg=contexts/factory:raw",
                                 "--cfg=contexts/stack-size:16",
                                 "--cfg=contexts/guard-size:0"};
  words.insert(words.end(), argv + 3, argv + argc);
  const Times times = name == "Efork" ? run_forked(words, arrays) : run_once(words, name, arrays);
  std::printf("{\"simgrid\": \"%d.%d\", \"makespan_s\": %.17g, \"build_s\": %.9f, \"run_s\": %.9f, \"cpu_s\": %.6f}\n",
              SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, times.makespan_s, times.build_s, times.run_s, times.cpu_s);
  std::fflush(stdout);
  _exit(0); // tearing the engine down is no part of the answer
}
