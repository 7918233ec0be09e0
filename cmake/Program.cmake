# The `tinkc` program: src/cli over the public API, with base/ for output and, where the
# server is built, server/ for `tinkc serve`. It links the modules of libtinkc, not
# libtinkc.a: base/ would be in the program twice, with its exported functions. That it uses
# nothing but public headers is the business of scripts/check-layers.py.
if(TARGET tk_cli)
    add_executable(tinkc_program $<TARGET_OBJECTS:tk_cli>)
    set_target_properties(tinkc_program PROPERTIES OUTPUT_NAME tinkc LINKER_LANGUAGE C)
    target_link_libraries(tinkc_program PRIVATE tkm_client ${CMAKE_DL_LIBS})
    if(TARGET tkm_server)
        target_link_libraries(tinkc_program PRIVATE tkm_server)
    endif()
    target_link_libraries(tinkc_program PRIVATE tkm_base)
    install(TARGETS tinkc_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

    # Manual pages and completion scripts, from the same table of commands as --help.
    add_executable(dump_cli ${CMAKE_SOURCE_DIR}/tools/dump_cli.c)
    tinkc_strict(dump_cli)
    set_target_properties(dump_cli PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
    target_link_libraries(dump_cli PRIVATE tkm_cli tkm_client tkm_base)
    set(man ${CMAKE_BINARY_DIR}/man)
    add_custom_command(OUTPUT ${man}/stamp
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${man}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${man}
        COMMAND dump_cli ${man}
        COMMAND tinkc_program completion bash > ${man}/completion.bash
        COMMAND tinkc_program completion zsh > ${man}/completion.zsh
        COMMAND tinkc_program completion fish > ${man}/completion.fish
        COMMAND ${CMAKE_COMMAND} -E touch ${man}/stamp
        DEPENDS dump_cli tinkc_program VERBATIM)
    add_custom_target(man ALL DEPENDS ${man}/stamp)
    install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            FILES_MATCHING PATTERN "*.1")
    install(FILES ${man}/completion.bash RENAME tinkc
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${man}/completion.zsh RENAME _tinkc
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${man}/completion.fish RENAME tinkc.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
