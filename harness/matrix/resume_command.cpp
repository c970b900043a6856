// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/resume_command.h"

#include <algorithm>
#include <map>
#include <vector>

#include "harness/judge/paired_ratio.h"
#include "harness/system/command_text.h"

namespace regatta::matrix {

namespace {

/// Formats a command; `flags` follow the matrix and its folder.
std::string command_with(const MatrixRequest& request, const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"regatta", "matrix"};
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (request.file.empty()) add({"--tier", request.tier});
  if (!request.file.empty()) add({request.file});
  if (request.seeds) add({"--seeds", std::to_string(*request.seeds)});
  if (!request.data_dir.empty()) add({"--data-dir", request.data_dir});
  add({"--out", request.out});
  if (request.tune == MatrixRequest::Tune::Always) add({"--tune"});
  if (request.until == MatrixRequest::Until::Decided) {
    add({"--decide"});
    if (request.precision != MatrixRequest().precision) add({"--precision", request.precision});
  }
  words.insert(words.end(), flags.begin(), flags.end());
  return system::command_text(words);
}

}  // namespace

std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within) {
  std::vector<std::string> flags;
  if (request.figure == MatrixRequest::Figure::Growing) flags.emplace_back("--draw");
  if (within) flags.insert(flags.end(), {"--within", *within});
  flags.emplace_back("--resume");
  return command_with(request, flags);
}

std::string decide_command(MatrixRequest request, const MatrixPlan& plan) {
  std::map<std::string, int> cells;
  for (const MatrixCell& cell : plan.cells) ++cells[cell.workload];
  const bool is_alone =  // --decide refuses such a race
      std::any_of(cells.begin(), cells.end(), [](const auto& each) { return each.second < 2; });
  if (is_alone || plan.seeds.size() >= judge::kMostSeedsToDecide) return "";
  request.until = MatrixRequest::Until::Decided;
  request.seeds.reset();
  return resume_command(request, std::nullopt);
}

}  // namespace regatta::matrix
