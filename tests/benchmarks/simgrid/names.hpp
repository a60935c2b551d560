// What SimGrid 3.32 (Debian 12) and 4.1 name differently, and speed profiles from arrays.
#pragma once

#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40100
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;
using Links   = std::vector<sg4::LinkInRoute>;

#if SIMGRID_VERSION >= 40100

#define PRECISION_TIMING "precision/timing"
#define PRECISION_WORK "precision/work-amount"

// A zone of its own, whose routes are listed; several do not know of each other.
inline sg4::NetZone* full_zone(sg4::Engine& engine, const std::string& name)
{
  return engine.get_netzone_root()->add_netzone_full(name);
}
inline sg4::Host* add_host(sg4::NetZone* zone, const std::string& name, double speed)
{
  return zone->add_host(name, speed);
}
inline sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double bytes_per_s)
{
  return zone->add_link(name, bytes_per_s);
}
inline void add_route(sg4::NetZone* zone, const sg4::Host* from, const sg4::Host* to, const Links& links)
{
  zone->add_route(from, to, links, false);
}
template <class Code> sg4::ActorPtr add_actor(const std::string& name, sg4::Host* host, Code code)
{
  return host->add_actor(name, std::move(code));
}
template <class Factor> void set_latency_factor(sg4::NetZone* zone, Factor factor)
{
  zone->set_latency_factor_cb(std::move(factor));
}

#else

#define PRECISION_TIMING "surf/precision"
#define PRECISION_WORK "maxmin/precision"

inline sg4::NetZone* full_zone(const sg4::Engine&, const std::string& name)
{
  static sg4::NetZone* root = sg4::create_full_zone("everything");
  return sg4::create_full_zone(name)->set_parent(root);
}
inline sg4::Host* add_host(sg4::NetZone* zone, const std::string& name, double speed)
{
  return zone->create_host(name, speed);
}
inline sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double bytes_per_s)
{
  return zone->create_link(name, bytes_per_s);
}
inline void add_route(sg4::NetZone* zone, const sg4::Host* from, const sg4::Host* to, const Links& links)
{
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, links, false);
}
template <class Code> sg4::ActorPtr add_actor(const std::string& name, sg4::Host* host, Code code)
{
  return sg4::Actor::create(name, host, std::move(code));
}
template <class Factor> void set_latency_factor(sg4::NetZone* zone, Factor factor)
{
  zone->get_network_model()->set_lat_factor_cb(std::move(factor));
}

#endif

// A profile whose value k holds from `gaps[0] + ... + gaps[k]` on. With `repeat_s >= 0` it starts again that long after
// its last change; SimGrid calls the function each time it has used up what it was given.
inline simgrid::kernel::profile::Profile* make_profile(const std::string& name, std::size_t count, const double* gaps,
                                                       const double* values, double repeat_s)
{
  auto append = [count, gaps, values, repeat_s](std::vector<simgrid::kernel::profile::DatedValue>& all) {
    const std::size_t before = all.size();
    if (before > 0 && repeat_s < 0)
      return;
    all.reserve(before + count);
    for (std::size_t k = 0; k < count; k++)
      all.emplace_back(gaps[k], values[k]);
    if (before > 0)
      all[before].date_ += repeat_s;
  };
  return simgrid::kernel::profile::ProfileBuilder::from_callback(name, append, repeat_s);
}
