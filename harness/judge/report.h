// SPDX-License-Identifier: Apache-2.0
//
// `regatta report DIR...` judges the records in the folders and writes OUT/judgement.json, and from
// it OUT/index.html, which opens without a network, with its figures beside it. The C++ program
// computes the numbers (judgement.h), and plots/report.py draws them.
#pragma once

#include <string>
#include <vector>

#include "harness/system/output_file.h"

namespace regatta::judge {

enum class ReportFormat {
  Page,
  Json,  ///< the judgement on standard output, for the scripts of plots/
};

struct ReportRequest {
  std::vector<std::string> folders;  ///< each with a records.jsonl, a simulated.jsonl, or both
  std::string out;  ///< folder; empty: FOLDER/report for one folder, else out/report
  system::IfThere if_there = system::IfThere::Refuse;  ///< whether to replace a page that exists
  ReportFormat format = ReportFormat::Page;
};

/// Returns 0, or 1 if the page could not be made; plots/report.py has then printed the reason.
/// Throws: RunError(Data) for records that cannot be read, RunError(Io) for a folder that cannot be
/// written, RunError(Unsupported) where Python or plots/ is missing.
int run_report(const ReportRequest& request);

}  // namespace regatta::judge
