// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/resume_command.h"

#include <vector>

#include "harness/plan/race_request.h"
#include "harness/system/command_text.h"

namespace regatta {

std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within) {
  std::vector<std::string> words = {"regatta", "matrix"};
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (request.file.empty()) add({"--tier", request.tier});
  if (!request.file.empty()) add({request.file});
  if (request.seeds) add({"--seeds", std::to_string(*request.seeds)});
  if (request.data_dir != RaceRequest().data_dir) add({"--data-dir", request.data_dir});
  add({"--out", request.out});
  if (request.figure == MatrixRequest::Figure::Growing) add({"--draw"});
  if (within) add({"--within", *within});
  add({"--resume"});
  return command_text(words);
}

}  // namespace regatta
