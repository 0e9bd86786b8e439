import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const text = readFileSync('Dockerfile', 'utf8').replaceAll(/\\\n\s*/g, '');
const stages = text
  .split(/^(?=FROM )/m)
  .slice(1)
  .map((stage) => stage.split('\n').filter((line) => /^[A-Z]/.test(line)));
const final = stages.at(-1)!;

it('every stage starts from one base, which is pinned by its digest', () => {
  expect(text).toMatch(/^ARG NODE_IMAGE=\S+@sha256:[\da-f]{64}$/m);
  for (const [from] of stages) expect(from).toMatch(/^FROM \$\{NODE_IMAGE\}( AS \w+)?$/);
});

it('the layers of dependencies come before the sources, so that they are built again only when they change', () => {
  const installing = stages.filter((stage) => stage.some((line) => line.includes('npm ci')));
  expect(installing).toHaveLength(2);
  for (const stage of installing) {
    const before = stage.slice(
      0,
      stage.findIndex((line) => line.includes('npm ci')),
    );
    expect(before.filter((line) => line.startsWith('COPY'))).toEqual([
      'COPY package.json package-lock.json ./',
      'COPY src/client/package.json src/client/',
    ]);
  }
});

it('the image is built from what .dockerignore names, and from nothing else', () => {
  const ignore = readFileSync('.dockerignore', 'utf8').trim().split('\n');
  expect(ignore).toContain('*');
  const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const copied = text
    .split('\n')
    .filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(' ').slice(1, -1))
    .map((path) => path.split('/')[0]!);
  expect([...new Set(copied)].toSorted()).toEqual(allowed.toSorted());
  for (const path of allowed) expect(existsSync(path)).toBe(true);
});

it('the image runs as a user whom Kubernetes can tell from root, and installs nothing itself', () => {
  expect(final).toContain('USER 1000:1000');
  expect(final.filter((line) => line.startsWith('RUN'))).toEqual([]);
});

it('the health check asks a receiver that listens on a socket file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-health-'));
  const env = { SOCKET: join(folder, 'socket') };
  const health = async () =>
    (await once(spawn(process.execPath, ['bin/health.js'], { env, stdio: 'ignore' }), 'exit'))[0];
  expect(await health()).toBe(1);
  const server = createServer((req, res) => res.writeHead(req.url === '/healthz' ? 200 : 404).end());
  await once(server.listen(env.SOCKET), 'listening');
  expect(await health()).toBe(0);
  server.close();
  rmSync(folder, { recursive: true });
});
