// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/distribute/loop_map.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/node_steps.h"
#include "kernels/runtime/loops/quorums.h"

namespace regatta::virtual_time {
namespace {

std::int64_t bytes_of(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  if (node.op == Op::Send) {
    for (const Value input : node.inputs) bytes += graph.type(input).bytes();
  } else {
    for (const TensorType& type : node.outputs) bytes += type.bytes();
  }
  return bytes;
}

class Maker {
 public:
  Maker(const KernelCosts& costs, int threads, std::span<const Step> parts,
        const DevicesOfHosts& on)
      : costs_(costs), on_(on), threads_per_worker_(threads) {
    program_.processes = static_cast<int>(parts.size());
    program_.global_batch = parts.front().global_batch;
    program_.alike = parts.front().alike;
    program_.process_of_place = parts.front().partition.process_of_place;
    for (const Step& part : parts) program_.quorums.merge(quorums_of(part));
    for (const Step& part : parts) {
      if (!part.graph.nodes().empty()) add(part);
      ++process_;
    }
  }

  Program finish() {
    program_.unknown_kernels.assign(unknown_.begin(), unknown_.end());
    return std::move(program_);
  }

 private:
  struct Bases {
    int lane = 0;
    std::int32_t variable = 0;
    int own_lane = 0;
  };

  void add(const Step& part) {
    const Graph& graph = part.graph;
    const Plan plan(part, plan_options(on_.devices));
    threads_ = lane_threads(graph, threads_per_worker_);
    const int first_lane = static_cast<int>(program_.lanes.size());
    const std::int32_t first_variable = program_.shared_variables;
    program_.shared_variables += static_cast<std::int32_t>(graph.variables().size());
    if (part.staleness_bound) program_.staleness_bound = part.staleness_bound;
    const std::vector<LoopPart> loops = loops_of(part);
    for (const LanePlan& planned : plan.lanes()) {
      const LoopPart& loop = loops[static_cast<std::size_t>(planned.loop)];
      const int number = static_cast<int>(program_.lanes.size());
      ProgramLane lane{.process = process_,
                       .loop = loop.number,
                       .place = planned.place,
                       .communication = planned.communication,
                       .instructions = {},
                       .stages = {}};
      enter(loop, number, lane);
      for (const Instruction& instruction : planned.instructions) {
        lane.instructions.push_back(
            compile(graph, instruction, {first_lane, first_variable, number}));
      }
      program_.lanes.push_back(std::move(lane));
    }
    find_stages(first_lane);
  }

  void find_stages(int first_lane) {
    const int end = static_cast<int>(program_.lanes.size());
    for (int l = first_lane; l < end; ++l) {
      ProgramLane& lane = program_.lanes[static_cast<std::size_t>(l)];
      for (int other = first_lane; other < end; ++other) {
        const ProgramLane& each = program_.lanes[static_cast<std::size_t>(other)];
        if (lane.loop == each.loop && are_stages(lane.place, each.place)) {
          lane.stages.push_back(other);
        }
      }
    }
  }

  /// The loops of a part; a step that is not partitioned counts as one part.
  static std::vector<LoopPart> loops_of(const Step& part) {
    if (!part.partition.parts.empty()) return part.partition.parts;
    const LoopMap loops(part, Binding());
    std::vector<LoopPart> all;
    for (int number = 0; number < loops.count(); ++number) all.push_back(loops.loop(number));
    return all;
  }

  void enter(const LoopPart& part, int number, ProgramLane& lane) {
    const auto index = static_cast<std::size_t>(part.number);
    if (program_.loops.size() <= index) program_.loops.resize(index + 1);
    ProgramLoop& loop = program_.loops[index];
    loop.examples = part.examples;
    loop.model = part.model;
    loop.lanes.push_back(number);
    const bool may_lead = program_.quorums.empty()
                              ? lane.place.role == Role::Worker
                              : lane.place.role == Role::Server && lane.place.stage == 0;
    lane.leads = !lane.communication && may_lead && led_.insert(part.number).second;
  }

  LaneInstruction compile(const Graph& graph, const Instruction& instruction, const Bases& bases) {
    const Node& node = graph.node(instruction.node);
    LaneInstruction made{.category = category_of(graph, node),
                         .awaited = instruction.awaited,
                         .first = static_cast<std::int32_t>(program_.lists.size()),
                         .waits = static_cast<std::int32_t>(instruction.waits.size()),
                         .bytes = bytes_of(graph, node)};
    for (const Dependency& wait : instruction.waits) {
      program_.lists.push_back(bases.lane + wait.lane);
      program_.lists.push_back(wait.index);
      program_.lists.push_back(wait.of_stage ? 1 : 0);
    }
    made.of_stage = comes_from_stage(graph, node);
    const NodeSteps steps = node_steps(node);
    if (!steps.is_every_step()) made.steps = number_in(program_.node_steps, steps);
    if (computes(graph, node)) {
      compute(graph, instruction.node, bases, made);
    } else {
      communicate(graph, node, bases, made);
    }
    return made;
  }

  /// The cost for the node's key. If there is none, notes the key and returns 0.
  double measured_ns(const Graph& graph, NodeId id) {
    const std::string key = kernel_key(graph, id, threads_);
    const auto cost = costs_.find(key);
    if (cost != costs_.end()) return cost->second;
    unknown_.insert(key);
    return 0;
  }

  void compute(const Graph& graph, NodeId id, const Bases& bases, LaneInstruction& made) {
    const Node& node = graph.node(id);
    if (node.op == Op::Quorum) {
      made.quorum =
          node.attributes.integer("decides") != 0 ? QuorumPart::Decides : QuorumPart::Follows;
    } else if (is_behind_quorum(graph, node)) {
      made.quorum = QuorumPart::Behind;
    }
    made.ns = on_.devices != nullptr ? on_.devices->kernel_ns(graph, id) : measured_ns(graph, id);
    made.looks_ahead = node.op == Op::Lookahead;
    if (node.op == Op::Average) {
      made.member = static_cast<std::int32_t>(node.attributes.integer("replica"));
    }
    for (const VariableId v : node.variables) {
      if (graph.variable(v).sharing == Sharing::None) continue;
      made.averages = is_average(node.op) || node.op == Op::Assign;
      made.is_an_update = op_info(node.op).assigns && !made.averages;
      made.is_a_read = !op_info(node.op).assigns;
      program_.lists.push_back(bases.variable + v);
      program_.shared.emplace(bases.variable + v, graph.variable(v));
      ++made.listed;
    }
  }

  [[noreturn]] static void refuse(const Node& node) {
    throw RunError(ErrorKind::Unsupported,
                   "virtual time has no '" + std::string(to_string(node.op)) + "' yet");
  }

  void communicate(const Graph& graph, const Node& node, const Bases& bases,
                   LaneInstruction& made) {
    if (node.op == Op::Copy) {
      made.work = Work::Copy;
      made.number = number_in(program_.senders, graph.node(node.inputs[0].node).place);
    } else if (node.op == Op::Send || node.op == Op::Receive) {
      made.work = node.op == Op::Send ? Work::Send : Work::Receive;
      made.adds = node.op == Op::Receive && !node.inputs.empty();
      made.number = static_cast<std::int32_t>(node.attributes.integer("message"));
      enter_message(node, made.number);
    } else if (node.op == Op::Sent) {
      made.work = Work::Sent;
      for (const std::int64_t m : node.attributes.integers("messages")) {
        program_.lists.push_back(static_cast<std::int32_t>(m));
        ++made.listed;
      }
    } else if (is_collective(node.op)) {
      made.work = Work::Collective;
      made.member = static_cast<std::int32_t>(node.member);
      made.number = collective_number(graph, node);
      enter_members(node, bases.own_lane,
                    program_.collectives[static_cast<std::size_t>(made.number)]);
      if (on_.devices != nullptr) {
        program_.collectives[static_cast<std::size_t>(made.number)].traffic[node.member] =
            member_traffic(collective_shape(graph, node), node.member);
      }
    } else {
      refuse(node);
    }
  }

  void enter_message(const Node& node, std::int32_t number) {
    const auto index = static_cast<std::size_t>(number);
    if (program_.messages.size() <= index) program_.messages.resize(index + 1);
    ProgramMessage& message = program_.messages[index];
    const int peer = static_cast<int>(node.attributes.integer("peer"));
    const bool sends = node.op == Op::Send;
    message = {.from = sends ? process_ : peer,
               .to = sends ? peer : process_,
               .of_server = is_of_server(node),
               .sender = sends ? node.place : sender_of(node),
               .receiver = sends ? receiver_of(node) : node.place};
  }

  void enter_members(const Node& node, int lane, ProgramCollective& collective) {
    const Alike own = alike_members(node);
    const std::vector<std::int64_t> members = members_of(node);
    ++collective.built;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto m = static_cast<std::size_t>(members[i]);
      collective.lanes[m] = lane;
      collective.stands_for[m] = static_cast<std::int32_t>(node.member);
      collective.processes[m] = process_;
      if (program_.alike.places() == 1) continue;
      Place& place = collective.places[m] = node.place;
      place.replica += static_cast<int>(i) / static_cast<int>(own.shards);
      place.shard += static_cast<int>(i) % static_cast<int>(own.shards);
      collective.processes[m] = program_.process_of_place.at(place);
    }
  }

  std::int32_t collective_number(const Graph& graph, const Node& node) {
    const std::int64_t group = node.attributes.integer("group");
    const auto [entry, is_new] =
        collectives_.try_emplace(group, static_cast<std::int32_t>(program_.collectives.size()));
    if (is_new) {
      const CollectiveShape shape = collective_shape(graph, node);
      const auto members = static_cast<std::size_t>(shape.members);
      const Alike own = alike_members(node);
      program_.collectives.push_back(
          {.schedule = CollectiveSchedule(shape),
           .by_library = shape.algorithm == kMpi,
           .lanes = std::vector<int>(members, -1),
           .stands_for = std::vector<std::int32_t>(members),
           .processes = std::vector<int>(members),
           .places = std::vector<Place>(program_.alike.places() > 1 ? members : 0),
           .built = 0,
           .alike = {.replicas = program_.alike.replicas / own.replicas,
                     .shards = program_.alike.shards / own.shards}});
      if (on_.devices != nullptr) put_on_devices(shape, program_.collectives.back());
    }
    return entry->second;
  }

  /// Sets the collective's time to that of its members' devices.
  void put_on_devices(const CollectiveShape& shape, ProgramCollective& collective) const {
    if (shape.algorithm != kRing) {
      throw RunError(ErrorKind::Unsupported,
                     "devices have NCCL's ring and tree, not --all-reduce " +
                         std::string(shape.algorithm) + "; fix: --all-reduce ring");
    }
    std::vector<int> hosts;
    for (std::int64_t m = 0; m < shape.members; ++m) {
      const std::int64_t process =
          shape.part_of.empty() ? process_ : shape.part_of[static_cast<std::size_t>(m)];
      hosts.push_back(on_.host_of[static_cast<std::size_t>(process)]);
    }
    auto bytes = static_cast<double>(shape.elements * shape.element_bytes);
    if (shape.element_bytes == 4) bytes *= on_.devices->exchanged_bits / 32.0;
    collective.ns = on_.devices->collective_ns(shape.op, bytes, hosts);
  }

  /// Returns the index of a value in a list without duplicates; appends the value if it is new.
  template <typename T>
  static std::int32_t number_in(std::vector<T>& list, const T& value) {
    const auto found = std::find(list.begin(), list.end(), value);
    const auto index = static_cast<std::int32_t>(found - list.begin());
    if (found == list.end()) list.push_back(value);
    return index;
  }

  const KernelCosts& costs_;
  DevicesOfHosts on_;
  int threads_per_worker_;
  int threads_ = 1;  ///< of the part's lanes
  int process_ = 0;
  Program program_;
  std::set<std::string> unknown_;
  std::set<int> led_;
  std::map<std::int64_t, std::int32_t> collectives_;  ///< by group
};

}  // namespace

PlanOptions plan_options(const Devices* devices) {
  PlanOptions options;
  if (devices != nullptr && devices->communication == Communication::Blocking) {
    options.inline_bytes = std::numeric_limits<std::int64_t>::max();
  }
  return options;
}

Program make_program(std::span<const Step> parts, const KernelCosts& costs, int threads,
                     const DevicesOfHosts& on) {
  return Maker(costs, threads, parts, on).finish();
}

}  // namespace regatta::virtual_time
