# Packages: cpack -G DEB makes one of each component, cpack -G TZST one archive that can be unpacked
# anywhere. packaging/build.sh makes them so that two builds give the same bytes.
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "the Assay authors")
set(CPACK_PACKAGE_CONTACT "the Assay authors <assay@example.com>")
# No CPACK_PACKAGE_DESCRIPTION_SUMMARY: it would go before the first line of every description below.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL assay assay-train assay-server python3-assay assay-doc)
if(NOT TARGET assay-train)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL assay-train)
endif()
if(NOT TARGET site)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL assay-doc)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_ASSAY_PACKAGE_NAME assay)
set(CPACK_DEBIAN_ASSAY_PACKAGE_RECOMMENDS "assay-train, openssh-client")
set(CPACK_DEBIAN_ASSAY_PACKAGE_SUGGESTS "assay-server, assay-doc, python3-assay, podman")
set(CPACK_COMPONENT_ASSAY_DESCRIPTION
  "benchmark of AI training with a verdict that can be defended
Assay runs training workloads on one machine or a cluster (locally, over SSH,
under Slurm, in a cloud), samples devices and power, and judges the evidence.")
set(CPACK_DEBIAN_ASSAY-TRAIN_PACKAGE_NAME assay-train)
set(CPACK_DEBIAN_ASSAY-TRAIN_PACKAGE_DEPENDS "assay (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_ASSAY-TRAIN_DESCRIPTION
  "training workloads of the benchmark assay
ResNet, BERT and others, built with libtorch, with data that is generated
or read from the usual formats.")
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_NAME assay-server)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_DEPENDS "assay (>= ${PROJECT_VERSION}), adduser")
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/server/postinst;${PROJECT_SOURCE_DIR}/packaging/server/prerm;${PROJECT_SOURCE_DIR}/packaging/server/postrm")
set(CPACK_COMPONENT_ASSAY-SERVER_DESCRIPTION
  "job platform and tester of the benchmark assay, as a service
A unit for systemd that runs 'assay serve' as a user of its own. It is not
started before it is enabled.")
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_NAME python3-assay)
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_SUGGESTS "python3-pandas")
set(CPACK_DEBIAN_PYTHON3-ASSAY_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/python3/postinst;${PROJECT_SOURCE_DIR}/packaging/python3/prerm")
set(CPACK_COMPONENT_PYTHON3-ASSAY_DESCRIPTION
  "results of the benchmark assay in Python, and its log from a trainer
Reads runs into frames of pandas and writes PerfLog from PyTorch Lightning,
Hugging Face's Trainer or a plain loop.")
set(CPACK_DEBIAN_ASSAY-DOC_PACKAGE_NAME assay-doc)
set(CPACK_DEBIAN_ASSAY-DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_ASSAY-DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_ASSAY-DOC_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_ASSAY-DOC_DESCRIPTION
  "documents of the benchmark assay, as pages with search
Readable without a network: /usr/share/doc/assay/html/index.html.")
include(CPack)

# Common to every package. Version and time are those of the source: packaging/build.sh sets the time.
string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(folder ${CMAKE_BINARY_DIR}/generated/package/${component})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/changelog.in ${folder}/changelog @ONLY)
  install_compressed(${folder}/changelog ${CMAKE_INSTALL_DATADIR}/doc/${component} ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
  # Overrides for lintian, with their reasons.
  set(overrides ${PROJECT_SOURCE_DIR}/packaging/lintian/${component})
  if(EXISTS ${overrides})
    install(FILES ${overrides} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
  endif()
endforeach()
