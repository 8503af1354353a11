# SPDX-License-Identifier: Apache-2.0

# What every target of this project gets, and no target of a consumer does.
function(cadre_own_target target)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    if(CADRE_DEVELOPER)
        target_compile_options(${target} PRIVATE
            -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
    endif()
endfunction()
