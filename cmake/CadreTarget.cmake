# SPDX-License-Identifier: Apache-2.0

# What every target of this project gets, and no target of a consumer does.
function(cadre_own_target target)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    if(CADRE_DEVELOPER)
        target_compile_options(${target} PRIVATE
            -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
    endif()
endfunction()

# What a library of ours is to others: a shared one offers what CADRE_API marks, under a name that
# changes when a program has to be built anew (docs/abi.md); a static one can go into somebody's
# shared library, and stays hidden in it.
function(cadre_library target)
    set_target_properties(${target} PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        target_compile_definitions(${target} PUBLIC CADRE_STATIC)
    endif()
endfunction()

# Compiles `size` files of a target at once. Names in them must differ, also in unnamed namespaces.
function(cadre_in_batches target size)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # Names of one file that shadow another's, and unnamed namespaces in what g++ takes for a header.
    target_compile_options(${target} PRIVATE
        -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
