/* main.c - the program nsd. */
#include <stddef.h>

#include "main/start.h"

int
main(int argc, char **argv)
{
	return start_server(argc, argv, NULL);
}
