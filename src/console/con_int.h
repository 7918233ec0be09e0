/* What the files of the console share. Private to con_*.c. */
#ifndef CONSOLE_CON_INT_H
#define CONSOLE_CON_INT_H

#include "console/con.h"
#include "console/con_events.h"
#include "console/con_login.h"

struct con {
    con_data data; /* constant, as `budget` */
    hd_budget *budget;
    con_login *login;
    con_events *events;
};

/* Handlers, by the file that has them. */
hd_verdict con_runs_list(con *console, hd_request *request);
hd_verdict con_runs_get(con *console, hd_request *request);
hd_verdict con_series_get(con *console, hd_request *request);
hd_verdict con_samples_list(con *console, hd_request *request);
hd_verdict con_samples_get(con *console, hd_request *request);
hd_verdict con_samples_forget(con *console, hd_request *request);
hd_verdict con_samples_decode(con *console, hd_request *request);
hd_verdict con_episodes_list(con *console, hd_request *request);
hd_verdict con_server_get(con *console, hd_request *request);

#endif
