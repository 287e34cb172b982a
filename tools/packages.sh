# packages.sh - installs Debian packages that are missing; sourced by
# quickstart and check.

BUILD_PACKAGES="autoconf automake make gcc libc6-dev pkg-config flex bison
	liburcu-dev libevent-dev libssl-dev libseccomp-dev
	protobuf-c-compiler libprotobuf-c-dev libfstrm-dev"

# packages_need NAME... : installs those that are absent. No service of any of
# them is started: a policy-rc.d that forbids it stands for the duration.
packages_need() {
	local missing="" name policy=/usr/sbin/policy-rc.d made_policy=""

	for name in "$@"; do
		dpkg-query -W -f='${Status}' "$name" 2>/dev/null |
			grep -q '^install ok installed$' || missing="$missing $name"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "These packages are missing; install them as root:$missing" >&2
		return 1
	fi
	echo "Installing:$missing"
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=yes
	fi
	export DEBIAN_FRONTEND=noninteractive
	local status=0
	{ apt-get -q -o Acquire::Retries=3 update &&
		# shellcheck disable=SC2086
		apt-get -q -y -o Acquire::Retries=3 \
			-o DPkg::Lock::Timeout=300 \
			install --no-install-recommends $missing; } \
		>/tmp/nsd-packages.$$ 2>&1 || status=$?
	[ -z "$made_policy" ] || rm -f "$policy"
	if [ "$status" -ne 0 ]; then
		tail -n 20 /tmp/nsd-packages.$$ >&2
		echo "Installing failed." >&2
	fi
	rm -f /tmp/nsd-packages.$$
	return "$status"
}

# build_in DIR [CONFIGURE-ARGUMENT...] : configures and builds there, out of
# the source tree. Says only what goes wrong; the rest is in DIR/build.log.
build_in() {
	local dir=$1
	shift
	build_only "$dir" all "$@"
}

# build_system : makes configure and what it reads, if they are older than what
# they are made of.
build_system() (
	cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
	mkdir -p build-aux
	if [ ! -x configure ] || [ configure.ac -nt configure ] ||
		[ ! -e Makefile.in ] || [ Makefile.am -nt Makefile.in ]; then
		autoreconf -fi
	fi
)

# build_only DIR TARGETS [CONFIGURE-ARGUMENT...] : the same, these targets only.
# configure is called by a relative path: it refuses an absolute one with a
# space in it.
build_only() {
	local dir=$1 targets=$2 source here
	shift 2
	source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	here=$(realpath --relative-to="$dir" "$source")
	{
		build_system &&
			(cd "$dir" && "$here/configure" "$@" &&
				# shellcheck disable=SC2086
				make -j"$(nproc)" $targets)
	} >"$dir/build.log" 2>&1 || {
		grep -nE 'error|warning:|\*\*\*' "$dir/build.log" | tail -n 30 >&2
		tail -n 5 "$dir/build.log" >&2
		echo "The build failed; all of its output: $dir/build.log" >&2
		return 1
	}
}
