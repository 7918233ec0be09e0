/* JSON against jansson: see support/json_oracle.h for what is compared.
 * Links: jansson */
#include "fuzz.h"
#include "support/json_oracle.h"

int fuzz_record(const uint8_t *data, size_t size)
{
    const char *verdict = json_oracle_check((const char *)data, size);
    if (verdict != NULL) {
        fuzz_fail(verdict);
    }
    return 0;
}
