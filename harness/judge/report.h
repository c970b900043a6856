// SPDX-License-Identifier: Apache-2.0
//
// `regatta report DIR...` writes the results of the folders' records as FOLDER/judgement.json, and
// from that FOLDER/index.html, one file that opens without a network, with its figures beside it.
// The numbers are computed here (judgement.h, simulated_judgement.h), plots/report.py draws them.
#pragma once

#include <string>
#include <vector>

#include "harness/system/output_file.h"

namespace regatta {

enum class ReportFormat {
  Page,
  Json,  ///< the judgement on standard output, for the scripts of plots/
};

struct ReportRequest {
  std::vector<std::string> folders;  ///< each with a records.jsonl, a simulated.jsonl, or both
  std::string out;                   ///< empty: FOLDER/report of one folder, out/report of several
  IfThere if_there = IfThere::Refuse;  ///< the page
  ReportFormat format = ReportFormat::Page;
};

/// Returns 0, or 1 if the page could not be made; plots/report.py has then printed the reason.
/// Throws: RunError(Data) for records that cannot be read, RunError(Io) for a folder that cannot be
/// written, RunError(Unsupported) where Python or plots/ is missing.
int run_report(const ReportRequest& request);

}  // namespace regatta
