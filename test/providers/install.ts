import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';

/** Debian packages by a file of each. */
const packages: Record<string, string> = {
  glewlwyd: '/usr/bin/glewlwyd',
  sqlite3: '/usr/bin/sqlite3',
  'liblemonldap-ng-portal-perl': '/usr/share/perl5/Lemonldap/NG/Portal.pm',
  'libio-string-perl': '/usr/share/perl5/IO/String.pm',
  'libstring-random-perl': '/usr/share/perl5/String/Random.pm',
};

// Without them, Apache and a database server would come too.
const beside = ['dbconfig-no-thanks', 'lemonldap-ng-fastcgi-server'];

/**
 * Installs the providers where this process may: as root on Debian.
 *
 * @throws Error that names what is missing
 */
export function installProviders(): void {
  const missing = () => Object.keys(packages).filter((name) => !existsSync(packages[name]!));
  if (missing().length > 0 && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const options: ExecFileSyncOptions = { stdio: ['pipe', 'ignore', 'ignore'], env };
    execFileSync('debconf-set-selections', {
      ...options,
      input: 'glewlwyd glewlwyd/config_type select No configuration\n',
    });
    // The package expects it.
    mkdirSync('/etc/glewlwyd', { recursive: true });
    execFileSync('apt-get', ['update', '-qq'], options);
    const names = [...missing(), ...beside];
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], options);
  }
  if (missing().length > 0) throw new Error(`These Debian packages are missing: ${missing().join(', ')}.`);
}
