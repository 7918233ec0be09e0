/* The whole API for C++17 and later, header only: classes over the functions of
 * <tinkc/tinkc.h>, in the namespace tinkc. docs/guide/cpp.md introduces it.
 *
 * Handles: a class owns one C handle and frees it at its end. It can be moved, not copied;
 * empty() is true after a move and after the default constructor, and every call on an
 * empty handle fails with TINKC_E_STATE or TINKC_E_INVALID, or returns nothing. c_ptr()
 * gives the C handle for functions of the C API.
 *
 * Errors: a function that can fail has a template parameter, the way in which it reports.
 *     auto ids = tokenizer.encode("text");                    throws tinkc::error
 *     auto ids = tokenizer.encode<tinkc::expected>("text");   returns expected<encoding>
 * A program that is compiled without exceptions has the second way only: the first one
 * does not compile there.
 *
 * Operations return a future<T>: get() waits for the result, get<tinkc::expected>() too.
 * Other texts, sizes and limits are those of the C function that is named at each member,
 * and so are the threads that may call it. Text arguments are NUL-terminated (const char *
 * or std::string) unless they are a std::string_view; arrays are tinkc::span, which
 * vectors, arrays and std::span convert to; neither is copied on the way in. */
#ifndef TINKC_TINKC_HPP
#define TINKC_TINKC_HPP

#include <tinkc/cpp/base.hpp>
#include <tinkc/cpp/clients.hpp>
#include <tinkc/cpp/config.hpp>
#include <tinkc/cpp/future.hpp>
#include <tinkc/cpp/insight.hpp>
#include <tinkc/cpp/options.hpp>
#include <tinkc/cpp/raw.hpp>
#include <tinkc/cpp/rest.hpp>
#include <tinkc/cpp/results.hpp>
#include <tinkc/cpp/rl.hpp>
#include <tinkc/cpp/text.hpp>
#include <tinkc/cpp/values.hpp>

#endif
