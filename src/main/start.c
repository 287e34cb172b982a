/* start.c - from the command line to a running server. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/priority.h"
#include "conf/chroot.h"
#include "conf/command.h"
#include "conf/image.h"
#include "conf/secret_keys.h"
#include "conf/zonelist.h"
#include "dns/name.h"
#include "loader/conf_zones.h"
#include "main/anchors_check.h"
#include "main/flags.h"
#include "main/private_folder.h"
#include "main/start.h"
#include "main/supervisor.h"
#include "net/socket.h"
#include "process/affinity.h"
#include "process/counts.h"
#include "process/lifeline.h"
#include "process/privilege.h"
#include "process/role.h"
#include "process/title.h"
#include "process/verify_sockets.h"
#include "worker/proxies.h"

/* How long to wait for the ports of processes that have just ended; and if none
 * of them is known: all may have been killed a moment ago. */
#define PORTS_WAIT_SEC 10
#define PORTS_WAIT_MSEC 1000

/* How long lines may wait for room in the log, of processes that serve: a
 * few more than syslog's socket holds, if its daemon is about to read. */
#define LOG_PATIENCE_MSEC 20

/* Values that one part of a start finds out for another. */
struct start {
	struct privilege_user user;
	const char *lifeline_key;
	int64_t until_msec; /* until then addresses that are in use are waited
			     * for */
};

static void
main_on_diag(struct diag_sink *sink, const struct diag *d)
{
	char line[2048];

	conf_print_diag(d, line, sizeof(line));
	fprintf(stderr, "%s\n", line);
}

/* Opens the standard streams that the parent process has closed. Else another
 * file would get such a number; it would be written to, and replaced. */
static bool
main_fill_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) == -1
			&& open("/dev/null", O_RDWR) != fd)
			return false;
	return true;
}

static enum nsd_err
main_load_conf(struct flags *flags, struct conf **conf)
{
	struct diag_sink sink = {.on_diag = main_on_diag};
	enum nsd_err err = conf_load(flags->config, NULL, &sink, conf);

	if (err == NSD_E_MEMORY)
		fprintf(stderr, "nsd: out of memory\n");
	if (err != NSD_OK || (err = flags_apply(flags, *conf)) != NSD_OK)
		return err;
	return conf_check_texts(*conf, &sink) == 0 ? NSD_OK : NSD_E_LIMIT;
}

/* Opens the log: standard error and syslog, if there is no file, or it cannot
 * be opened. */
static void
main_open_log(const struct conf_server *o, const char *program)
{
	struct log_options options = {
		.program = program,
		.file = o->logfile != NULL && *o->logfile != '\0' ? o->logfile
								  : NULL,
		.copy_errors = true,
		.only_syslog = o->log_only_syslog,
		.time_ascii = o->log_time_ascii,
		.time_iso = o->log_time_iso,
		.facility = FACILITY,
		.verbosity = o->verbosity,
	};
	enum nsd_err err = log_open(&options);
	int error = errno;

	log_set_patience(LOG_PATIENCE_MSEC);
	log_own_stderr();
	if (err == NSD_OK)
		return;
	/* A log that cannot be opened does not keep zones from being served. */
	options.file = NULL;
	if (log_open(&options) != NSD_OK)
		return; /* does not happen: there is no file to open */
	log_error("Cannot open %s for appending (%s), logging to stderr",
		o->logfile, strerror(error));
	/* A SIGHUP tries again. */
	log_set_file(o->logfile);
}

static enum nsd_err
main_change_directory(const char *path)
{
	if (path == NULL || *path == '\0' || chdir(path) == 0)
		return NSD_OK;
	log_error("cannot chdir to '%s': %s", path, strerror(errno));
	return NSD_E_SYSTEM;
}

/* Raises the soft limit of open files before sockets are opened: addresses
 * times workers may be more. How many they are is known only afterwards. */
static void
main_lift_soft_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		log_warning("cannot raise the limit of open files: %s",
			strerror(errno));
}

/* Makes room for the sockets of every role, which inherit the limit. */
static void
main_raise_limits(const struct conf_server *o, unsigned sockets)
{
	rlim_t wanted = (rlim_t)o->tcp_count + o->server_count + sockets + 100;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted;
	limit.rlim_max = wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		log_warning("tcp-count %u wants %lu open files, which the"
			    " system does not allow",
			(unsigned)o->tcp_count, (unsigned long)wanted);
}

/* Returns how many of count descriptors cannot be opened. */
static unsigned
main_try_descriptors(int *fds, unsigned count)
{
	unsigned n = 0, lacking = 0;

	while (n < count && (fds[n] = fcntl(0, F_DUPFD_CLOEXEC, 0)) != -1)
		n++;
	if (n < count && errno == EMFILE)
		lacking = count - n;
	while (n > 0)
		close(fds[--n]);
	return lacking;
}

/* Warns if descriptors do not do for all processes, and refuses to start if
 * they do not do for serving at all. */
static enum nsd_err
main_check_limits(const struct supervisor *s)
{
	unsigned count = supervisor_count_descriptors(s, true), lacking;
	int *fds = calloc(count, sizeof(*fds));
	struct rlimit limit;

	if (fds == NULL)
		return NSD_E_MEMORY;
	lacking = main_try_descriptors(fds, count);
	free(fds);
	if (lacking == 0 || getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return NSD_OK;
	log_error("%lu open files are too few, at least %lu are needed"
		  " (RLIMIT_NOFILE: ulimit -n, LimitNOFILE=)",
		(unsigned long)limit.rlim_cur,
		(unsigned long)limit.rlim_cur + lacking);
	return count - lacking < supervisor_count_descriptors(s, false)
		? NSD_E_LIMIT : NSD_OK;
}

/* Gives the log file to the user: without root the log is to be opened anew. */
static void
main_give_log(const struct privilege_user *user)
{
	struct stat st;
	int fd = log_fd();

	/* A file with a second name may be something else, too. */
	if (fd != -1 && user->change && fstat(fd, &st) == 0
		&& S_ISREG(st.st_mode) && st.st_nlink == 1
		&& fchown(fd, user->uid, user->gid) == -1)
		log_warning("cannot give the log file away: %s",
			strerror(errno));
}

/* Enters the chroot. From inside, the same files have other names. */
static enum nsd_err
main_enter_chroot(struct supervisor *s)
{
	const struct conf_server *o = &s->server.conf->server;

	if (o->chroot == NULL || *o->chroot == '\0')
		return NSD_OK;
	if (privilege_chroot(o->chroot) != NSD_OK)
		return NSD_E_SYSTEM;
	s->server.chroot = o->chroot;
	if (o->logfile != NULL)
		log_set_file(conf_path_in_chroot(o->chroot, o->logfile));
	if (s->pidfile.path != NULL)
		pidfile_set_path(&s->pidfile,
			conf_path_in_chroot(o->chroot, s->pidfile.path));
	if (o->zonesdir == NULL || *o->zonesdir == '\0')
		return NSD_OK;
	return main_change_directory(conf_path_in_chroot(o->chroot,
		o->zonesdir));
}

static enum nsd_err
main_use_cookies(struct supervisor *s)
{
	struct cookie_choice choice;
	enum nsd_err err;

	cookie_keeper_choose(&s->server, s->server.conf, &choice);
	err = cookie_keeper_use(&s->cookies, &s->server, &choice);
	cookie_keeper_wipe(&choice);
	return err;
}

/* Moves the zones of the configuration to an image, where users of them look
 * (conf_zones.h). */
static enum nsd_err
main_put_zones_away(struct server *server)
{
	int fd;
	enum nsd_err err = conf_image_write_zones(server->conf, &fd);

	if (err != NSD_OK) {
		log_error("cannot keep the zones of the configuration: %s",
			err_reason(err));
		return err;
	}
	conf_zones_take(server, fd);
	server->may_write = conf_zones_may_write(server->conf);
	err = conf_commands_collect(server->conf, &server->commands);
	if (err != NSD_OK)
		return err;
	conf_drop_zones(server->conf);
	return NSD_OK;
}

/* Does all that can fail, and binds sockets, before there is a daemon. */
static enum nsd_err
main_prepare(struct supervisor *s, const char *program, struct start *start)
{
	const struct conf_server *o = &s->server.conf->server;
	enum nsd_err err = main_change_directory(o->zonesdir);
	struct diag_sink sink = {.on_diag = log_diag};
	struct admin_terms terms = {.made = &s->server.files, .sink = &sink};

	if (err != NSD_OK)
		return err;
	main_open_log(o, program);
	log_notice("nsd starting (%s), rrl-ratelimit %u", PACKAGE_STRING,
		RATELIMIT ? o->rrl_ratelimit : 0);
	if (zonelist_load(s->server.conf, o->zonelistfile, &sink,
		    &s->server.list_was_cut)
		!= NSD_OK) {
		log_error("could not read zonelist file %s", o->zonelistfile);
		return NSD_E_SYSTEM;
	}
	conf_list_without_effect(s->server.conf, NULL, &sink);
	anchors_check(s->server.conf, NULL, o->chroot, &sink);
	if ((err = main_put_zones_away(&s->server)) != NSD_OK)
		return err;
	start->lifeline_key = "nsd";
	if (o->pidfile != NULL && *o->pidfile != '\0') {
		start->lifeline_key = o->pidfile;
		pidfile_check(o->pidfile);
	}
	if ((err = affinity_check(o, &sink)) != NSD_OK
		|| (err = privilege_find_user(o->username, &start->user))
			!= NSD_OK
		|| (err = privilege_find_worker(o->worker_username,
			    &start->user, &s->server.worker_user))
			!= NSD_OK)
		return err;
	main_lift_soft_limit();
	start->until_msec = lifeline_take_over(start->lifeline_key)
		? PORTS_WAIT_SEC * 1000
		: PORTS_WAIT_MSEC;
	start->until_msec += clock_now_msec();
	err = sockets_open(o, start->until_msec, &s->server.listeners);
	if (err == NSD_OK)
		err = verify_sockets_open(s->server.conf, start->until_msec,
			&s->server.listeners);
	s->server.forces_buffers = net_may_force_buffers();
	if (err == NSD_OK)
		err = proxies_create(o, &s->server.proxies);
	if (err != NSD_OK)
		return err;
	sandbox_probe(&s->server.sandbox, o->sandbox);
	terms.until_msec = start->until_msec;
	terms.user = &start->user;
	err = admin_listeners_open_metrics(o, &terms, &s->server.metrics);
	if (err != NSD_OK)
		return err;
	err = counts_create(&(struct counts_options){
			.workers = o->server_count,
			.groups_max = COUNTS_GROUPS_MAX,
			.limits = o->rrl_size,
			.hidden = s->server.conf->verify.enable},
		&s->server.counts);
	return err != NSD_OK ? err : main_use_cookies(s);
}

/* Secrets of keys go to where this process alone can write, and no child of
 * it. */
static enum nsd_err
main_hide_secrets(struct supervisor *s)
{
	enum nsd_err err = secret_keys_create(s->server.conf,
		&s->server.key_store);

	if (err == NSD_OK && !key_store_is_sealed(s->server.key_store))
		log_warning("sandbox: the secrets of keys are not sealed"
			    " against writing: the kernel does not allow it");
	if (err == NSD_OK)
		err = secret_keys_move(s->server.conf, NULL,
			s->server.key_store);
	if (err != NSD_OK)
		log_error("out of memory for the secrets of keys");
	return err;
}

static enum nsd_err
main_open_control(struct server *server, int64_t until_msec)
{
	struct diag_sink sink = {.on_diag = log_diag};
	const struct admin_terms terms = {
		.until_msec = until_msec,
		.user = server->user_to_be,
		.made = &server->files,
		.sink = &sink,
	};
	struct control_listeners *listeners = &server->control;
	enum nsd_err err = control_listeners_open(server->conf, &terms,
		listeners);

	if (err == NSD_OK && control_listeners_have_tls(listeners)) {
		listeners->look = control_listeners_look(server,
			&server->conf->remote_control);
		err = control_listeners_read_pem(server,
			&server->conf->remote_control, &sink, &listeners->pem);
	}
	if (err == NSD_E_MEMORY)
		log_error("out of memory for the control channel");
	if (err != NSD_OK)
		control_listeners_refuse();
	return err;
}

static enum nsd_err
main_read_certificates(struct supervisor *s, const struct start *start)
{
	enum nsd_err err;

	s->server.user_to_be = &start->user;
	err = certificates_read_first(s);
	if (err == NSD_OK)
		err = main_open_control(&s->server, start->until_msec);
	if (err != NSD_OK)
		return err;
	main_raise_limits(&s->server.conf->server,
		s->server.listeners.count + s->server.control.count);
	return NSD_OK;
}

/* In the process that stays: all that needs root; then root is given up. */
static enum nsd_err
main_settle(struct supervisor *s, const struct start *start)
{
	const struct privilege_user *user = &start->user;
	const struct conf_server *o = &s->server.conf->server;
	bool in_chroot = o->chroot != NULL && *o->chroot != '\0';
	enum nsd_err err;

	s->server.main_pid = getpid();
	if ((err = main_hide_secrets(s)) != NSD_OK
		|| (err = main_read_certificates(s, start)) != NSD_OK)
		return err;
	s->server.boot = time(NULL);
	s->server.boot_usec = clock_now_usec();
	systemd_open(&s->systemd);
	priority_probe();
	affinity_set_all(o);
	s->server.lifeline = lifeline_open(start->lifeline_key);
	s->server.list = open(conf_path_in_chroot(s->server.chroot,
		o->zonelistfile), O_RDWR | O_CLOEXEC | O_NOFOLLOW
			| O_NONBLOCK | O_NOCTTY);
	main_give_log(user);
	/* A pid file that cannot be written, as on a full disk, does not keep
	 * the server from starting. */
	if (o->pidfile != NULL && *o->pidfile != '\0'
		&& pidfile_write(&s->pidfile, o->pidfile) != NSD_OK)
		log_warning("going on without a pid file");
	err = supervisor_init(s, in_chroot,
		user->change ? user->uid : geteuid());
	if (err != NSD_OK) {
		log_error("cannot start: %s", err_text(err));
		return err;
	}
	if ((err = main_check_limits(s)) != NSD_OK
		|| (err = main_enter_chroot(s)) != NSD_OK)
		return err;
	s->server.user_to_be = NULL;
	return privilege_drop(user, &s->server.worker_user);
}

/* Ends a start that has failed, as the log says, and removes the files that it
 * has made, as far as it may. Returns the exit code. */
static int
main_give_up(struct supervisor *s, const char *program)
{
	log_error("server initialization failed, %s could not be started",
		program);
	pidfile_remove(&s->pidfile);
	admin_files_remove(&s->server.files);
	return 1;
}

int
start_server(int argc, char **argv, const struct role_hooks *hooks)
{
	static struct supervisor s = {.pidfile.fd = -1};
	char **args = title_init(argc, argv);
	const char *program;
	struct start start;
	static struct flags flags; /* the configuration refers to them */
	enum flags_outcome outcome;
	bool started;

	if (args == NULL || !main_fill_streams())
		return 1;
	/* Writing to a file that may not grow fails like on a full disk. The
	 * roles inherit this. */
	signal(SIGXFSZ, SIG_IGN);
	/* Writing a log whose reader has gone fails, too. */
	signal(SIGPIPE, SIG_IGN);
	/* The parent process may have ignored it: then wait() would not
	 * work. */
	signal(SIGCHLD, SIG_DFL);
	program = strrchr(args[0], '/');
	program = program != NULL ? program + 1 : args[0];
	outcome = flags_parse(argc, args, &flags);
	if (outcome != FLAGS_RUN)
		return outcome == FLAGS_EXIT_OK ? 0 : 1;
	if (main_load_conf(&flags, &s.server.conf) != NSD_OK) {
		log_error("could not read config: %s", flags.config);
		return 1;
	}
	/* Closes other descriptors that the parent process has left open: each
	 * role would hold them for as long as the server runs. Not earlier, as
	 * the configuration may have been read from one. */
	fs_close_all_but(NULL, 0);
	if (!reconfig_init(&s, &flags)
		|| main_prepare(&s, program, &start) != NSD_OK
		|| daemon_start(&s.daemon, s.server.conf->server.debug_mode)
			!= NSD_OK
		|| main_settle(&s, &start) != NSD_OK)
		return main_give_up(&s, program);
	privilege_forget_user(&start.user);
	private_folder_make(&s.server);
	role_init_name("main", "main");
	s.server.hooks = hooks;
	started = supervisor_run(&s);
	private_folder_remove(&s.server);
	if (!started)
		return main_give_up(&s, program);
	pidfile_remove(&s.pidfile);
	return 0;
}
