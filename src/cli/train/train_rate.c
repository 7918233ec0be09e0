/* Reads sizes such as "8B", "135M", "1.5b" and "8x7B" from names. A size is a word of its
 * own: the "A3B" of "Qwen3-30B-A3B" is what a token uses, not the size.
 * Needs: text */
#include "cli/train/train_rate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define DIGITS_MAX 15

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '.';
}

/* Reads a number at *at and moves it past that; 0 when there is none. */
static double take_number(const char **at)
{
    double number = 0;
    size_t n = strspn(*at, "0123456789.");
    bool ok = n <= DIGITS_MAX && tk_str_to_double((tk_str){*at, n}, &number);
    *at += n;
    return ok ? number : 0;
}

/* Returns the size that the word at `at` is; 0 when it is something else. */
static double size_of(const char *at)
{
    double number = take_number(&at);
    if (number > 0 && *at == 'x') {
        at++;
        number *= take_number(&at);
    }
    char unit = (char)tolower((unsigned char)*at);
    if (!(number > 0) || (unit != 'b' && unit != 'm') || is_word(at[1])) {
        return 0;
    }
    return number * (unit == 'b' ? 1e9 : 1e6);
}

double train_rate_parameters(const char *model)
{
    const char *slash = strrchr(model, '/');
    double most = 0;
    for (const char *at = slash != NULL ? slash + 1 : model; *at != '\0';) {
        most = fmax(most, size_of(at));
        while (is_word(*at)) {
            at++;
        }
        while (*at != '\0' && !is_word(*at)) {
            at++;
        }
    }
    return most;
}

double train_rate_auto(double parameters)
{
    char text[32];
    double rate = TRAIN_RATE_UNKNOWN;
    if (!(parameters > 0)) {
        return rate;
    }
    (void)snprintf(text, sizeof(text), "%.1e", 1e-3 * pow(1e9 / parameters, 0.25));
    return tk_str_to_double(tk_str_of(text), &rate) ? rate : TRAIN_RATE_UNKNOWN;
}
