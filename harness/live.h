// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while a race runs: one line that is rewritten on a terminal, plain lines after
// each evaluation on a pipe. NO_COLOR is honoured.
#pragma once

#include <string>

#include "harness/race.h"

namespace regatta {

class LiveLine {
 public:
  explicit LiveLine(const RaceRequest& request);
  void show(const RaceProgress& progress);
  /// A line that stays.
  void tell(const std::string& line);
  /// The last line: reached, missed or failed, and where the record is.
  void conclude(const Record& record, const std::string& folder);

 private:
  std::string name_;
  std::string judged_;  ///< loss and metric of the last evaluation
  bool terminal_ = false;
  bool color_ = false;
  std::int64_t last_tenth_ = -1;  ///< a pipe gets a line for each tenth of the run
};

}  // namespace regatta
