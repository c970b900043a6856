// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "harness/judge/cell_identity.h"
#include "harness/judge/paired_ratio.h"
#include "harness/system/number.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
Decision::Decision(const MatrixPlan& plan, std::size_t planned, double precision,
                   std::vector<record::Record> records)
    : seeds_(plan.seeds), planned_(planned), precision_(precision) {
  add(std::move(records));
}

void Decision::add(std::vector<record::Record> records) {
  std::move(records.begin(), records.end(), std::back_inserter(records_));
  look();
}

void Decision::look() {
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  most_.clear();
  judgement_ = judge::judge_races(records_);
  for (const judge::WorkloadJudgement& race : judgement_.workloads) {
    const bool is_open = std::ranges::any_of(race.cells, [](const judge::CellJudgement& cell) {
      return cell.against_first.standing == judge::Standing::Open;
    });
    for (const judge::CellJudgement& cell : race.cells) {
      const judge::Standing standing = cell.against_first.standing;
      const bool is_first = standing == judge::Standing::First && is_open;
      std::size_t& most = most_[judge::request_key(*cell.runs.front())];
      if (is_first || standing == judge::Standing::Open) most = kAny;
      if (standing == judge::Standing::NoClaim) most = std::max<std::size_t>(most, 2);  // a ceiling
    }
  }
  for (const judge::WorkloadJudgement& counted : judgement_.measurements) {
    for (const judge::CellJudgement& cell : counted.cells) {
      most_[judge::request_key(*cell.runs.front())] = planned_;  // it counts bytes
    }
  }
}

bool Decision::needs_more(const MatrixCell& cell, std::size_t runs) const {
  const auto found = most_.find(cell.key);
  return found == most_.end() || runs < found->second;
}

std::string Decision::round_of(std::uint64_t seed) const {
  const auto found = std::find(seeds_.begin(), seeds_.end(), seed);
  const auto ordinal = static_cast<std::size_t>(found - seeds_.begin()) + 1;
  return fmt::format("{}:{:g}", judge::round_of(ordinal), precision_);
}

std::string few_of(std::span<const std::string> names, std::size_t most) {
  constexpr std::string_view kMore = " and 1000 more";
  std::string text = names.empty() ? "" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::size_t rest = i + 1 < names.size() ? kMore.size() : 0;
    if (text.size() + 2 + names[i].size() + rest > most) {
      return text + fmt::format(" and {} more", names.size() - i);
    }
    text += ", " + names[i];
  }
  return text;
}

std::string line_of(const judge::WorkloadJudgement& race) {
  constexpr std::size_t kMostNames = 50;  // characters
  std::vector<std::string> first, open;
  std::size_t slower = 0;
  for (const judge::CellJudgement& cell : race.cells) {
    const judge::Standing standing = cell.against_first.standing;
    const record::Record& run = *cell.runs.front();
    const bool is_only = 1 == std::ranges::count_if(race.cells, [&](const auto& other) {
                           return other.runs.front()->cell.strategy == run.cell.strategy;
                         });
    const std::string name = is_only ? run.cell.strategy : judge::cell_name(run);
    if (standing == judge::Standing::First || standing == judge::Standing::Level) {
      first.push_back(name);
    }
    if (standing == judge::Standing::Open) open.push_back(name);
    slower += standing == judge::Standing::Slower || standing == judge::Standing::Missed ? 1 : 0;
  }
  const std::string rounds = system::plural(race.rounds ? race.rounds->rounds : 0, "round");
  const bool is_reached = !first.empty();
  first.insert(first.end(), open.begin(), open.end());
  const std::string names = few_of(first, kMostNames);
  std::string told;
  if (!is_reached) {
    told = fmt::format("none reached the target in {}", rounds);
  } else if (open.empty()) {
    told =
        fmt::format("{} {} first, decided in {}", names, first.size() == 1 ? "is" : "are", rounds);
  } else if (slower == 0) {
    told = fmt::format("{} leads, not decided after {}", first.front(), rounds);
  } else {
    told = fmt::format("the fastest of {} is one of {} after {}: {}", first.size() + slower,
                       first.size(), rounds, names);
  }
  told += fmt::format("; {} certainly slower", slower);
  return race.cells.front().runs.front()->cell.workload + ": " + told;
}

double parse_precision(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = text.substr(0, text.size() - (percent ? 1 : 0));
  const auto value = system::parse_number<double>("--precision", number);
  const double share = percent ? value / 100 : value;
  if (share > 0 && share < 1) return share;
  throw RunError(ErrorKind::Usage,
                 fmt::format("--precision {} is not above 0 and below 100 %; fix: a share such as "
                             "5%, the difference between two strategies that does not matter",
                             text));
}

void add_seeds(MatrixPlan& plan) {
  std::uint64_t next = *std::max_element(plan.seeds.begin(), plan.seeds.end());
  while (plan.seeds.size() < judge::kMostSeedsToDecide) plan.seeds.push_back(++next);
}

void require_contests(const MatrixPlan& plan) {
  std::map<std::string, int> cells;
  for (const MatrixCell& cell : plan.cells) ++cells[cell.workload];
  for (const auto& [workload, count] : cells) {
    if (count > 1) continue;
    throw RunError(ErrorKind::Usage,
                   fmt::format("--decide compares cells, and {} has only one; fix: more strategies "
                               "or workers, or the same without --decide",
                               workload));
  }
}

}  // namespace regatta::matrix
