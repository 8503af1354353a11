# SPDX-License-Identifier: Apache-2.0

# The HTTP side: cpp-httplib, whose classes depend on how it was compiled, which its .pc file tells;
# and the dashboard, which web/ makes, as a page within the binary.
find_package(PkgConfig REQUIRED)
pkg_check_modules(cadre_httplib REQUIRED cpp-httplib)
set(cadre_httplib_CFLAGS_OTHER ${cadre_httplib_CFLAGS_OTHER} PARENT_SCOPE)
set(cadre_httplib_LINK_LIBRARIES ${cadre_httplib_LINK_LIBRARIES} PARENT_SCOPE)
set_property(SOURCE http_listener.cpp PROPERTY COMPILE_OPTIONS ${cadre_httplib_CFLAGS_OTHER})
target_link_libraries(cadre_manage PRIVATE ${cadre_httplib_LINK_LIBRARIES})

set(cadre_page ${CMAKE_CURRENT_SOURCE_DIR}/web/dashboard.html)
set(cadre_page_source ${CMAKE_CURRENT_BINARY_DIR}/dashboard_page.cpp)
add_custom_command(OUTPUT ${cadre_page_source}
    COMMAND ${CMAKE_COMMAND} -D input=${cadre_page} -D output=${cadre_page_source}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
    DEPENDS ${cadre_page} ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake VERBATIM)
target_sources(cadre_manage PRIVATE ${cadre_page_source})
# clang-tidy reads the batches before anything is made.
set_source_files_properties(${cadre_page_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
