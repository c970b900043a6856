// SPDX-License-Identifier: Apache-2.0
//
// Tests fingerprints of real placements: two that differ in one thing differ exactly in the lines
// for it, and every line is needed for some difference.
#include "harness/plan/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/plan/race_flags.h"
#include "workloads/data/curve.h"
#include "workloads/data/shapes.h"

namespace regatta::plan {
namespace {

using Lines = std::set<std::string>;

/// The flags of a run, by name.
using Flags = std::map<std::string, std::string>;

/// The flags with those of `words`, in place of equal ones; `none` leaves a flag out.
Flags with(Flags flags, const std::string& words) {
  std::istringstream stream(words);
  for (std::string flag, value; stream >> flag >> value;) {
    if (value == "none") flags.erase(flag);
    if (value != "none") flags[flag] = value;
  }
  return flags;
}

/// The flags of runs that are compared. Winograd is off for some images, because with AMX bf16 runs
/// without it, and its line would differ, too. `without_nccl`: sums by no library, also on GPUs.
Flags flags_of(const std::string& run) {
  const Flags images =
      with({},
           "--workload resnet9_thin --strategy all_reduce --workers 2 --processes 2 "
           "--global-batch 64 --steps 10");
  const Flags points = with(images, "--workload parabola --global-batch 50");
  return std::map<std::string, Flags>{
      {"images", images},
      {"direct_images", with(images, "--winograd off")},
      {"wide_images", with(images, "--workload resnet9")},
      {"servers", with(images, "--strategy parameter_server")},
      {"points", points},
      {"on_gpus", with(points, "--device cuda")},
      {"without_nccl", with(points, "--all-reduce reduce_to_one")},
      {"stages", with(points, "--strategy all_reduce+model_parallel --workers 4 --stages 2")}}
      .at(run);
}

/// The inputs of a rank's fingerprint.
struct Side {
  RaceRequest request;
  DataSet data;
  system::SoftwareFacts software;
};

Side side_of(const Flags& flags) {
  static const DataSet images = workloads::make_shapes(20, workloads::Split::Train, 128);
  std::vector<std::string> arguments;
  for (const auto& [flag, value] : flags) arguments.insert(arguments.end(), {flag, value});
  return {.request = parse_run(arguments),
          .data = flags.at("--workload") == "parabola" ? workloads::make_curve() : images,
          .software = system::software_facts()};
}

Side points() { return side_of(flags_of("points")); }

Fingerprint fingerprint_of(const Side& side) {
  Placement placement = place(side.request, side.data.count);
  set_data_weights(placement, workloads::data_weights_of(*placement.workload, side.data));
  return fingerprint_of(side.request, placement, placement.placed->step, side.data, side.software);
}

Lines lines_of(const Fingerprint& fingerprint) {
  Lines names;
  for (const auto& [name, value] : fingerprint) names.insert(name);
  return names;
}

Lines lines_that_differ(const Fingerprint& a, const Fingerprint& b) {
  EXPECT_EQ(lines_of(a), lines_of(b));
  Lines names;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b.at(i)) names.insert(a[i].first);
  }
  EXPECT_EQ(difference(a, b).empty(), names.empty());
  return names;
}

/// One thing in which another rank may differ: its flags or another input.
struct Difference {
  std::string run;    ///< of both ranks, before the change
  std::string words;  ///< of the other rank
  std::string lines;  ///< that differ by the change
  std::function<void(Side&)> change = {};
};

const std::vector<Difference> kDifferences = {
    {"points", "--seed 2", "seed"},
    {"direct_images", "--dtype bf16", "dtype graph"},
    {"images", "--fusion off", "fusion graph"},
    {"points", "--rate-scale 2", "rate_scale graph"},
    {"images", "--normalization-group 16", "normalization_group graph"},
    {"images", "--steps 20", "steps graph"},
    {"points", "--steps none --epochs 9.5", "steps epochs"},  // rounded up
    {"points", "--evaluate end", "evaluate"},
    {"points", "--straggler 1:2", "straggler"},
    {"points", "--workers 4", "workers graph"},
    {"stages", "--stages 1 --strategy all_reduce+model_parallel", "stages buckets graph"},
    {"without_nccl", "--device cuda", "device cuda_graph cudnn_engine"},
    {"points", "--global-batch 40", "global_batch graph"},
    {"images", "--bucket-bytes 65536", "options buckets graph"},
    {"points", "--bucket-bytes 8388608", "options"},  // one bucket in any case
    {"on_gpus", "--cuda-graph off", "cuda_graph"},
    {"points", "--all-reduce reduce_to_one", "options graph"},
    {"points", "--strategy independent", "strategy options buckets graph"},
    {"images", "--workload resnet9", "workload options buckets graph"},
    {"direct_images", "--workload mobilenet_v2", "workload options recipe buckets graph"},
    {"points", "--processes 1", "processes"},
    {"servers", "--servers 2", "processes options graph"},
    {"servers", "--backup-workers 1", "options graph"},
    {"wide_images", "--winograd off", "winograd graph"},
    {"images", "", "data", [](Side& s) { s.data.digest += "0"; }},
    {"points", "", "dataset data", [](Side& s) { s.data.name = "line"; }},
    {"points", "", "regatta", [](Side& s) { s.software.git_commit += "0"; }},
    {"points", "", "regatta", [](Side& s) { s.software.dirty = !s.software.dirty; }},
    {"points", "", "compiler", [](Side& s) { s.software.compiler += "0"; }},
    {"points", "", "oneDNN", [](Side& s) { s.software.onednn += "0"; }},
    {"points", "", "gRPC", [](Side& s) { s.software.grpc = "0.1"; }},
    {"points", "", "Open MPI", [](Side& s) { s.software.open_mpi.reset(); }}};

Lines lines_of(const Difference& difference) {
  if (difference.lines == "Open MPI") return {difference.lines};
  std::istringstream stream(difference.lines);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Fingerprint, TellsEachDifferenceByItsOwnLines) {
  for (const Difference& difference : kDifferences) {
    const Flags flags = flags_of(difference.run);
    Side other = side_of(with(flags, difference.words));
    if (difference.change) difference.change(other);
    EXPECT_EQ(lines_that_differ(fingerprint_of(side_of(flags)), fingerprint_of(other)),
              lines_of(difference))
        << difference.run << ' ' << difference.words;
  }
}

TEST(Fingerprint, HasNoLineThatTellsNothing) {
  Lines telling = {"protocol", "program"};  // one version; and no rank is another program
  for (const Difference& difference : kDifferences) telling.merge(lines_of(difference));
  EXPECT_EQ(lines_of(fingerprint_of(points())), telling);
}

TEST(Fingerprint, HasTheProtocolsVersion) {
  const Fingerprint here = fingerprint_of(points());
  Fingerprint there = here;
  const auto line = std::find_if(there.begin(), there.end(),
                                 [](const auto& each) { return each.first == "protocol"; });
  ASSERT_NE(line, there.end());
  EXPECT_EQ(line->second, kProtocolVersion);
  line->second = "0";
  EXPECT_EQ(difference(here, there), "protocol (3 here, 0 there)");
}

TEST(Fingerprint, OfAnAttributeOfOneNodeIsAnother) {
  const Side side = points();
  const Placement placement = place(side.request, side.data.count);
  const Step step = placement.placed->step;
  Step other = step;
  other.graph = Graph();
  other.graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Sgd && node.place.replica == 1) node.attributes.set("momentum", 0.5);
    other.graph.add(std::move(node));
  }
  EXPECT_EQ(
      lines_that_differ(fingerprint_of(side.request, placement, step, side.data, side.software),
                        fingerprint_of(side.request, placement, other, side.data, side.software)),
      Lines{"graph"});
}

TEST(Fingerprint, ShowsBothSidesOfEachDifference) {
  const Fingerprint here = {{"seed", "1"}, {"dtype", "f32"}, {"data", "x"}};
  EXPECT_EQ(difference(here, here), "");
  EXPECT_EQ(difference(here, {{"seed", "2"}, {"dtype", "f32"}, {"tide", "low"}}),
            "seed (1 here, 2 there), data (x here, nothing there), tide (nothing here, low there)");
}

}  // namespace
}  // namespace regatta::plan
