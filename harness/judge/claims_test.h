// SPDX-License-Identifier: Apache-2.0
//
// Made-up records for tests of claims: runs of two workers on a machine that is always the same.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/judge/claims.h"

namespace regatta::judge {

inline constexpr int kSeeds = 5;

/// A run with a speed that differs a little by seed.
inline record::Record run(const std::string& strategy, std::uint64_t seed, double examples_per_s) {
  record::Record record;
  record.cell = {.workload = "resnet9_thin",
                 .recipe = 2,
                 .dataset = "shapes",
                 .strategy = strategy,
                 .workers = 2,
                 .global_batch = 64,
                 .straggler = {},
                 .seed = seed};
  if (strategy == "all_reduce") record.cell.options["all_reduce"] = "ring";
  record.status = record::Status::Missed;
  record.target = {.metric = "accuracy", .value = 60};
  record.examples_per_s = examples_per_s * (1 + 0.001 * static_cast<double>(seed));
  record.step_time_ns.count = 128;
  record.command = "regatta run --workload resnet9_thin";
  record.machine.cpu = "A CPU";
  return record;
}

inline std::vector<record::Record> runs(const std::string& strategy, double examples_per_s,
                                        int seeds = kSeeds) {
  std::vector<record::Record> result;
  for (int seed = 1; seed <= seeds; ++seed) {
    result.push_back(run(strategy, static_cast<std::uint64_t>(seed), examples_per_s));
  }
  return result;
}

inline std::vector<record::Record> operator+(std::vector<record::Record> a,
                                             const std::vector<record::Record>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <typename Change>
std::vector<record::Record> with(std::vector<record::Record> records, Change change) {
  for (record::Record& record : records) change(record);
  return records;
}

/// Judges the records and returns the claim with this name.
inline Claim judged(const std::vector<record::Record>& records, const std::string& name) {
  for (const Claim& claim : judge_claims(records)) {
    if (claim.name == name) return claim;
  }
  ADD_FAILURE() << "no claim " << name;
  return {};
}

inline void expect(const std::vector<record::Record>& records, const std::string& name,
                   ClaimVerdict verdict) {
  const Claim claim = judged(records, name);
  EXPECT_EQ(to_string(claim.verdict), to_string(verdict)) << claim.because;
  EXPECT_EQ(claim.missing.empty(), claim.seeds == 0);
  EXPECT_TRUE(verdict == ClaimVerdict::Undecided || claim.seeds == 0);
  EXPECT_FALSE(claim.because.empty());
}

}  // namespace regatta::judge
