# The usual layout. Programs start each other and are sent to nodes from one folder, so all of them
# are in libexec/assay; bin has links to the programs that people call.
include(GNUInstallDirs)
if(ASSAY_TRAIN_ALONE)
  return()
endif()
set(programs_dir ${CMAKE_INSTALL_LIBEXECDIR}/assay)

install(TARGETS assay assay-agent assay-micro assay-nvml
  RUNTIME DESTINATION ${programs_dir} COMPONENT assay)
# ./bench.sh leaves it out.
install(TARGETS assay-full RUNTIME DESTINATION ${programs_dir} COMPONENT assay OPTIONAL)
install(TARGETS ais_utils RUNTIME DESTINATION ${programs_dir}/ais COMPONENT assay)
install(TARGETS ais_utils_library LIBRARY DESTINATION ${programs_dir}/ais COMPONENT assay)
install(FILES ${PROJECT_SOURCE_DIR}/apps/ais-utils/ais_utils.py ${PROJECT_SOURCE_DIR}/apps/ais-utils/set_result.py
  DESTINATION ${programs_dir}/ais COMPONENT assay)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conf DESTINATION ${CMAKE_INSTALL_DATADIR}/assay COMPONENT assay)
# In the layout of the source, so that links among them work as they do there.
foreach(page README.md README.zh-CN.md CHANGELOG.md CONTRIBUTING.md CODE_OF_CONDUCT.md SECURITY.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT assay)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT assay PATTERN site EXCLUDE PATTERN __pycache__ EXCLUDE)
install(CODE "
  file(CREATE_LINK copyright \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/LICENSE\" SYMBOLIC)"
  COMPONENT assay)

# install_compressed(PATTERN FOLDER COMPONENT): the files, each with .gz after its name.
function(install_compressed pattern folder component)
  install(CODE "
    file(GLOB files \"${pattern}\")
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    foreach(file IN LISTS files)
      get_filename_component(name \"\${file}\" NAME)
      # Without name and time in its head, so that the same file gives the same bytes.
      execute_process(COMMAND gzip -9n -c \"\${file}\" OUTPUT_FILE \"\${folder}/\${name}.gz\"
        COMMAND_ERROR_IS_FATAL ANY)
    endforeach()" COMPONENT ${component})
endfunction()

# install_link(NAME COMPONENT): bin/NAME is a link to the program that also works if everything is moved.
function(install_link name component)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    if(EXISTS \"\${prefix}/${programs_dir}/${name}\")
      file(MAKE_DIRECTORY \"\${prefix}/${CMAKE_INSTALL_BINDIR}\")
      file(CREATE_LINK \"../${programs_dir}/${name}\" \"\${prefix}/${CMAKE_INSTALL_BINDIR}/${name}\" SYMBOLIC)
    endif()"
    COMPONENT ${component})
endfunction()
install_link(assay assay)
install(CODE "
  file(CREATE_LINK libais_utils.so
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${programs_dir}/ais/libset_result.so\" SYMBOLIC)"
  COMPONENT assay)

if(TARGET assay-train)
  # ./bench.sh leaves it out if the suite does not train.
  install(TARGETS assay-train RUNTIME DESTINATION ${programs_dir} COMPONENT assay-train OPTIONAL)
  install_link(assay-train assay-train)
endif()

# The programs themselves make manual pages, each of the commands that it has, and completions.
set(generated ${CMAKE_BINARY_DIR}/generated/install)
set(completions ${generated}/assay.bash ${generated}/_assay ${generated}/assay.fish)
add_custom_command(OUTPUT ${generated}/man/assay.1 ${completions}
  DEPENDS assay
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}/man
  COMMAND assay man-pages ${generated}/man
  COMMAND sh -c "'$<TARGET_FILE:assay>' completion bash > assay.bash && '$<TARGET_FILE:assay>' completion zsh > _assay && '$<TARGET_FILE:assay>' completion fish > assay.fish"
  WORKING_DIRECTORY ${generated} VERBATIM)
file(MAKE_DIRECTORY ${generated})
add_custom_target(install-files DEPENDS ${generated}/man/assay.1 ${completions})
add_custom_command(OUTPUT ${generated}/man-full/assay-compare.1
  DEPENDS assay-full
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}/man-full
  COMMAND assay-full man-pages ${generated}/man-full
  WORKING_DIRECTORY ${generated} VERBATIM)
add_custom_target(full-pages DEPENDS ${generated}/man-full/assay-compare.1)
add_dependencies(programs install-files full-pages)
if(TARGET assay-train)
  add_custom_command(OUTPUT ${generated}/train/assay-train.1 DEPENDS assay-train
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}/train
    COMMAND sh -c "'${PROJECT_SOURCE_DIR}/packaging/help-page.sh' '$<TARGET_FILE:assay-train>' assay-train 'training workloads of the benchmark assay' > train/assay-train.1"
    WORKING_DIRECTORY ${generated} VERBATIM)
  add_custom_target(train-page DEPENDS ${generated}/train/assay-train.1)
  add_dependencies(programs train-page)
  install_compressed("${generated}/train/*.1" ${CMAKE_INSTALL_MANDIR}/man1 assay-train)
endif()
install_compressed("${generated}/man/*.1" ${CMAKE_INSTALL_MANDIR}/man1 assay)
install_compressed("${generated}/man-full/*.1" ${CMAKE_INSTALL_MANDIR}/man1 assay)
install(FILES ${generated}/assay.bash RENAME assay
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT assay)
install(FILES ${generated}/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT assay)
install(FILES ${generated}/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT assay)

# The server as a service of its own user.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/server/assay-server.service
  DESTINATION lib/systemd/system COMPONENT assay-server)

# Pure Python, where the release's own Python looks for it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/assay DESTINATION lib/python3/dist-packages
  COMPONENT python3-assay PATTERN __pycache__ EXCLUDE)

# The documents as pages, if they can be built.
find_program(SPHINX_BUILD sphinx-build PATHS /usr/bin NO_DEFAULT_PATH)
if(SPHINX_BUILD)
  set(site ${CMAKE_BINARY_DIR}/generated/site)
  file(GLOB_RECURSE pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/*.md
    ${PROJECT_SOURCE_DIR}/docs/site/*)
  list(FILTER pages EXCLUDE REGEX "${PROJECT_SOURCE_DIR}/(build|results)/")
  add_custom_command(OUTPUT ${site}/index.html DEPENDS ${pages} ${PROJECT_SOURCE_DIR}/scripts/build-site.sh
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/build-site.sh ${site} VERBATIM)
  add_custom_target(site DEPENDS ${site}/index.html)
  install(DIRECTORY ${site}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay/html COMPONENT assay-doc OPTIONAL)
endif()

include(cmake/Package.cmake)
