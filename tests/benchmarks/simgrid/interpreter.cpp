// Runs one platform and one program, both read from standard input as text, in SimGrid; prints when every operation ended.
//
//   interpreter [--cfg=KEY:VALUE ...] < DESCRIPTION
//
// One item a line, words apart by blanks; `#` starts a comment; names have no blanks; numbers as C++ reads them.
//
//   equal-weights                        flows share equally although their latencies differ (README.md); at the very top
//   host NAME SPEED CORES                flop/s of one core
//   speed HOST PERIOD T V T V ...        from T seconds on a share V of the speed is there (1 before the first T);
//                                        repeats every PERIOD seconds, or `-`: the last value stays
//   link NAME BANDWIDTH LATENCY [fatpipe]    bytes/s and s; one direction's capacity, shared by all flows on it; a
//                                        fatpipe gives each flow all of it
//   bandwidth LINK PERIOD T V T V ...    as `speed`, V in bytes/s
//   route FROM TO LINK ...               the links that messages from host FROM to host TO cross; this way only
//   barrier NAME COUNT                   opens when COUNT processes are there
//   process NAME HOST                    the lines below, down to the next `process`, are what it does:
//   compute FLOPS | sleep SECONDS | wait NAME    `wait`: at a barrier
//   send PROCESS BYTES TAG               ends when the receiver has everything (rendezvous)
//   recv PROCESS TAG                     from that process; sends and receives of one pair and tag match in order
//
// Prints JSON: {"simgrid": VERSION, "makespan_s": ..., "ends_s": {PROCESS: [end of each operation, ...], ...}}.
// Status 2 and one line on stderr for a bad description, 3 when processes wait for ever (SimGrid's own lines tell which).

#include "names.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

namespace {

struct Profile {
  std::vector<double> gaps;
  std::vector<double> values;
  double repeat_s = -1;
};

struct Process {
  std::string name;
  sg4::Host* host;
  std::vector<std::function<void()>> operations;
  std::vector<double> ends_s;
};

[[noreturn]] void refuse(int line, const std::string& why)
{
  std::cerr << "error: line " << line << ": " << why << "\n";
  std::exit(2);
}

class Reader {
public:
  explicit Reader(sg4::Engine& engine) : zone_(full_zone(engine, "all")) {}

  void read(std::istream& input)
  {
    std::string line;
    while (std::getline(input, line)) {
      number_++;
      std::istringstream words(line.substr(0, line.find('#')));
      std::string word;
      if (words >> word)
        item(word, words);
    }
    zone_->seal();
  }

  std::deque<Process>& processes() { return processes_; }

private:
  sg4::NetZone* zone_;
  std::map<std::string, sg4::Host*> hosts_;
  std::map<std::string, sg4::Link*> links_;
  std::map<std::string, sg4::BarrierPtr> barriers_;
  std::map<std::string, double> latencies_;
  std::map<std::pair<const sg4::Host*, const sg4::Host*>, double> route_latencies_;
  std::deque<Profile> profiles_;
  std::deque<Process> processes_;
  bool equal_weights_ = false;
  int number_         = 0;

  template <class T> T next(std::istringstream& words, const char* what)
  {
    T value;
    if (not(words >> value))
      refuse(number_, std::string(what) + " missing or not understood");
    return value;
  }

  template <class T> T& known(std::map<std::string, T>& all, std::istringstream& words, const char* what)
  {
    const auto name  = next<std::string>(words, what);
    const auto found = all.find(name);
    if (found == all.end())
      refuse(number_, std::string(what) + ": no " + name);
    return found->second;
  }

  void item(const std::string& word, std::istringstream& words)
  {
    if (word == "equal-weights")
      equal_weights();
    else if (word == "host")
      host(words);
    else if (word == "speed")
      known(hosts_, words, "host")->set_speed_profile(read_profile(words));
    else if (word == "link")
      link(words);
    else if (word == "bandwidth")
      known(links_, words, "link")->set_bandwidth_profile(read_profile(words));
    else if (word == "route")
      route(words);
    else if (word == "barrier") {
      const auto name = next<std::string>(words, "name");
      barriers_[name] = sg4::Barrier::create(next<unsigned>(words, "count"));
    } else if (word == "process")
      process(words);
    else
      operation(word, words);
    if (std::string rest; words >> rest)
      refuse(number_, "too much: " + rest);
  }

  void host(std::istringstream& words)
  {
    const auto name  = next<std::string>(words, "name");
    const auto speed = next<double>(words, "speed");
    hosts_[name]     = add_host(zone_, name, speed)->set_core_count(next<int>(words, "cores"));
  }

  void link(std::istringstream& words)
  {
    const auto name      = next<std::string>(words, "name");
    const auto bandwidth = next<double>(words, "bandwidth");
    latencies_[name]     = next<double>(words, "latency");
    auto* made           = add_link(zone_, name, bandwidth)->set_latency(equal_weights_ ? 0 : latencies_[name]);
    if (std::string policy; words >> policy) {
      if (policy != "fatpipe")
        refuse(number_, "policy: " + policy);
      made->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    }
    links_[name] = made;
  }

  simgrid::kernel::profile::Profile* read_profile(std::istringstream& words)
  {
    profiles_.emplace_back();
    Profile& made     = profiles_.back();
    const auto period = next<std::string>(words, "period");
    double before     = 0;
    for (double time; words >> time; before = time) {
      made.gaps.push_back(time - before);
      made.values.push_back(next<double>(words, "value"));
    }
    if (made.gaps.empty())
      refuse(number_, "profile: no values");
    if (period != "-")
      made.repeat_s = std::stod(period) - before;
    words.clear();
    words.str("");
    return make_profile("profile" + std::to_string(profiles_.size()), made.gaps.size(), made.gaps.data(),
                   made.values.data(), made.repeat_s);
  }

  // SimGrid gives each flow a share in proportion to 1 / (sum of its links' latencies). So the links get none, every
  // route gets one more link with 1 s, and the factor on that is the latency that was asked for.
  void equal_weights()
  {
    equal_weights_ = true;
    set_latency_factor(zone_, [this](double, const sg4::Host* from, const sg4::Host* to, const auto&, const auto&) {
      const auto found = route_latencies_.find({from, to});
      return found == route_latencies_.end() ? 1.0 : found->second; // none: the loopback
    });
  }

  void route(std::istringstream& words)
  {
    auto* from = known(hosts_, words, "host");
    auto* to   = known(hosts_, words, "host");
    std::vector<sg4::LinkInRoute> links;
    for (std::string name; words >> name;) {
      if (links_.find(name) == links_.end())
        refuse(number_, "link: no " + name);
      links.emplace_back(links_[name]);
      route_latencies_[{from, to}] += latencies_[name];
    }
    words.clear();
    words.str("");
    if (links.empty())
      refuse(number_, "route: no links");
    if (equal_weights_) {
      auto* unit = add_link(zone_, "unit:" + from->get_name() + ":" + to->get_name(), 1e300);
      links.emplace_back(unit->set_latency(1.0)->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE));
    }
    add_route(zone_, from, to, links);
  }

  void process(std::istringstream& words)
  {
    const auto name = next<std::string>(words, "name");
    processes_.push_back({name, known(hosts_, words, "host"), {}, {}});
  }

  void operation(const std::string& word, std::istringstream& words)
  {
    if (processes_.empty())
      refuse(number_, "what is " + word + ", before any process?");
    Process& own = processes_.back();
    if (word == "compute") {
      const auto flops = next<double>(words, "flops");
      own.operations.emplace_back([flops] { sg4::this_actor::execute(flops); });
    } else if (word == "sleep") {
      const auto duration = next<double>(words, "seconds");
      own.operations.emplace_back([duration] { sg4::this_actor::sleep_for(duration); });
    } else if (word == "wait") {
      auto barrier = known(barriers_, words, "barrier");
      own.operations.emplace_back([barrier] { barrier->wait(); });
    } else if (word == "send") {
      const auto to    = next<std::string>(words, "process");
      const auto bytes = next<uint64_t>(words, "bytes");
      auto* box        = sg4::Mailbox::by_name(own.name + " " + to + " " + next<std::string>(words, "tag"));
      own.operations.emplace_back([box, bytes] {
        static int payload;
        box->put(&payload, bytes);
      });
    } else if (word == "recv") {
      const auto from = next<std::string>(words, "process");
      auto* box       = sg4::Mailbox::by_name(from + " " + own.name + " " + next<std::string>(words, "tag"));
      own.operations.emplace_back([box] { box->get<int>(); });
    } else
      refuse(number_, "what is " + word + "?");
  }
};

} // namespace

int main(int argc, char* argv[])
{
  // Time exact to 1e-13 s, shares to 1e-12 of a capacity, and all shares computed anew at every change: SimGrid's
  // default, which looks only at what it believes to be affected, is wrong at times (README.md). The command line wins.
  std::vector<std::string> words{argv[0],
                                 "--log=xbt_cfg.thres:warning",
                                 "--cfg=" PRECISION_TIMING ":1e-13",
                                 "--cfg=" PRECISION_WORK ":1e-12",
                                 "--cfg=network/optim:Full",
                                 "--cfg=network/maxmin-selective-update:no"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  sg4::Engine engine(&count, arguments.data());
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  Reader reader(engine);
  reader.read(std::cin);
  for (Process& process : reader.processes())
    add_actor(process.name, process.host, [&process] {
      for (const auto& operation : process.operations) {
        operation();
        process.ends_s.push_back(sg4::Engine::get_clock());
      }
    });
  engine.run();

  double makespan = 0;
  std::string ends;
  for (const Process& process : reader.processes()) {
    if (process.ends_s.size() < process.operations.size()) {
      std::cerr << "error: " << process.name << " waits for ever in operation " << process.ends_s.size() << "\n";
      return 3;
    }
    ends += (ends.empty() ? "\"" : ", \"") + process.name + "\": [";
    for (std::size_t i = 0; i < process.ends_s.size(); i++) {
      char text[40];
      std::snprintf(text, sizeof text, "%s%.17g", i ? ", " : "", process.ends_s[i]);
      ends += text;
      makespan = std::max(makespan, process.ends_s[i]);
    }
    ends += "]";
  }
  std::printf("{\"simgrid\": \"%d.%d\", \"makespan_s\": %.17g, \"ends_s\": {%s}}\n", SIMGRID_VERSION_MAJOR,
              SIMGRID_VERSION_MINOR, makespan, ends.c_str());
}
