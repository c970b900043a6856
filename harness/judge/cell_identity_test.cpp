// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell_identity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/record/record_fields.h"
#include "harness/record/sample_record.h"

namespace regatta::judge {
namespace {

record::Record usual() {
  record::Record record;
  record.cell = {.workload = "resnet9_thin",
                 .recipe = 2,
                 .dataset = "shapes",
                 .strategy = "single",
                 .global_batch = 64,
                 .straggler = {},
                 .seed = 1};
  record.target = {.metric = "accuracy", .value = 60};
  return record;
}

TEST(CellName, IsShortWhereAllIsAsUsual) {
  EXPECT_EQ(cell_name(usual()), "resnet9_thin single (1 worker)");
}

TEST(CellName, HoldsWhatIsNotAsUsualButTheSeed) {
  record::Record record = record::sample_record();
  EXPECT_EQ(cell_name(record),
            "resnet9_thin all_reduce (2 workers, program=0123456789abcdef, bucket_bytes=65536, "
            "winograd=on, global_batch=512, normalization_group=16, epochs=0.5, straggler=1:2.5, "
            "target=90)");
  record.cell.epochs = 3;
  record.cell.dtype = "bf16";
  record.cell.fusion = "off";
  record.cell.options["all_reduce"] = "mpi";
  record.cell.straggler = {};
  EXPECT_EQ(cell_name(record),
            "resnet9_thin all_reduce (2 workers, program=0123456789abcdef, all_reduce=mpi, "
            "bucket_bytes=65536, dtype=bf16, fusion=off, winograd=on, global_batch=512, "
            "normalization_group=16, epochs=3, "
            "target=90)");
}

TEST(CellName, HasMicrobatchesUnlessTheyAreThoseOfAPipelineWithoutTheFlag) {
  record::Record record = usual();
  record.cell.options = {{"microbatches", 4}};
  EXPECT_EQ(cell_name(record), "resnet9_thin single (1 worker, microbatches=4)");
  record.cell.strategy = "pipeline";
  EXPECT_EQ(cell_name(record), "resnet9_thin pipeline (1 worker)");
}

TEST(CellName, OfAWorkloadThatIsNoMoreNamesDataAndBatch) {
  record::Record record = usual();
  record.cell.workload = "gone";
  EXPECT_EQ(cell_name(record),
            "gone single (1 worker, recipe=2, dataset=shapes, global_batch=64, target=60)");
}

TEST(CellIdentity, HasATraitForEachFieldOfACellButTheSeed) {
  const record::Record record = record::sample_record();
  const std::vector<Trait> traits = traits_of(record);
  const auto is_trait = [&](const std::string& name) {
    return std::any_of(traits.begin(), traits.end(),
                       [&](const Trait& trait) { return trait.name == name; });
  };
  for_each_field(record.cell, [&](const std::string& name, const auto&...) {
    EXPECT_EQ(is_trait(name), name != "seed" && name != "options") << name;
  });
  EXPECT_TRUE(is_trait("bucket_bytes"));
  EXPECT_TRUE(is_trait("target"));
}

TEST(CellIdentity, HasARequestsKeyOfKnownValuesOnly) {
  const record::Record one = usual();
  record::Record other = one;
  other.cell.seed = 2;
  other.cell.threads_per_worker = 2;
  other.cell.gpus = 8;
  other.cell.unverified_data = "0123456789abcdef0123456789abcdef";
  other.machine.cpu = "Another CPU";
  EXPECT_EQ(request_key(other), request_key(one));
  other.cell.fusion = "off";
  EXPECT_NE(request_key(other), request_key(one));
  other = one;
  other.target.value = 61;
  EXPECT_NE(request_key(other), request_key(one));
}

TEST(CellIdentity, TellsRunsOfAFormerRecipeApart) {
  record::Record former = usual();
  former.cell.recipe = 1;
  EXPECT_EQ(cell_name(former), "resnet9_thin single (1 worker, recipe=1)");
  EXPECT_NE(cell_key(former), cell_key(usual()));
  EXPECT_NE(workload_key(former), workload_key(usual()));
}

TEST(CellIdentity, TellsRunsApartThatAreEvaluatedAtTheEndAlone) {
  record::Record late = usual();
  late.cell.evaluate = "end";
  EXPECT_EQ(cell_name(late), "resnet9_thin single (1 worker, evaluate=end)");
  EXPECT_NE(workload_key(late), workload_key(usual()));
}

TEST(CellIdentity, TellsRunsOfOtherOptionsOfTheWorkloadApart) {
  record::Record usual_width = usual(), wide = usual();
  usual_width.cell.options["width"] = 16;  // as the record without it, which is older
  EXPECT_EQ(cell_name(usual_width), cell_name(usual()));
  EXPECT_EQ(cell_key(usual_width), cell_key(usual()));
  wide.cell.options["width"] = 32;
  EXPECT_EQ(cell_name(wide), "resnet9_thin single (1 worker, width=32)");
  EXPECT_NE(request_key(wide), request_key(usual()));
  EXPECT_NE(workload_key(wide), workload_key(usual()));
  EXPECT_TRUE(unusual_options(wide.cell).empty());  // the strategy has none
}

TEST(CellIdentity, TellsMachinesApartByACpuLimitThatBinds) {
  system::MachineFacts machine{.cpu = "A CPU", .cores_available = 2, .cores_used = 1};
  EXPECT_EQ(machine_name(machine), "1 core of A CPU");
  machine.cpu_quota = 1.5;
  EXPECT_EQ(machine_name(machine), "1 core of A CPU at a limit of 1.5");
  machine.cpu_quota = 2;
  EXPECT_EQ(machine_name(machine), "1 core of A CPU");
}

TEST(CellIdentity, TellsCellsApartByTheirMachineAndResources) {
  const record::Record one = usual();
  record::Record other = one;
  other.cell.seed = 2;
  EXPECT_EQ(cell_key(other), cell_key(one));
  other.cell.threads_per_worker = 2;
  EXPECT_EQ(cell_name(other), cell_name(one));
  EXPECT_NE(cell_key(other), cell_key(one));
  EXPECT_EQ(workload_key(other), workload_key(one));
  other.machine.cpu = "Another CPU";
  EXPECT_NE(workload_key(other), workload_key(one));
}

}  // namespace
}  // namespace regatta::judge
