/* main.c - the program nsd. */
#include "proc/supervisor.h"

int
main(int argc, char **argv)
{
	return server_run(argc, argv, NULL);
}
