import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';

const run = promisify(execFile);
const name = 'webhook-receiver-client';

/** The files that `npm pack` takes from a folder. */
async function packedFiles(folder: string, ...options: string[]): Promise<string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--offline', '--silent', ...options], {
    cwd: folder,
  });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path);
}

/** The files that the README of a folder links to. */
function linksOf(folder: string): string[] {
  const text = readFileSync(join(folder, 'README.md'), 'utf8').replace(/^```.*?^```/gms, '');
  return Array.from(text.matchAll(/\]\(([^)#\s]+)/g), ([, link]) => link!).filter(
    (link) => !/^[a-z]+:/.test(link),
  );
}

let sandbox: Sandbox;
let app: string;
let files: string[];

/** A project in which the packed client and its two dependencies are installed. */
beforeAll(async () => {
  sandbox = await startSandbox();
  app = mkdtempSync(join(tmpdir(), 'client-app-'));
  files = await packedFiles('src/client');
  for (const file of files) {
    cpSync(join('src/client', file), join(app, 'node_modules', name, file));
  }
  mkdirSync(join(app, 'node_modules/@types'));
  for (const dependency of ['undici', 'zod', '@types/node']) {
    symlinkSync(resolve('node_modules', dependency), join(app, 'node_modules', dependency));
  }
});
afterAll(async () => {
  await sandbox.close();
  rmSync(app, { recursive: true });
});

const search = () => `
  const client = createServiceClient({ baseUrl: '${sandbox.url}', token: '${sandboxToken}' });
  client.searchDrugsAndLabs({ q: 'paracetamol', limit: 2 })
    .then(({ drugs }) => console.log(drugs.length))
    .then(() => client.searchDrugsAndLabs({ q: 'fault-400' }))
    .catch((error) => console.log(error instanceof Rejected, error.status))
    .finally(() => client.close());
`;
const found = '2\ntrue 400\n';

async function runInApp(file: string, text: string): Promise<string> {
  writeFileSync(join(app, file), text);
  return (await run(process.execPath, [file], { cwd: app })).stdout;
}

it('depends on undici and zod only', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('src/client/package.json', 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['undici', 'zod']);
  expect(peerDependencies).toBeUndefined();
  expect(files.join()).not.toContain('commands');
});

it('runs in an ES module', async () => {
  const imports = `import { createServiceClient, Rejected } from '${name}';`;
  expect(await runInApp('app.mjs', imports + search())).toBe(found);
});

it('runs in CommonJS', async () => {
  const imports = `const { createServiceClient, Rejected } = require('${name}');`;
  expect(await runInApp('app.cjs', imports + search())).toBe(found);
});

it('has the same classes in an ES module and in CommonJS', async () => {
  const text = `
    import { createRequire } from 'node:module';
    import { ServiceError } from '${name}';
    console.log(createRequire(import.meta.url)('${name}').ServiceError === ServiceError);`;
  expect(await runInApp('same.mjs', text)).toBe('true\n');
});

it.each([
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
] as const)('runs in a bundle of esbuild in format %s, without node_modules', async (format, extension) => {
  const folder = mkdtempSync(join(tmpdir(), 'client-bundle-'));
  const contents = `import { createServiceClient, Rejected } from '${name}';${search()}`;
  const outfile = join(folder, `app.${extension}`);
  await build({ stdin: { contents, resolveDir: app }, bundle: true, platform: 'node', format, outfile });
  expect((await run(process.execPath, [outfile])).stdout).toBe(found);
  rmSync(folder, { recursive: true });
});

it('adds no code to a bundle that does not use it', async () => {
  const contents = `import { createServiceClient, nextStep } from '${name}'; console.log(1);`;
  const stdin = { contents, resolveDir: app };
  const { outputFiles } = await build({ stdin, bundle: true, platform: 'node', format: 'esm', write: false });
  expect(outputFiles[0]!.text.split('\n').filter((line) => !line.startsWith('//'))).toEqual([
    'console.log(1);',
    '',
  ]);
});

it.each([
  ['node16', 'node16', ['mts', 'cts']],
  ['esnext', 'bundler', ['ts']],
])('has types for module %s, resolution %s, in files %j', async (module, moduleResolution, extensions) => {
  const text = `
    import { createServiceClient, type VerifyAadhaarOtpResponse } from '${name}';
    const client = createServiceClient({ baseUrl: 'http://127.0.0.1', token: 'token' });
    export async function identify(response: VerifyAadhaarOtpResponse): Promise<string> {
      const { drugs } = await client.searchDrugsAndLabs({ q: 'a', s_type: 'lab' });
      const drug: string | null | undefined = drugs[0]?.name;
      // @ts-expect-error a name is no number
      const number: number = drug;
      // @ts-expect-error svc may be missing
      const missing = response.svc.min_token;
      return response.skip_state === 'abha_end' ? response.svc.min_token : String([number, missing]);
    }`;
  const files = extensions.map((extension) => `types.${extension}`);
  for (const file of files) writeFileSync(join(app, file), text);
  const compilerOptions = { noEmit: true, strict: true, types: ['node'], module, moduleResolution };
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = resolve('node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', app]).catch((failure) => failure);
  expect(stdout).toBe('');
});

it('contains every file that its README links to', () => {
  expect(files).toContain('README.md');
  expect(linksOf('src/client').filter((link) => !files.includes(link))).toEqual([]);
});

it('the package of the receiver exports the client, and the sandbox for tests of partners', async () => {
  const text = `
    import { createServiceClient } from 'webhook-receiver/client';
    import { callbacks, sandboxToken, startSandbox } from 'webhook-receiver/sandbox';
    const sandbox = await startSandbox();
    const client = createServiceClient({ baseUrl: sandbox.url, token: sandboxToken });
    console.log((await client.searchDrugsAndLabs({ q: 'a', limit: 3 })).drugs.length);
    console.log([...callbacks({ seed: 1, count: 2 })].length);
    await client.close();
    await sandbox.close();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', text]);
  expect(stdout).toBe('3\n2\n');
});

it('the package of the receiver contains every file that its README links to', async () => {
  const packed = await packedFiles('.', '--ignore-scripts');
  const links = linksOf('.');
  expect(links).toContain('CONTRIBUTING.md');
  expect(
    links.filter(
      (link) => !packed.some((file) => file === link || file.startsWith(`${link.replace(/\/$/, '')}/`)),
    ),
  ).toEqual([]);
});
