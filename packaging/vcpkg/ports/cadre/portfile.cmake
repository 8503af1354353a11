# SPDX-License-Identifier: Apache-2.0

# An overlay port, which builds the repository that it lies in:
#   vcpkg install cadre --overlay-ports=packaging/vcpkg/ports
# A port of a registry has vcpkg_from_github(REPO ... REF ... SHA512 ...) in place of this line.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES manage CADRE_BUILD_MANAGE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${options}
        -DCADRE_DEVELOPER=OFF
        -DCADRE_BUILD_TESTS=OFF
        -DCADRE_BUILD_EXAMPLES=OFF
        -DCADRE_BUILD_BENCH=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cadre)
vcpkg_fixup_pkgconfig()
if("manage" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES cadrectl AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
