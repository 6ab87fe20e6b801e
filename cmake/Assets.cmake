# assay_assets(LIBRARY FILE...): the library's files of assets/ become the constants of the header
# LIBRARY/LIBRARY_assets.h: assets/masthead.html is assay::LIBRARY::assets::kMasthead, and all style
# sheets together are kStyle.
function(assay_assets library)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/assets/ OUTPUT_VARIABLE files)
  assay_embed(${library} ${files})
endfunction()

# assay_embed(LIBRARY FILE...): the same for files anywhere, relative to the folder.
function(assay_embed library)
  set(files "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${file})
  endforeach()
  list(JOIN files "|" joined)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/${library}_assets.h)
  cmake_path(GET CMAKE_CURRENT_BINARY_DIR PARENT_PATH include)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} -DNAMESPACE=assay::${library}::assets -DFILES=${joined}
            -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  target_sources(assay_${library} PRIVATE ${header})
  target_include_directories(assay_${library} PUBLIC ${include})
endfunction()
