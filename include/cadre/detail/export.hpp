// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a shared library of ours offers; all else in it is hidden. A static one, whose users
/// are compiled with CADRE_STATIC, offers nothing to others than the binary it becomes part of.
#ifdef CADRE_STATIC
#define CADRE_API
#else
#define CADRE_API [[gnu::visibility("default")]]
#endif
