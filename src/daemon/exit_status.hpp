// SPDX-License-Identifier: MIT
#pragma once

namespace blockpub {

/// What the process tells who started it; listed in docs/operations.md.
enum class ExitStatus : int {
    ok = 0,
    start_failed = 1,  ///< nothing was begun; the reason is the last line on standard error
    write_stopped =
        2,  ///< a sync failed while running: what is on the disk is not known, and writing ended there
    work_unfinished = 3,  ///< -exportblocks, or an import under -stopafterblockimport, was not done whole
    not_written = 4,  ///< the last changes, which nobody had been told of, could not be written at the end
    forced = 5,       ///< a second signal came before the stop was done
};

}  // namespace blockpub
