import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { parseRedisUrl } from '../../src/queue/redis.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { createDatabase } from '../support/database.ts';
import { spawnService } from '../support/process.ts';

type Environment = Record<string, string>;
interface ComposeFile {
  services: Record<
    string,
    {
      env_file?: { path: string; required: boolean }[];
      environment: Record<string, string>;
      command?: string[];
      ports?: string[];
      mem_limit?: string;
    }
  >;
}

const { services } = parse(readFileSync('compose.yaml', 'utf8'), { merge: true }) as ComposeFile;

/** Substitutes variables as Compose does: ${A}, ${A:-default}, ${A:?error}, ${A:+other}, also nested. */
function interpolate(text: string, env: Environment): string {
  const inner = /\$\{([A-Z_]+)(?::([-?+])([^${}]*))?\}/;
  const filled: string[] = []; // substituted values are not parsed again
  let result = text;
  for (let match = inner.exec(result); match; match = inner.exec(result)) {
    const [whole, name, operator, word = ''] = match as unknown as [string, string, string?, string?];
    const value = env[name] || undefined;
    if (operator === '?' && !value) throw new Error(`${name}: ${word}`);
    if (value && operator !== '+') filled.push(value);
    const other = (operator === '+') === Boolean(value) ? word : '';
    result = result.replace(whole, () =>
      value && operator !== '+' ? `\u0000${filled.length - 1}\u0000` : other,
    );
  }
  return result.replace(/\0(\d+)\0/g, (_, index) => filled[Number(index)]!);
}

/** The environment that a service's container has with a `.env`, and with what the image sets. */
function environmentOf(service: string, env: Environment): Environment {
  const image = /^ENV NODE_ENV.*$/m.exec(readFileSync('Dockerfile', 'utf8'))![0].split(' ').slice(1);
  const given = Object.entries(services[service]!.environment).map(([name, value]) => [
    name,
    interpolate(String(value), env),
  ]);
  return {
    ...Object.fromEntries(image.map((pair) => pair.split('='))),
    ...env,
    ...Object.fromEntries(given),
  };
}

/** The commands of docs/deployment.md that write .env, run in a folder. */
function writeEnv(folder: string): Environment {
  const [, lines] = /```sh\n(random\(\)[\s\S]*?)docker compose up -d\n```/.exec(
    readFileSync('docs/deployment.md', 'utf8'),
  )!;
  execFileSync('sh', ['-c', lines!], { cwd: folder, stdio: 'pipe' });
  const text = readFileSync(join(folder, '.env'), 'utf8');
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s, 2)),
  );
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'receiver-compose-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each(['receiver', 'worker'])(
  'every variable of .env reaches the %s, but for those of the container',
  (service) => {
    const { env_file, environment } = services[service]!;
    expect(env_file).toEqual([{ path: '.env', required: false }]);
    const own = ['NODE_ENV', 'ROLE', 'HOST', 'PORT', 'SOCKET'];
    const changed = Object.entries(environment).filter(([name, value]) => !value.startsWith(`\${${name}:-`));
    expect(changed.map(([name]) => name).toSorted()).toEqual(own.toSorted());
    expect(services.receiver!.ports).toEqual([`127.0.0.1:\${PORT:-8080}:8080`]);
  },
);

it.each(['receiver', 'worker'])(
  'a .env that is also for a process of the machine does not change what the %s is',
  (service) => {
    const foreign = { NODE_ENV: 'test', ROLE: 'all', HOST: '127.0.0.1', PORT: '9000', SOCKET: '/run/a.sock' };
    const config = parseConfig(environmentOf(service, { ...writeEnv(folder), ...foreign }), families);
    expect(config).toMatchObject({ production: true, role: service, host: '0.0.0.0', port: 8080 });
    expect(config.socket).toBeUndefined();
  },
);

it.each(['receiver', 'worker'])(
  'with the .env of docs/deployment.md the %s starts in production',
  (service) => {
    const config = parseConfig(environmentOf(service, writeEnv(folder)), families);
    expect(config).toMatchObject({ production: true, role: service, host: '0.0.0.0', port: 8080 });
    expect(config.authentication.allowUnauthenticated).toBe(false);
    expect(config.metrics.port).toBe(9464);
    expect(new URL(config.databaseUrl!)).toMatchObject({ hostname: 'postgres', pathname: '/receiver' });
    expect(parseRedisUrl(config.redisUrl!)).toMatchObject({ nodes: [{ host: 'redis', port: 6379 }] });
  },
);

it('the commands of docs/deployment.md write random secrets that only the user can read, and never overwrite them', () => {
  const env = writeEnv(folder);
  const random = Object.values(env).map((value) => /[\da-f]{48}$/.exec(value)![0]);
  expect(new Set(random).size).toBe(Object.keys(env).length);
  expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
  expect(() => writeEnv(folder)).toThrow();
  expect(readFileSync(join(folder, '.env'), 'utf8')).toContain(env.ADMIN_TOKEN);
});

it('without the passwords nothing starts', () => {
  expect(() => environmentOf('receiver', {})).toThrow('POSTGRES_PASSWORD');
  expect(() => environmentOf('receiver', { POSTGRES_PASSWORD: 'x' })).toThrow('REDIS_PASSWORD');
});

it('a password reaches both stores, whatever its characters, except those that docs/deployment.md excludes', () => {
  const password = fc.string({ minLength: 1 }).filter((text) => !/[?#%\s]/.test(text));
  fc.assert(
    fc.property(password, password, (POSTGRES_PASSWORD, REDIS_PASSWORD) => {
      const env = { ...writtenOnce, POSTGRES_PASSWORD, REDIS_PASSWORD };
      const { databaseUrl, redisUrl } = parseConfig(environmentOf('worker', env), families);
      expect(decodeURIComponent(new URL(databaseUrl!).password)).toBe(POSTGRES_PASSWORD);
      expect(parseRedisUrl(redisUrl!).access.password).toBe(REDIS_PASSWORD);
      const command = services.redis!.command!.map((word) => interpolate(word, env));
      expect(command[command.indexOf('--requirepass') + 1]).toBe(REDIS_PASSWORD);
    }),
  );
});
const writtenOnce = { ADMIN_TOKEN: '0123456789abcdef' };

it('Redis writes each command to its disk, and evicts none', () => {
  const command = services.redis!.command!.join(' ');
  for (const option of ['--appendonly yes', '--appendfsync always', '--maxmemory-policy noeviction']) {
    expect(command).toContain(option);
  }
});

it.each(['receiver', 'worker'])('the %s writes no files, has no rights, and ends its children', (service) => {
  expect(services[service]).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    init: true,
    mem_limit: '512m',
    ulimits: { nofile: 16384 },
  });
});

it.each(Object.keys(services))('the memory and the log of %s have a limit', (service) => {
  expect(services[service]).toMatchObject({
    mem_limit: expect.stringMatching(/^\d+[mg]$/),
    logging: { driver: 'json-file', options: { 'max-size': '20m', 'max-file': '5' } },
  });
});

it('Redis refuses writes before its container’s memory ends, with room for the copy of its pages', () => {
  const command = services.redis!.command!;
  expect(command[command.indexOf('--maxmemory') + 1]).toBe('512mb');
  expect(services.redis!.mem_limit).toBe('1g');
});

it.each(['receiver', 'worker'])(
  'the image’s health check passes for a running %s and fails for a stopped one',
  async (ROLE) => {
    const database = await createDatabase();
    const ports = { PORT: String(await freePort()), METRICS_PORT: String(await freePort()) };
    const health = async () => {
      const child = spawn(process.execPath, ['bin/health.js'], { env: { ROLE, ...ports }, stdio: 'ignore' });
      return (await once(child, 'exit'))[0];
    };
    const service = await spawnService({ ROLE, DATABASE_URL: database.url, ...ports });
    expect(await health()).toBe(0);
    // Without an admin token there are no metrics.
    const metrics = await fetch(`http://127.0.0.1:${ports.METRICS_PORT}/metrics`);
    expect(metrics.status).toBe(404);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await health()).toBe(1);
    await database.close();
  },
);
