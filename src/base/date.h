/* Calendar time, RFC 3339 text (this file's date.c) and HTTP dates (date_http.c).
 *
 * A point in time is an int64 of microseconds since 1970-01-01T00:00:00Z, without leap
 * seconds, in the years 0001 to 9999 of the Gregorian calendar. Nothing here reads the
 * clock, TZ or the locale. Thread: any. */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include "base/err.h"
#include "base/str.h"

#define TK_DATE_TEXT_BYTES 28 /* "2026-07-13T00:00:00.000000Z" and a NUL */
#define TK_DATE_HTTP_BYTES 30 /* "Sun, 06 Nov 1994 08:49:37 GMT" and a NUL */

typedef struct tk_date_fields {
    int year;  /* 1 to 9999 */
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
    int hour, minute;
    int second; /* 60 in the last minute of a day: reads as the second after it */
    int micros;
    int weekday; /* 0 = Sunday; ignored by tk_date_from_fields */
} tk_date_fields;

/* False, and *us untouched, when there is no such day or time. `offset_minutes` is what
 * the fields are ahead of UTC. */
TK_NODISCARD bool tk_date_from_fields(int64_t *us, const tk_date_fields *fields,
                                      int offset_minutes);

/* The fields in UTC; false outside the years 0001 to 9999. */
TK_NODISCARD bool tk_date_to_fields(tk_date_fields *out, int64_t us);

/* RFC 3339: "T", "t" or one space between day and time; "Z", "z" or an offset; a
 * fraction of any length, of which microseconds are kept. Text without a zone is UTC
 * (Python's isoformat writes such). TINKC_E_PARSE with the offset otherwise. */
TK_NODISCARD tinkc_code tk_date_parse(int64_t *us, tk_str text, tk_err *err);

/* In UTC with "Z"; a fraction of six digits only when it is not zero. False, and `out`
 * empty, outside the years 0001 to 9999. */
TK_NODISCARD bool tk_date_format(char out[TK_DATE_TEXT_BYTES], int64_t us);

/* Writes the time like tk_date_format, but always with six digits of fraction, as
 * telemetry needs it. */
TK_NODISCARD bool tk_date_format_micros(char out[TK_DATE_TEXT_BYTES], int64_t us);

/* Any of the three forms of RFC 9110. A two-digit year that would lie more than 50 years
 * after `now_us` belongs to the century before. Names in any case; whether the name of
 * the day fits the date is not checked. */
TK_NODISCARD tinkc_code tk_date_parse_http(int64_t *us, tk_str text, int64_t now_us,
                                           tk_err *err);

/* IMF-fixdate; a fraction is dropped. False, and `out` empty, outside 0001 to 9999. */
TK_NODISCARD bool tk_date_format_http(char out[TK_DATE_HTTP_BYTES], int64_t us);

#endif
