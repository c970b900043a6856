// SPDX-License-Identifier: Apache-2.0
//
// Tests fingerprints of real placements: two that differ in one thing differ exactly in the lines
// for it, and every line is needed for some difference.
#include "harness/plan/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/runtime/devices.h"
#include "workloads/data/curve.h"
#include "workloads/data/shapes.h"

namespace regatta::plan {
namespace {

using Lines = std::set<std::string>;

/// The inputs of a rank's fingerprint.
struct Side {
  RaceRequest request;
  DataSet data;
  system::SoftwareFacts software;
};

Side images() {
  static const DataSet data = workloads::make_shapes(20, workloads::Split::Train, 128);
  RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "all_reduce";
  request.workers = 2;
  request.processes = 2;
  request.global_batch = 64;
  request.steps = 10;
  return {.request = request, .data = data, .software = system::software_facts()};
}

/// Winograd is off, because with AMX bf16 runs without it, and its line would differ, too.
Side direct_images() {
  Side side = images();
  side.request.winograd = "off";
  return side;
}

Side points() {
  Side side = images();
  side.request.workload = "parabola";
  side.request.global_batch = 50;
  side.data = workloads::make_curve();
  return side;
}

Side on_gpus() {
  Side side = points();
  side.request.device = "cuda";
  return side;
}

Side servers() {
  Side side = images();
  side.request.strategy = "parameter_server";
  return side;
}

/// Its sums are by no library, also on GPUs.
Side without_nccl() {
  Side side = points();
  side.request.options["all_reduce"] = "reduce_to_one";
  return side;
}

Side stages() {
  Side side = points();
  side.request.strategy = "all_reduce+model_parallel";
  side.request.workers = 4;
  side.request.stages = 2;
  return side;
}

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

/// One thing in which another rank may differ.
struct Difference {
  std::string what;
  Side side;  ///< of both ranks, before the change
  std::function<void(Side&)> change;
  Lines lines;  ///< that differ by the change
};

std::vector<Difference> differences_of_requests() {
  return {
      {"another seed", points(), [](Side& s) { s.request.seed = 2; }, {"seed"}},
      {"the other dtype",
       direct_images(),
       [](Side& s) { s.request.dtype = "bf16"; },
       {"dtype", "graph"}},
      {"no fusion", images(), [](Side& s) { s.request.fusion = "off"; }, {"fusion", "graph"}},
      {"another rate",
       points(),
       [](Side& s) { s.request.rate_scale = 2; },
       {"rate_scale", "graph"}},
      {"another normalisation group",
       images(),
       [](Side& s) { s.request.normalization_group = 16; },
       {"normalization_group", "graph"}},
      {"another schedule", images(), [](Side& s) { s.request.steps = 20; }, {"steps", "graph"}},
      {"as many steps in epochs",
       points(),
       [](Side& s) {
         s.request.epochs = 9.5 * 50 / static_cast<double>(s.data.count);  // rounded up
         s.request.steps.reset();
       },
       {"steps", "epochs"}},
      {"evaluated at the end", points(), [](Side& s) { s.request.evaluate = "end"; }, {"evaluate"}},
      {"a straggler", points(), [](Side& s) { s.request.stragglers[1] = 2; }, {"straggler"}},
      {"two more workers", points(), [](Side& s) { s.request.workers = 4; }, {"workers", "graph"}},
      {"stages of replicas",
       stages(),
       [](Side& s) { s.request.stages = 1; },
       {"stages", "buckets", "graph"}},
      {"a GPU",
       without_nccl(),
       [](Side& s) { s.request.device = "cuda"; },
       {"device", "cuda_graph", "cudnn_engine"}},
      {"another batch",
       points(),
       [](Side& s) { s.request.global_batch = 40; },
       {"global_batch", "graph"}},
      {"smaller buckets",
       images(),
       [](Side& s) { s.request.options["bucket_bytes"] = 65536; },
       {"options", "buckets", "graph"}},
      {"larger buckets, of which there is one in any case",
       points(),
       [](Side& s) { s.request.options["bucket_bytes"] = 8 << 20; },
       {"options"}},
      {"kernels one by one",
       on_gpus(),
       [](Side& s) { s.request.cuda_graph = "off"; },
       {"cuda_graph"}},
      {"another way to choose engines",
       on_gpus(),
       [](Side& s) { s.request.cudnn_engine = "heuristic"; },
       {"cudnn_engine"}},
      {"another algorithm",
       points(),
       [](Side& s) { s.request.options["all_reduce"] = "reduce_to_one"; },
       {"options", "graph"}},
      {"another strategy",
       points(),
       [](Side& s) { s.request.strategy = "independent"; },
       {"strategy", "options", "buckets", "graph"}},
      {"another model",
       images(),
       [](Side& s) { s.request.workload = "resnet9"; },
       {"workload", "options", "buckets", "graph"}},
      {"a model with another recipe",
       direct_images(),
       [](Side& s) { s.request.workload = "mobilenet_v2"; },
       {"workload", "options", "recipe", "buckets", "graph"}},
      {"fewer processes", points(), [](Side& s) { s.request.processes = 1; }, {"processes"}},
      {"another server",
       servers(),
       [](Side& s) { s.request.options["servers"] = 2; },
       {"processes", "options", "graph"}},
      {"a backup worker",
       servers(),
       [](Side& s) { s.request.options["backup_workers"] = 1; },
       {"options", "graph"}},
  };
}

std::vector<Difference> differences_of_data() {
  return {
      {"other bytes", images(), [](Side& s) { s.data.digest += "0"; }, {"data"}},
      {"another name", points(), [](Side& s) { s.data.name = "line"; }, {"dataset", "data"}},
  };
}

std::vector<Difference> differences_of_software() {
  return {
      {"another commit", points(), [](Side& s) { s.software.git_commit += "0"; }, {"regatta"}},
      {"changed sources",
       points(),
       [](Side& s) { s.software.dirty = !s.software.dirty; },
       {"regatta"}},
      {"another compiler", points(), [](Side& s) { s.software.compiler += "0"; }, {"compiler"}},
      {"another oneDNN", points(), [](Side& s) { s.software.onednn += "0"; }, {"oneDNN"}},
      {"another gRPC", points(), [](Side& s) { s.software.grpc = "0.1"; }, {"gRPC"}},
      {"no Open MPI", points(), [](Side& s) { s.software.open_mpi.reset(); }, {"Open MPI"}},
  };
}

std::vector<Difference> differences_of_kernels() {
  Side wide = images();
  wide.request.workload = "resnet9";
  return {{"direct convolutions",
           wide,
           [](Side& s) { s.request.winograd = "off"; },
           {"winograd", "graph"}}};
}

std::vector<Difference> all_differences() {
  std::vector<Difference> all = differences_of_requests();
  for (const auto& more :
       {differences_of_data(), differences_of_software(), differences_of_kernels()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST(Fingerprint, TellsEachDifferenceByItsOwnLines) {
  for (const Difference& difference : all_differences()) {
    Side other = difference.side;
    difference.change(other);
    EXPECT_EQ(lines_that_differ(fingerprint_of(difference.side), fingerprint_of(other)),
              difference.lines)
        << difference.what;
  }
}

TEST(Fingerprint, HasNoLineThatTellsNothing) {
  Lines telling = {"protocol", "program"};  // one version; and no rank is another program
  for (const Difference& difference : all_differences()) {
    telling.insert(difference.lines.begin(), difference.lines.end());
  }
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
