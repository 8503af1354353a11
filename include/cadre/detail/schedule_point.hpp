// SPDX-License-Identifier: Apache-2.0
#pragma once

// CADRE_SCHEDULE_POINT(where): here another thread may come in between, and tests/trust/schedules
// has it come. Nothing at all in what users build.
#ifdef CADRE_SCHEDULE_POINTS
namespace cadre::detail {
void schedule_point(const char* where) noexcept;
}
#define CADRE_SCHEDULE_POINT(where) ::cadre::detail::schedule_point(where)
#else
#define CADRE_SCHEDULE_POINT(where) static_cast<void>(0)
#endif
