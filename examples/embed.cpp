// SPDX-License-Identifier: MIT
// A node of one's own that publishes with this library: its own block reader and its own notifier, on a bus.
//
//     embed [ENDPOINT]        default tcp://127.0.0.1:*
//
// Each line of standard input becomes a block of a toy chain, told on rawblock and on a topic of its own.

#include <blockpub/bus.hpp>
#include <blockpub/publisher.hpp>

#include <iostream>
#include <map>
#include <mutex>
#include <string>

using namespace blockpub;

namespace {

ByteSpan bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The node keeps its blocks as it likes; publishers ask for their bytes here, on threads of their own.
class MemoryReader final : public BlockReader {
 public:
    void put(const BlockHash& hash, SharedBytes block) {
        const std::lock_guard lock(mutex_);
        blocks_[hash] = std::move(block);
    }
    Result<SharedBytes> read_block(const BlockHash& hash) override {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(hash);
        if (found == blocks_.end()) return fail(Errc::not_found, "Block not found");
        return found->second;
    }
    Result<MappedBytes> map_block(const BlockHash&) override { return fail(Errc::unsupported, "no map"); }

 private:
    std::mutex mutex_;
    std::map<BlockHash, SharedBytes> blocks_;
};

// A topic that Core does not have: each new tip's height and size as text.
class HeightNotifier final : public Notifier {
 public:
    std::string_view topic() const override { return "tipheight"; }
    Result<void> updated_block_tip(MessageSink& sink, const UpdatedBlockTip& tip,
                                   EventBlock& block) override {
        auto raw = block.raw();
        if (!raw) return forward_error(raw);  // it is asked again later, at the same point
        return sink.send(topic(),
                         bytes_of(std::to_string(tip.tip_height.value) + " " + std::to_string(raw->size())));
    }
};

}  // namespace

int main(int argc, char** argv) {
    MemoryReader reader;
    NullLogger logger;
    Bus bus({});
    PublisherOptions options{.endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:*"};
    options.notifiers.push_back(std::move(make_core_notifier("rawblock").value()));
    options.notifiers.push_back(std::make_unique<HeightNotifier>());
    const auto publisher = Publisher::bind(std::move(options), bus, reader, logger);
    if (!publisher) return std::cerr << publisher.error().context << '\n', 1;
    std::cout << "publishing at " << (*publisher)->status().endpoint << std::endl;

    EventRecord event;  // index, height and previous hash count on from block to block
    for (std::string line; std::getline(std::cin, line); ++event.index, event.height = event.height.next()) {
        event.hash = BlockHash({static_cast<std::uint8_t>(event.index + 1)});               // a toy's hash
        reader.put(event.hash, SharedBytes::copy_of(bytes_of(std::string(80, 0) + line)));  // header, content
        event.step_end = {event.previous_hash, Height{event.height.value - 1}, false};
        bus.release_blocks({&event, 1});
        event.previous_hash = event.hash;
    }
    (*publisher)->stop();  // sends what is left
}
