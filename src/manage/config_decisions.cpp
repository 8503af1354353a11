// SPDX-License-Identifier: Apache-2.0
//
// Each source has a slot: what it gave last, and the document of it that is in force (that which
// was part of the last success). Whoever has news (the thread of a source, or of somebody who
// registers a pool) leaves them under the mutex, and then works: decides on all news there are,
// until there are none. Only one thread works at a time; who comes meanwhile only leaves his news,
// so nobody waits, and nothing of others (the registry, its listeners, on_result) is called under
// the mutex.
//
// A new document is tried together with those in force of the other sources. If it is refused, they
// stay; it is tried again after the next success of another, since what was wrong may have been
// there. What a source could not even read (an empty file) is refused by its word. At the start,
// what the snapshot has of a source counts as in force until the source answers; if that does not
// fit any more, it must not keep out what other sources say, and is left out.
//
// Pools that are registered later get their settings one by one: others may have been changed by
// people since, and one that cannot be as the documents say is no reason to leave out another.

#include <algorithm>
#include <utility>

#include "manage/config_core.hpp"
#include "manage/configuration_reader.hpp"

namespace cadre::manage::detail {

void config_core::arrived(std::size_t index, const config_document& document) {
    {
        const std::lock_guard lock(mutex_);
        slots_[index].latest = document;
        slots_[index].is_news = true;
        news_.notify_all();
        if (!ready_ || working_ || stopped_) return;
        working_ = true;
    }
    work();
}

void config_core::unusable(std::size_t index, const std::vector<config_problem>& problems) {
    {
        const std::lock_guard lock(mutex_);
        slots_[index].unusable = problems;
        if (!ready_ || working_ || stopped_) return;
        working_ = true;
    }
    work();
}

void config_core::pool_registered() {
    {
        const std::lock_guard lock(mutex_);
        pools_changed_ = true;
        if (!ready_ || working_ || stopped_) return;
        working_ = true;
    }
    work();
}

/// False if there is none, and then the work has ended.
bool config_core::take_work(bool& new_documents, bool& new_pools) {
    const std::lock_guard lock(mutex_);
    new_documents = std::any_of(slots_.begin(), slots_.end(),
                                [](const auto& s) { return s.is_news || !s.unusable.empty(); });
    new_pools = std::exchange(pools_changed_, false);
    if (!stopped_ && (new_documents || new_pools)) return true;
    working_ = false;
    news_.notify_all();
    return false;
}

/// Called by who has set working_. What is thrown (there is no memory, say) ends this work, but not
/// all that is to come.
void config_core::work() {
    try {
        if (std::exchange(is_first_, false)) decide_all_together();
        for (bool documents = false, pools = false; take_work(documents, pools);) {
            if (documents) refuse_unusable();
            if (documents) decide_one_by_one();
            if (pools) configure_new_pools();
            tell();
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        working_ = false;
        news_.notify_all();
        throw;
    }
}

/// At the start, so that pools do not go through all steps between one source and the next.
void config_core::decide_all_together() {
    std::vector<bool> with_latest(sources_.size(), false);
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < slots_.size(); ++i)
            with_latest[i] = slots_[i].latest.has_value();
        pools_changed_ = false;
    }
    // If that is refused, it is found out whose fault it is.
    if (!try_out(make_attempt(with_latest)).empty()) decide_without_snapshot();
    tell();
}

/// What the sources say first, then what fits of the snapshot where they say nothing.
void config_core::decide_without_snapshot() {
    {
        const std::lock_guard lock(mutex_);
        for (auto& s : slots_) {
            s.unfit = std::exchange(s.in_force, std::nullopt);
            s.origin = document_origin::none;
        }
    }
    decide_one_by_one();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        {
            const std::lock_guard lock(mutex_);
            auto& s = slots_[i];
            if (!s.unfit) continue;
            s.in_force = s.unfit;
            s.origin = document_origin::snapshot;
        }
        const auto problems = try_out(make_attempt(std::vector<bool>(sources_.size(), false)));
        const std::lock_guard lock(mutex_);
        if (problems.empty()) {  // what another said may fit now
            slots_[i].unfit.reset();
            for (auto& s : slots_) s.is_news = s.is_news || !s.problems.empty();
        } else {
            slots_[i].in_force.reset();
            slots_[i].origin = document_origin::none;
            slots_[i].unfit_because = to_text(problems.front());
        }
    }
}

void config_core::decide_one_by_one() {
    for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            {
                const std::lock_guard lock(mutex_);
                if (!slots_[i].is_news) continue;
                slots_[i].is_news = false;
            }
            std::vector<bool> with_latest(sources_.size(), false);
            with_latest[i] = true;
            const auto what = make_attempt(with_latest);
            if (const auto problems = try_out(what); !problems.empty()) {
                refused(i, what, problems);
                continue;
            }
            progress = true;
            const std::lock_guard lock(mutex_);
            for (auto& s : slots_) s.is_news = s.is_news || !s.problems.empty();
        }
    }
}

/// Into the history, but only once, however often it is tried.
void config_core::refused(std::size_t index, const attempt& what,
                          const std::vector<config_problem>& problems) {
    {
        const std::lock_guard lock(mutex_);
        ++status_.refused;
        const auto& text = what.documents[index]->text;
        if (std::exchange(slots_[index].refused_text, text) == text) return;
    }
    note_refusal(what.origin, problems);
}

void config_core::refuse_unusable() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        std::vector<config_problem> problems;
        {
            const std::lock_guard lock(mutex_);
            problems.swap(slots_[i].unusable);
            if (problems.empty()) continue;
            ++status_.refused;
        }
        note_refusal({.source = names_[i]}, problems);
    }
}

void config_core::note_refusal(const change_origin& origin,
                               const std::vector<config_problem>& problems) {
    auto why = to_text(problems.front());
    if (problems.size() > 1) why += " (and " + std::to_string(problems.size() - 1) + " more)";
    registry_.note_refusal(origin, std::move(why));
}

config_core::attempt config_core::make_attempt(const std::vector<bool>& with_latest) const {
    attempt result{.uses_latest = with_latest};
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        result.documents.push_back(with_latest[i] ? slots_[i].latest : slots_[i].in_force);
    }
    // The documents that are new; if none is, all of them.
    const bool any_new =
        std::find(with_latest.begin(), with_latest.end(), true) != with_latest.end();
    change_origin all{.source = {}};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!result.documents[i] || (any_new && !with_latest[i])) continue;
        const auto one = with_latest[i]
                             ? change_origin{.source = names_[i],
                                             .source_revision = slots_[i].latest->revision,
                                             .author = slots_[i].latest->author}
                             : in_force_of(i, lock);
        all.source += (all.source.empty() ? "" : ", ") + one.source;
        all.source_revision += (all.source_revision.empty() ? "" : ", ") + one.source_revision;
        if (!one.author.empty()) all.author += (all.author.empty() ? "" : ", ") + one.author;
    }
    if (!all.source.empty()) result.origin = std::move(all);
    return result;
}

change_origin config_core::in_force_of(std::size_t index,
                                       const std::lock_guard<std::mutex>&) const {
    const auto& s = slots_.at(index);
    return {.source = (s.origin == document_origin::snapshot ? "snapshot:" : "") + names_[index],
            .source_revision = s.in_force ? s.in_force->revision : "",
            .author = s.in_force ? s.in_force->author : ""};
}

configuration config_core::read(const attempt& what) const {
    std::vector<document> parsed;
    std::vector<config_problem> problems;
    for (std::size_t i = 0; i < what.documents.size(); ++i) {
        const auto& given = what.documents[i];
        if (!given || !given->exists) continue;
        try {
            parsed.push_back(parse_document(given->text, names_[i], given->format));
        } catch (const configuration_error& refused) {
            problems.insert(problems.end(), refused.problems().begin(), refused.problems().end());
        }
    }
    if (!problems.empty()) throw configuration_error(std::move(problems));
    const auto kind_of = [this](std::string_view name) {
        const auto pool = registry_.find(name);
        return pool ? std::optional(pool->kind()) : std::nullopt;
    };
    return detail::read_configuration(parsed, options_.instance, kind_of);
}

/// Returns what is wrong; nothing if it is in force now.
std::vector<config_problem> config_core::try_out(const attempt& what) {
    std::vector<config_problem> problems;
    try {
        auto wanted = read(what);
        auto result = applier_.apply(wanted, what.origin);
        succeeded(what, std::move(wanted), std::move(result));
        keep_snapshot();
        return {};
    } catch (const configuration_error& refused) {
        problems = refused.problems();
    } catch (const std::exception& failed) {
        problems = {{.rule = failed.what()}};
    } catch (...) {
        problems = {{.rule = "something that is no std::exception was thrown"}};
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (what.uses_latest[i]) slots_[i].problems = problems;
    return problems;
}

void config_core::succeeded(const attempt& what, configuration wanted, apply_result result) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!what.uses_latest[i]) continue;
        auto& s = slots_[i];
        s.in_force = what.documents[i];
        s.origin = document_origin::source;
        s.problems.clear();
        s.refused_text.reset();
        s.unfit.reset();
        // Unless there is a newer one already.
        if (s.latest->text == s.in_force->text && s.latest->exists == s.in_force->exists)
            s.is_news = false;
    }
    ++status_.applied;
    status_.last_applied = std::chrono::system_clock::now();
    status_.problems.clear();
    status_.ignored = wanted.ignored;
    status_.alarms = wanted.alarms;
    applied_ = std::move(wanted);
    status_.unmatched = std::move(result.unmatched);
    status_.orphans = std::move(result.orphans);
    status_.not_applied = std::move(result.not_applied);
}

void config_core::configure_new_pools() {
    auto result = applier_.apply_to_new(applied_, [this](const std::string& file) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find(names_.begin(), names_.end(), file);
        return in_force_of(static_cast<std::size_t>(found - names_.begin()), lock);
    });
    const std::lock_guard lock(mutex_);
    status_.problems = std::move(result.problems);
    status_.unmatched = std::move(result.unmatched);
    status_.orphans = std::move(result.orphans);
    status_.not_applied = std::move(result.not_applied);
}

void config_core::tell() {
    if (!options_.on_result) return;
    try {
        options_.on_result(status());
    } catch (...) {
        // As it says: what it throws is dropped.
    }
}

}  // namespace cadre::manage::detail
