// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "source/progress.hpp"

#include <string>
#include <string_view>

namespace blockpub {

/// A person's terminal: whole lines, and below them one that is written anew as a long work goes on.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the descriptor, which must stay open.
/// Blocking: write as the terminal does; show never, a terminal that takes nothing just now is passed over.
/// Errors: what the terminal does not take is lost.
class Terminal final : public ProgressSink {
 public:
    explicit Terminal(int descriptor) : descriptor_(descriptor) {}
    ~Terminal() override;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Writes text that ends a line, above the line that is written anew.
    void write(std::string_view text) noexcept BLOCKPUB_EXCLUDES(mutex_);
    /// Puts `line`, as much of it as fits, in the place of the one before; an empty one takes it away.
    void show(std::string_view line) noexcept override BLOCKPUB_EXCLUDES(mutex_);

 private:
    void put(std::string_view text) const noexcept;
    [[nodiscard]] std::size_t width() const noexcept;

    const int descriptor_;
    Mutex mutex_;
    std::string shown_ BLOCKPUB_GUARDED_BY(mutex_);  // the line that is written anew
};

}  // namespace blockpub
