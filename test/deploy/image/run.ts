// npm run image [-- --pinned]: builds the image with buildah, and runs both roles of it as a cluster does: on a read-only
// root, as a user without capabilities, in 512 MiB. As root on Debian, with the packages buildah, debootstrap and runc.
// Without --pinned the base is a stand-in, a minimal Debian with the Node and the npm of this machine.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLog } from '../../../src/common/log.ts';
import { sendCallbacks } from '../../../src/sandbox/sender.ts';
import { eventsUrl } from '../../../src/sandbox/urls.ts';
import { callbacks } from '../../../src/sandbox/variations.ts';
import { freePort } from '../../../src/store/embedded/free-port.ts';
import { startEmbeddedPostgres } from '../../../src/store/embedded/index.ts';
import { until } from '../../support/until.ts';
import { openBuildah, standIn } from './build.ts';
import { type Container, runContainer } from './container.ts';

const count = 50_000;
const folder = mkdtempSync(join(tmpdir(), 'receiver-image-'));
const buildah = openBuildah(folder);
const say = (text: string) => process.stdout.write(`${text}\n`);

/** The context of the build: what .dockerignore lets through is a part of it. */
function copySources(): string {
  const context = join(folder, 'context');
  const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
  for (const file of files) if (existsSync(file)) cpSync(file, join(context, file));
  appendFileSync(join(context, '.env'), 'ADMIN_TOKEN=must-not-be-in-the-image\n');
  return context;
}

function buildTwice(context: string): void {
  const pinned = process.argv.includes('--pinned');
  if (!pinned) buildah.makeStandIn();
  const args = pinned ? [] : ['--pull-never', '--build-arg', `NODE_IMAGE=${standIn}`];
  const version = ['--build-arg', 'VERSION=1.2.3', '--build-arg', 'REVISION=abc'];
  buildah.build(context, [...args, ...version]);
  appendFileSync(join(context, 'src/cli.ts'), '\n');
  const printed = buildah.build(context, [...args, ...version]);
  const steps = printed.split(/^(?:\[\d\/\d\] )?STEP \d+\/\d+: /m);
  const installs = steps.filter((step) => step.startsWith('RUN npm ci'));
  assert.equal(installs.length, 2);
  for (const step of installs) assert.match(step, /Using cache/);
  assert.doesNotMatch(steps.find((step) => step.startsWith('RUN npm run build'))!, /Using cache/);
  say('built, and again after a change of a source: both layers of dependencies came from the cache');
  say(buildah.sizes());
}

/** Name and version of each package below a folder of packages. */
function packagesIn(modules: string): string[] {
  return readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) => {
      const path = join(modules, name);
      if (name.startsWith('@')) return packagesIn(path).map((found) => found.replace(/^(?!@)/, `${name}/`));
      const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
      const nested = join(path, 'node_modules');
      return [`${name}@${version}`, ...(existsSync(nested) ? packagesIn(nested) : [])];
    });
}

function checkFiles(root: string): void {
  const app = join(root, 'app');
  assert.deepEqual(readdirSync(app).sort(), [
    'LICENSE',
    'assets',
    'bin',
    'db',
    'dist',
    'node_modules',
    'package-lock.json',
    'package.json',
    'sbom.cdx.json',
    'src',
  ]);
  assert.deepEqual(readdirSync(join(app, 'src/client')), ['package.json']);
  for (const unwanted of ['app/node_modules/typescript', 'app/node_modules/jest', 'root/.npm']) {
    assert.ok(!existsSync(join(root, unwanted)), unwanted);
  }
  const { components } = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8')) as {
    components: { purl: string }[];
  };
  const listed = new Set(components.map(({ purl }) => decodeURIComponent(purl.replace('pkg:npm/', ''))));
  const installed = packagesIn(join(app, 'node_modules'));
  assert.deepEqual(
    installed.filter((name) => !listed.has(name)),
    [],
  );
  say(`/app/sbom.cdx.json lists all of the ${new Set(installed).size} packages installed`);
}

async function runBothRoles(root: string): Promise<void> {
  const config = buildah.config();
  assert.equal(config.User, '1000:1000');
  assert.equal(config.StopSignal, 'SIGTERM');
  assert.equal(config.Labels['org.opencontainers.image.version'], '1.2.3');
  assert.equal(config.Labels['org.opencontainers.image.revision'], 'abc');
  const health = config.Healthcheck.Test.slice(1);
  const image = { folder, root, config };
  const server = await startEmbeddedPostgres(join(folder, 'data'), createLog('error'));
  const database = new pg.Client(server.url);
  const running: Container[] = [];
  try {
    await database.connect();
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const common = {
      DATABASE_URL: server.url,
      EVENTS_PATH: '/callbacks/8f14e45fceea167a5a36dedd4bea2543',
      HOST: '127.0.0.1',
    };
    const migration = runContainer(image, 'migrate', common, ['node', 'bin/receiver.js', 'migrate']);
    assert.equal(await migration.end(), 0, migration.output());

    const start = async (role: string, [port, metricsPort]: [number, number]) => {
      const env = { ...common, ROLE: role, PORT: String(port), METRICS_PORT: String(metricsPort) };
      const container = runContainer(image, role, env);
      running.push(container);
      await until(() => {
        if (container.child.exitCode !== null) throw new Error(container.output());
        return container.output().includes('"msg":"ready"');
      });
      return container;
    };
    const receiver = await start('receiver', [ports[0], ports[1]]);
    const worker = await start('worker', [1, ports[2]]);
    for (const [role, container] of Object.entries({ receiver, worker })) {
      assert.equal(container.exec(health), 0, `health of the ${role}`);
      assert.notEqual(container.exec(['touch', '/app/written']), 0, 'the root is writable');
    }
    const url = `http://127.0.0.1:${ports[0]}`;
    assert.equal((await fetch(`${url}/healthz`)).status, 200);

    const summary = await sendCallbacks(callbacks({ seed: 1, count }), {
      urlOf: eventsUrl(url, common),
      connections: 64,
    });
    say(`sent: ${JSON.stringify(summary)}`);
    const pending = async () =>
      Number((await database.query('select count(*) from pending_deliveries')).rows[0].count);
    await until(async () => (await pending()) === 0);
    const { rows } = await database.query('select status, count(*)::int from deliveries group by status');
    say(`in PostgreSQL: ${JSON.stringify(rows)}`);
    say(`peak memory, MiB: receiver ${receiver.peakMiB()}, worker ${worker.peakMiB()}`);

    for (const container of running) assert.equal(await container.end('TERM'), 0, container.output());
    say('migrated, received, applied; health checks passed; SIGTERM ended both with 0');
  } finally {
    for (const container of running) if (container.child.exitCode === null) await container.end('KILL');
    await database.end();
    await server.stop();
  }
}

try {
  buildTwice(copySources());
  const root = buildah.mount();
  checkFiles(root);
  await runBothRoles(root);
} finally {
  buildah.close();
  rmSync(folder, { recursive: true, force: true });
}
