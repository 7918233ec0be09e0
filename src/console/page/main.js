/* The console's first module. */
