# SPDX-License-Identifier: Apache-2.0

# CADRE_SANITIZE instruments everything built here. cadre_sanitizer_environment is what a test
# must have in its environment then (one variable, or nothing).
set(CADRE_SANITIZE "" CACHE STRING "Sanitizers: empty, address+undefined or thread")
set_property(CACHE CADRE_SANITIZE PROPERTY STRINGS "" address+undefined thread)

set(cadre_sanitizer_environment "")
if(CADRE_SANITIZE STREQUAL "address+undefined")
    set(cadre_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
    set(cadre_sanitizer_environment
        "ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1:strict_string_checks=1")
elseif(CADRE_SANITIZE STREQUAL "thread")
    set(cadre_sanitizer_flags -fsanitize=thread)
    string(JOIN ":" cadre_sanitizer_environment
        "TSAN_OPTIONS=suppressions='${CMAKE_CURRENT_SOURCE_DIR}/tests/tsan.supp'"
        "detect_deadlocks=1" "second_deadlock_stack=1" "halt_on_error=1")
elseif(CADRE_SANITIZE)
    message(FATAL_ERROR "CADRE_SANITIZE (${CADRE_SANITIZE}) is neither address+undefined nor thread")
endif()

if(CADRE_SANITIZE)
    add_compile_options(${cadre_sanitizer_flags} -fno-omit-frame-pointer)
    add_link_options(${cadre_sanitizer_flags})
endif()

# CADRE_FUZZ also builds tests/fuzz with libFuzzer of clang++, and counts in the libraries which
# edges an input takes: cadre_for_fuzzing(target...) is what does so.
option(CADRE_FUZZ "Fuzz targets (needs clang++)" OFF)
function(cadre_for_fuzzing)
    if(CADRE_FUZZ)
        foreach(target ${ARGN})
            target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
        endforeach()
    endif()
endfunction()
