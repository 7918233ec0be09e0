/* HTTP dates: IMF-fixdate, RFC 850 and asctime, as RFC 9110 §5.6.7 asks of a recipient.
 * The names are English whatever the locale; see date.h. */
#include "base/date.h"

#include <stdio.h>
#include <string.h>

static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* What one pattern may hold: 'w' short day name, 'W' long one, 'd' day of two digits, '_'
 * day with a space for the tens, 'b' month name, 'y' year of two digits, 'Y' of four, 'H'
 * 'M' 'S' time, 'Z' GMT or UTC; anything else is matched literally. */
static const char *const patterns[] = {"w, d b Y H:M:S Z", "W, d-b-y H:M:S Z",
                                       "w b _ H:M:S Y"};

/* The first n letters of `word`, in any case. */
static bool take_word(tk_str *rest, const char *word, size_t n)
{
    if (n > rest->n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if ((rest->p[i] | 0x20) != (word[i] | 0x20)) {
            return false;
        }
    }
    rest->p += n;
    rest->n -= n;
    return true;
}

static bool take_char(tk_str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c) {
        return false;
    }
    rest->p++;
    rest->n--;
    return true;
}

static bool take_day_name(tk_str *rest, bool whole)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(day_names); i++) {
        if (take_word(rest, day_names[i], whole ? strlen(day_names[i]) : 3)) {
            return true;
        }
    }
    return false;
}

static bool take_month(int *month, tk_str *rest)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(month_names); i++) {
        if (take_word(rest, month_names[i], 3)) {
            *month = (int)i + 1;
            return true;
        }
    }
    return false;
}

static bool take_padded_day(int *day, tk_str *rest)
{
    return tk_str_take_digits(day, rest, take_char(rest, ' ') ? 1 : 2);
}

static bool take_item(tk_date_fields *f, bool *short_year, tk_str *rest, char item)
{
    switch (item) {
    case 'w':
        return take_day_name(rest, false);
    case 'W':
        return take_day_name(rest, true);
    case 'd':
        return tk_str_take_digits(&f->day, rest, 2);
    case '_':
        return take_padded_day(&f->day, rest);
    case 'b':
        return take_month(&f->month, rest);
    case 'y':
        *short_year = true;
        return tk_str_take_digits(&f->year, rest, 2);
    case 'Y':
        return tk_str_take_digits(&f->year, rest, 4);
    case 'H':
        return tk_str_take_digits(&f->hour, rest, 2);
    case 'M':
        return tk_str_take_digits(&f->minute, rest, 2);
    case 'S':
        return tk_str_take_digits(&f->second, rest, 2);
    case 'Z':
        return take_word(rest, "GMT", 3) || take_word(rest, "UTC", 3);
    default:
        return take_char(rest, item);
    }
}

static bool take_pattern(tk_date_fields *f, bool *short_year, tk_str text,
                         const char *pattern)
{
    tk_str rest = text;
    memset(f, 0, sizeof(*f));
    *short_year = false;
    for (; *pattern != '\0'; pattern++) {
        if (!take_item(f, short_year, &rest, *pattern)) {
            return false;
        }
    }
    return rest.n == 0;
}

/* Grows with the time within a year. */
static int64_t within_year(const tk_date_fields *f)
{
    return (((f->month * INT64_C(32) + f->day) * 24 + f->hour) * 60 + f->minute) * 61 +
           f->second;
}

/* RFC 9110: the latest year with these digits that is not more than 50 years ahead. */
static bool from_short_year(int64_t *us, tk_date_fields *f, int64_t now_us)
{
    tk_date_fields now;
    if (!tk_date_to_fields(&now, now_us)) {
        return false;
    }
    int last = now.year + 50;
    f->year += last / 100 * 100;
    if (f->year > last || (f->year == last && within_year(f) > within_year(&now))) {
        f->year -= 100;
    }
    return tk_date_from_fields(us, f, 0);
}

tinkc_code tk_date_parse_http(int64_t *us, tk_str text, int64_t now_us, tk_err *err)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(patterns); i++) {
        tk_date_fields f;
        bool short_year;
        if (!take_pattern(&f, &short_year, text, patterns[i])) {
            continue;
        }
        if (short_year ? from_short_year(us, &f, now_us)
                       : tk_date_from_fields(us, &f, 0)) {
            return TINKC_OK;
        }
        return tk_err_set(err, TINKC_E_PARSE, "no such day or time");
    }
    return tk_err_set(err, TINKC_E_PARSE, "not an HTTP date");
}

bool tk_date_format_http(char out[TK_DATE_HTTP_BYTES], int64_t us)
{
    tk_date_fields f;
    *out = '\0';
    if (!tk_date_to_fields(&f, us)) {
        return false;
    }
    int n = snprintf(out, TK_DATE_HTTP_BYTES, "%.3s, %02d %s %04d %02d:%02d:%02d GMT",
                     day_names[f.weekday], f.day, month_names[f.month - 1], f.year,
                     f.hour, f.minute, f.second);
    return n == TK_DATE_HTTP_BYTES - 1;
}
