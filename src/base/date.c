/* The Gregorian calendar counted from 0001-01-01, where every quantity is positive, and
 * RFC 3339 text. HTTP dates are in date_http.c. */
#include "base/date.h"

#define US_PER_SECOND INT64_C(1000000)
#define DAY_SECONDS   INT64_C(86400)
#define EPOCH_DAY     INT64_C(719162)  /* 1970-01-01, days after 0001-01-01 */
#define DAYS_TOTAL    INT64_C(3652059) /* days in the years 0001 to 9999 */

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days of the year before `month`; month 13 gives the length of the year. */
static int days_before(int year, int month)
{
    static const int starts[] = {0,   0,   31,  59,  90,  120, 151,
                                 181, 212, 243, 273, 304, 334, 365};
    return starts[month] + (month > 2 && is_leap(year));
}

static int64_t day_number(int year, int month, int day)
{
    int64_t y = year - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + days_before(year, month) + day - 1;
}

static bool fields_valid(const tk_date_fields *f)
{
    if (f->year < 1 || f->year > 9999 || f->month < 1 || f->month > 12 || f->day < 1 ||
        f->day > days_before(f->year, f->month + 1) - days_before(f->year, f->month)) {
        return false;
    }
    return f->hour >= 0 && f->hour <= 23 && f->minute >= 0 && f->minute <= 59 &&
           f->second >= 0 && f->second <= 60 && f->micros >= 0 && f->micros <= 999999;
}

bool tk_date_from_fields(int64_t *us, const tk_date_fields *fields, int offset_minutes)
{
    if (!fields_valid(fields) || offset_minutes <= -1440 || offset_minutes >= 1440) {
        return false;
    }
    int64_t minutes = day_number(fields->year, fields->month, fields->day) * 1440 +
                      fields->hour * 60 + fields->minute - offset_minutes;
    if (fields->second == 60 && minutes % 1440 != 1439) {
        return false; /* leap seconds end a day of UTC */
    }
    int64_t seconds = minutes * 60 + fields->second;
    if (seconds < 0 || seconds >= DAYS_TOTAL * DAY_SECONDS) {
        return false;
    }
    *us = (seconds - EPOCH_DAY * DAY_SECONDS) * US_PER_SECOND + fields->micros;
    return true;
}

/* The year of a day counted from 0001-01-01: an estimate that is never too late, then at
 * most a few steps. */
static int year_of(int64_t days)
{
    int year = (int)(days / 366) + 1;
    while (day_number(year + 1, 1, 1) <= days) {
        int64_t missing = days - day_number(year + 1, 1, 1);
        year += 1 + (int)(missing / 366);
    }
    return year;
}

bool tk_date_to_fields(tk_date_fields *out, int64_t us)
{
    int64_t seconds = us / US_PER_SECOND;
    int64_t micros = us % US_PER_SECOND;
    if (micros < 0) {
        micros += US_PER_SECOND;
        seconds--;
    }
    seconds += EPOCH_DAY * DAY_SECONDS;
    if (seconds < 0 || seconds >= DAYS_TOTAL * DAY_SECONDS) {
        return false;
    }
    int64_t days = seconds / DAY_SECONDS;
    int of_day = (int)(seconds % DAY_SECONDS);
    int year = year_of(days);
    int of_year = (int)(days - day_number(year, 1, 1));
    int month = 1;
    while (days_before(year, month + 1) <= of_year) {
        month++;
    }
    out->year = year;
    out->month = month;
    out->day = of_year - days_before(year, month) + 1;
    out->hour = of_day / 3600;
    out->minute = of_day / 60 % 60;
    out->second = of_day % 60;
    out->micros = (int)micros;
    out->weekday = (int)((days + 1) % 7); /* 0001-01-01 was a Monday */
    return true;
}

/* ---- RFC 3339 ---- */

static bool take_one_of(tk_str *rest, const char *set, char *out)
{
    if (rest->n == 0) {
        return false;
    }
    for (; *set != '\0'; set++) {
        if (rest->p[0] == *set) {
            *out = *set;
            rest->p++;
            rest->n--;
            return true;
        }
    }
    return false;
}

/* ".5", ".123456789": microseconds are kept, at least one digit is there. */
static bool take_fraction(int *micros, tk_str *rest)
{
    char dot;
    *micros = 0;
    if (!take_one_of(rest, ".", &dot)) {
        return true;
    }
    int digit;
    int weight = 100000;
    bool any = false;
    while (tk_str_take_digits(&digit, rest, 1)) {
        *micros += digit * weight;
        weight /= 10;
        any = true;
    }
    return any;
}

static bool take_zone(int *offset_minutes, tk_str *rest)
{
    char sign;
    *offset_minutes = 0;
    if (rest->n == 0 || take_one_of(rest, "Zz", &sign)) {
        return true;
    }
    int hours;
    int minutes;
    char colon;
    if (!take_one_of(rest, "+-", &sign) || !tk_str_take_digits(&hours, rest, 2) ||
        !take_one_of(rest, ":", &colon) || !tk_str_take_digits(&minutes, rest, 2) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *offset_minutes = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
    return true;
}

static bool take_all(tk_date_fields *f, int *offset_minutes, tk_str *rest)
{
    char c;
    return tk_str_take_digits(&f->year, rest, 4) && take_one_of(rest, "-", &c) &&
           tk_str_take_digits(&f->month, rest, 2) && take_one_of(rest, "-", &c) &&
           tk_str_take_digits(&f->day, rest, 2) && take_one_of(rest, "Tt ", &c) &&
           tk_str_take_digits(&f->hour, rest, 2) && take_one_of(rest, ":", &c) &&
           tk_str_take_digits(&f->minute, rest, 2) && take_one_of(rest, ":", &c) &&
           tk_str_take_digits(&f->second, rest, 2) && take_fraction(&f->micros, rest) &&
           take_zone(offset_minutes, rest) && rest->n == 0;
}

tinkc_code tk_date_parse(int64_t *us, tk_str text, tk_err *err)
{
    tk_date_fields fields = {0};
    int offset_minutes = 0;
    tk_str rest = text;
    if (!take_all(&fields, &offset_minutes, &rest)) {
        return tk_err_at(err, TINKC_E_PARSE, text.n - rest.n,
                         "not an RFC 3339 time such as 2026-07-13T09:30:00Z");
    }
    if (!tk_date_from_fields(us, &fields, offset_minutes)) {
        return tk_err_at(err, TINKC_E_PARSE, 0, "no such day or time");
    }
    return TINKC_OK;
}

/* ---- writing ---- */

static char *put_digits(char *out, int value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return out + width;
}

static bool format(char *out, int64_t us, bool always_micros)
{
    tk_date_fields f;
    *out = '\0';
    if (!tk_date_to_fields(&f, us)) {
        return false;
    }
    out = put_digits(out, f.year, 4);
    *out++ = '-';
    out = put_digits(out, f.month, 2);
    *out++ = '-';
    out = put_digits(out, f.day, 2);
    *out++ = 'T';
    out = put_digits(out, f.hour, 2);
    *out++ = ':';
    out = put_digits(out, f.minute, 2);
    *out++ = ':';
    out = put_digits(out, f.second, 2);
    if (always_micros || f.micros != 0) {
        *out++ = '.';
        out = put_digits(out, f.micros, 6);
    }
    *out++ = 'Z';
    *out = '\0';
    return true;
}

bool tk_date_format(char out[TK_DATE_TEXT_BYTES], int64_t us)
{
    return format(out, us, false);
}

bool tk_date_format_micros(char out[TK_DATE_TEXT_BYTES], int64_t us)
{
    return format(out, us, true);
}
