// SPDX-License-Identifier: Apache-2.0
//
// Represents a partitioned step without its graph. Each lane has the instructions of its plan
// (kernels/runtime/plan.h) with their times, messages and collectives. An instruction takes 56
// bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/node_steps.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/loops/quorum.h"
#include "kernels/runtime/plan.h"
#include "kernels/virtual/collective_schedule.h"
#include "kernels/virtual/devices.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta::virtual_time {

enum class Work : std::uint8_t { Compute, Copy, Send, Sent, Receive, Collective };

/// The role of an instruction at a server with backup workers, whose steps take only the pushes
/// that arrive first (loops/quorum.h).
enum class QuorumPart : std::uint8_t { None, Decides, Follows, Behind };

/// Number of entries in Program::lists for one wait: lane, index, of_stage.
inline constexpr std::int32_t kListedOfWait = 3;

struct LaneInstruction {
  Work work = Work::Compute;
  Category category = Category::Compute;
  bool awaited = false;       ///< another lane waits for this instruction
  bool is_a_read = false;     ///< reads shared variables and notes their versions
  bool is_an_update = false;  ///< updates shared variables
  bool looks_ahead = false;   ///< an update without a gradient
  bool averages = false;      ///< averages the first listed variable with another one, if any
  bool adds = false;          ///< a receive that adds to its inputs
  bool of_stage = false;      ///< receives messages from another stage of the replica
  QuorumPart quorum = QuorumPart::None;
  std::int32_t steps = -1;   ///< index of Program::node_steps; -1: every step
  std::int32_t number = -1;  ///< number of the message or collective, or index in Program::senders
  std::int32_t member = 0;   ///< member of the collective, or the replica that averages
  std::int32_t first = 0;    ///< index in Program::lists of its waits
  std::int32_t waits = 0;
  std::int32_t listed = 0;  ///< entries after the waits: sent messages or shared variables
  std::int64_t bytes = 0;
  double ns = 0;  ///< compute time
};

struct ProgramLane {
  int process = 0;
  int loop = 0;  ///< number of the loop in the whole graph
  Place place;
  bool communication = false;
  bool leads = false;  ///< its loop's first compute lane, at the first server if it has a quorum
  std::vector<LaneInstruction> instructions;
  std::vector<int> stages;  ///< lanes of its loop and process: other stages of its replica
};

struct ProgramMessage {
  int from = 0;  ///< process
  int to = 0;
  bool of_server = false;
  Place sender;
  Place receiver;
};

struct ProgramCollective {
  CollectiveSchedule schedule;
  bool by_library = false;  ///< in a library, which does not separate waiting from transfer
  /// Time from the last member's arrival to the end, for all members; below 0: the schedule
  /// decides.
  double ns = -1;
  std::map<std::int64_t, MemberTraffic> traffic = {};  ///< by member, if `ns` is set
  std::vector<int> lanes;  ///< lanes[m] is the lane of member m, or of the one that stands for it
  std::vector<std::int32_t> stands_for;  ///< [m]: the member whose lane that is
  std::vector<int> processes;            ///< [m]: its process, also if it is not built
  std::vector<Place> places;             ///< [m]; empty if every place is built
  std::int64_t built = 0;                ///< number of members that have a lane of their own
  Alike alike = {};                      ///< the numbers of collectives for which this one stands
};

struct ProgramLoop {
  std::int64_t examples = 0;  ///< per step
  int model = 0;
  std::vector<int> lanes;
};

struct Program {
  int processes = 1;
  Alike alike = {};                       ///< as in Step
  std::map<Place, int> process_of_place;  ///< as in Partition
  std::int64_t global_batch = 0;
  std::optional<std::int64_t> staleness_bound;
  /// The quorum of each server; empty without backup workers. A loop's number in the quorum is that
  /// of its replica.
  std::map<int, QuorumOptions> quorums;
  std::vector<ProgramLane> lanes;
  std::vector<ProgramLoop> loops;
  std::vector<ProgramMessage> messages;
  std::vector<ProgramCollective> collectives;
  std::vector<NodeSteps> node_steps;
  std::vector<Place> senders;                ///< places that copies read
  std::vector<std::int32_t> lists;           ///< waits (lane, index, of_stage), messages, variables
  std::int32_t shared_variables = 0;         ///< over all processes
  std::map<std::int32_t, Variable> shared;   ///< those that several loops read and update
  std::vector<std::string> unknown_kernels;  ///< keys without a cost, each once
};

/// Accelerators that replace costs by key, and the host of each process.
struct DevicesOfHosts {
  const Devices* devices = nullptr;  ///< null: none
  std::span<const int> host_of = {};
};

/// Returns the options of a plan for devices; null: for the cores of hosts.
PlanOptions plan_options(const Devices* devices);

/// Builds the program. `parts[p]` is the step of process p, made by partition(). Throws:
/// RunError(Unsupported) for an op that virtual time does not model, or that devices do not.
Program make_program(std::span<const Step> parts, const KernelCosts& costs, int threads,
                     const DevicesOfHosts& on = {});

}  // namespace regatta::virtual_time
