// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on a cluster in virtual time. Lanes follow the rules of kernels/runtime/lane.h:
// instructions run in order and wait for their dependencies, and a step begins only when the loop's
// lanes in the process (in all processes if an executor follows the order) have ended the previous
// step. The objects of kernels/runtime/loops decide when a loop may begin a step: ExampleCount,
// StalenessBound, Quorum. Lanes of a server's process take turns on its cores, first come, first
// served. If workers and servers use more cores than a host has, those that compute at the same
// time share the cores evenly; if hosts share a machine's cores, messages under way take cores, too
// (channels.h). No values are computed. The results are times, bytes, staleness, and the order in
// which loops access shared state; an executor that follows this order computes the values of the
// cluster's run. Runs are bitwise reproducible.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/distribute/traffic.h"
#include "kernels/runtime/loops/access_order.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/quorum.h"
#include "kernels/runtime/loops/staleness_bound.h"
#include "kernels/runtime/measure/reports.h"
#include "kernels/virtual/channels.h"
#include "kernels/virtual/cluster.h"
#include "kernels/virtual/collective_run.h"
#include "kernels/virtual/events.h"
#include "kernels/virtual/program.h"

namespace regatta::virtual_time {

struct SimulationOptions {
  std::vector<int> host_of;          ///< host_of[p] is the host of process p
  std::map<int, double> stragglers;  ///< factor on compute time, by worker's index in workers()
  AccessOrder* order = nullptr;      ///< receives the order of accesses; null: not recorded
};

/// The history of a loop, recorded by its leading lane (ProgramLane::leads). Entry k is for step k.
struct SimulatedLoop {
  std::vector<double> step_ns;
  std::vector<std::int64_t> examples;  ///< claimed by the model's loops when the step began
};

class Simulation {
 public:
  /// `program` and `cluster` must outlive this object.
  Simulation(const Program& program, const Cluster& cluster, const SimulationOptions& options);

  /// Runs until all loops together have seen `examples`, counted since this object was made; all
  /// loops then stop at a step boundary. Throws: RunError(Timeout) if lanes wait for each other for
  /// ever.
  void advance_to(std::int64_t examples);

  double now() const { return now_; }
  std::uint64_t events() const { return events_.added(); }
  std::int64_t examples_seen() const;
  /// Returns each worker's process and report, ordered by place.
  std::vector<std::pair<int, WorkerReport>> workers() const;
  const std::vector<SimulatedLoop>& loops() const { return histories_; }
  /// Returns the bytes and messages of the places that are built.
  const TrafficByPlace& traffic() const { return traffic_; }
  /// Returns the bytes that all places have sent, built or not.
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  enum class State : std::uint8_t { Ready, Parked, Busy, Inside, Done };
  struct Lane {
    State state = State::Done;
    bool in_step = false;
    bool has_core = false;  ///< holds one of its server's cores
    std::size_t at = 0;     ///< index of the instruction
    std::int32_t met = 0;   ///< dependencies met, in their order
    std::size_t until = 0;  ///< end of the span of instructions that it computes
    int inside = 0;         ///< members still in its collective, of those for which it stands
    std::int64_t step = 0;
    double began = 0;     ///< time at which the step, or the wait for it, began
    double since = 0;     ///< end of the time that is accounted for
    double factor = 1;    ///< factor on compute time in this step
    double looked = 0;    ///< end of the time in which collectives beside it are accounted for
    double alone_ns = 0;  ///< compute time of the span on cores of its own
    double slowdown = 1;  ///< straggler's part of `factor`
    std::uint32_t worker = 0;
    std::array<double, kCategories> spent{};
    double delayed = 0;
    double waited = 0;
    double bubble = 0;  ///< the part of `waited` for other stages of the replica
    double exposed = 0;
    double total = 0;
    MemberTraffic* traffic = nullptr;                   ///< traffic of the place; null: none yet
    std::vector<int> watchers;                          ///< lanes that wait for its progress
    std::vector<std::pair<double, double>> peer_waits;  ///< recent ones: begin, end
    std::vector<std::pair<double, double>> beside;      ///< collectives of its place: begin, end
    std::vector<std::uint64_t> staleness;
  };
  struct Loop {
    std::int64_t claimed = 0;  ///< steps
    std::int64_t finished = 0;
    bool is_over = false;
    bool push_counts = false;  ///< the first server counts the last push
  };
  /// A server with backup workers.
  struct Server {
    explicit Server(const QuorumOptions& options) : quorum(options) {}
    Quorum quorum;
    std::vector<int> waiting;  ///< lanes
  };
  struct Mailbox {
    std::int64_t begun = 0;
    std::int64_t left = 0;
    std::int64_t arrived = 0;
    std::int64_t taken = 0;
    int receiver = -1;  ///< lane that waits; -1: none
    int sender = -1;
  };
  struct Cores {
    int free = 0;
    std::deque<int> lanes;  ///< waiting lanes, in order
  };

  Lane& lane(int l) { return lanes_[static_cast<std::size_t>(l)]; }
  const ProgramLane& planned(int l) const { return program_.lanes[static_cast<std::size_t>(l)]; }
  const LaneInstruction& instruction(int l) { return planned(l).instructions[lane(l).at]; }
  MemberTraffic& traffic_of(int l) {
    Lane& one = lane(l);
    if (one.traffic == nullptr) one.traffic = &traffic_[planned(l).place];
    return *one.traffic;
  }
  bool is_at_server(int l) const { return planned(l).place.role == Role::Server; }
  void make_rules();
  void add_collective(const ProgramCollective& collective);
  bool are_alike(const ProgramCollective& collective);
  LinkShares shares_of(const Place& from, const Place& to, const Alike& of);
  bool enter(int l);
  void begin_loops(std::int64_t target);
  void happen(const Event& event);
  void arrive(const Event& event);
  void go(int l);
  bool may_begin(int l);
  bool claim(int l);
  bool is_claimed(int loop, std::int64_t step) const;
  bool bound_holds(int l);
  bool quorum_lets_begin(int l);
  void push(int l, QuorumPart part);
  Server& server_of(int l) { return servers_.at(planned(l).place.stage); }
  Loop& loop_of(int l) { return loops_[static_cast<std::size_t>(planned(l).loop)]; }
  ExampleCount& count_of(int loop) {
    const int model = program_.loops[static_cast<std::size_t>(loop)].model;
    return counts_[static_cast<std::size_t>(model)];
  }
  /// Whether the lane's push completes a step. The lane then runs the updates behind the quorum.
  bool runs_behind(int l) { return server_of(l).quorum.completes(planned(l).place.replica); }
  void begin_step(int l);
  void end_wait(int l);
  void end(int l);
  double stages_ended(int l) const;
  void end_step(int l);
  void go_on_to(int l, std::size_t at);
  void wait_for_peers(int l);
  bool is_due(int l, const LaneInstruction& each);
  StepMoment moment_of(int l, const LaneInstruction& each);
  std::int64_t seen_at(int loop, std::int64_t step);
  void account(int l, const LaneInstruction& each, double longer);
  bool await_dependencies(int l);
  bool start(int l);
  bool take_core(int l);
  void leave_core(int l);
  void find_shared_cores();
  bool shares_cores(int l) const;
  void occupy(int l, double ns, Event then);
  void compute(int l, double ns);
  bool computes_on(int l);
  void spend(int l, double ns);
  double time_in_process(std::int64_t bytes) const;
  void compute_run(int l);
  bool send(int l);
  bool sent(int l);
  bool receive(int l);
  void join(int l);
  void advance_member(int collective, std::int64_t member);
  void deliver(int collective, std::int64_t from, const MemberMessage& message, std::int64_t slot);
  void add_arrival(double time, const Delivery& delivery);
  void leave(int collective, std::int64_t member);
  void finish_run(int l);
  void finish(int l, double span);
  void note_versions(int l, const LaneInstruction& each);
  void note_average(int l, const LaneInstruction& each);
  std::int64_t key_of(int l, std::int64_t variable) const {
    return planned(l).loop * std::int64_t{program_.shared_variables} + variable;
  }
  void note_access(int l, std::size_t variable, AccessOrder::Access access);
  void wake(std::vector<int>& lanes);
  void ready(int l);
  void park(int l, int behind);
  double overlap(const Lane& other, double begin, double end) const;
  [[noreturn]] void stand_still() const;

  const Program& program_;
  const Cluster& cluster_;
  SimulationOptions options_;
  EventQueue events_;
  Network network_{events_};  ///< some links stand for cores, some flows for computing
  Channels channels_;
  std::vector<int> shared_cores_of_;  ///< [process]: the link of its cores; -1: it has enough
  double core_capacity_ = 1;          ///< of such a link, per core
  std::vector<Event> behind_flows_;   ///< [computing flow]: the event that follows its end
  double now_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Loop> loops_;
  std::vector<Mailbox> mailboxes_;
  std::vector<CollectiveRun> collectives_;
  std::map<std::tuple<int, int, std::int64_t, std::int64_t>, LinkShares> shares_;
  std::map<Place, int> computes_at_;      ///< its compute lane, on devices with a collective_share
  std::vector<std::vector<int>> joined_;  ///< [collective with a time]: lanes that have come
  std::vector<Cores> cores_;              ///< [process]
  std::vector<std::int64_t> versions_;    ///< [shared variable]
  std::unordered_map<std::int64_t, std::int64_t> seen_;  ///< by loop and variable
  std::map<int, Server> servers_;                        ///< by stage; empty without backup workers
  std::deque<ExampleCount> counts_;                      ///< [model]
  std::optional<StalenessBound> bound_;
  std::vector<int> followers_;  ///< lanes that wait for a claim
  std::vector<int> held_back_;  ///< leaders that wait for slower loops
  std::deque<int> ready_;
  std::vector<SimulatedLoop> histories_;
  TrafficByPlace traffic_;
  std::int64_t bytes_sent_ = 0;
  std::vector<std::size_t> orders_;  ///< [shared variable]; empty if no order is recorded
};

}  // namespace regatta::virtual_time
