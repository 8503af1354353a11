// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/pool_spec.hpp>

#include <stdexcept>

namespace cadre::manage {

const char* to_text(pool_kind kind) { return kind == pool_kind::plain ? "plain" : "scheduled"; }

const char* to_text(queue_kind kind) {
    switch (kind) {
        case queue_kind::linked:
            return "linked";
        case queue_kind::array:
            return "array";
        case queue_kind::synchronous:
            return "synchronous";
        case queue_kind::priority:
            return "priority";
        case queue_kind::transfer:
            return "transfer";
        case queue_kind::deque:
            return "deque";
    }
    return "linked";
}

pool_kind parse_pool_kind(std::string_view text) {
    for (const auto kind : {pool_kind::plain, pool_kind::scheduled})
        if (text == to_text(kind)) return kind;
    throw std::invalid_argument("kind (" + std::string(text) + ") must be plain or scheduled");
}

queue_kind parse_queue_kind(std::string_view text) {
    for (const auto kind : {queue_kind::linked, queue_kind::array, queue_kind::synchronous,
                            queue_kind::priority, queue_kind::transfer, queue_kind::deque})
        if (text == to_text(kind)) return kind;
    throw std::invalid_argument(
        "queue (" + std::string(text) +
        ") must be linked, array, synchronous, priority, transfer or deque");
}

}  // namespace cadre::manage
