import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

interface Step {
  run?: string;
  uses?: string;
  with?: Record<string, unknown>;
}
interface Workflow {
  jobs: Record<
    string,
    { container?: string; steps: Step[]; strategy?: { matrix: Record<string, number[]> } }
  >;
}

const read = (path: string) => readFileSync(path, 'utf8');
const folder = '.github/workflows';
const workflows = readdirSync(folder).map((name) => ({
  name,
  jobs: (parse(read(`${folder}/${name}`)) as Workflow).jobs,
}));
const { scripts, engines } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>;
  engines: { node: string };
};

/** The scripts that a command line calls by npm. */
function scriptsIn(line: string): string[] {
  const named = Array.from(line.matchAll(/\bnpm run (?:-\S+ )*([\w:-]+)/g), ([, name]) => name!);
  return /\bnpm (test|start)\b/.test(line) ? [...named, /\bnpm (test|start)\b/.exec(line)![1]!] : named;
}

/** The words of a command line that are relative paths, without `$` and patterns. */
const pathsIn = (line: string) => line.match(/(?<=^|\s)\.?[\w-][\w.-]*(\/[\w.-]+)+(?=$|\s)/g) ?? [];

/** What a step calls or reads and the repository does not have. */
function missingIn({ run = '', uses = '', with: options = {} }: Step): string[] {
  const files = Object.entries(options).filter(([name]) => /^(file|context|node-version-file)$/.test(name));
  const paths = [
    ...pathsIn(run),
    ...files.map(([, path]) => String(path)),
    ...(uses.startsWith('./') ? [uses] : []),
  ];
  return [...scriptsIn(run).filter((name) => !scripts[name]), ...paths.filter((path) => !existsSync(path))];
}

it.each(workflows)('$name calls only scripts and files that exist', ({ jobs }) => {
  const steps = Object.values(jobs).flatMap(({ steps }) => steps);
  expect(steps.flatMap(missingIn)).toEqual([]);
});

it('a script or a file that does not exist is found', () => {
  const run = 'npm ci\nnpm run -s nothing -- 14\n.ci/runs --fast\nnpm pack --workspace src/clients > a.tgz';
  expect(missingIn({ run })).toEqual(['nothing', '.ci/runs', 'src/clients']);
  expect(missingIn({ uses: './.github/actions/none' })).toEqual(['./.github/actions/none']);
  expect(missingIn({ uses: 'a/b@v1', with: { 'node-version-file': '.nvm', file: 'Dockerfile' } })).toEqual([
    '.nvm',
  ]);
});

it('each supported version of Node and PostgreSQL is tested, with the one of .nvmrc and the one of the image', () => {
  const { test, postgres } = workflows.find(({ name }) => name === 'ci.yml')!.jobs;
  const nodes = test!.strategy!.matrix.node!;
  expect(postgres!.strategy!.matrix).toEqual({ node: nodes, postgres: [14, 15, 16, 17, 18] });
  expect(nodes[0]).toBe(Number(/\d+/.exec(engines.node)![0]));
  expect(nodes).toContain(Number(read('.nvmrc')));
  expect(nodes).toContain(Number(/node:(\d+)-slim/.exec(read('Dockerfile'))![1]));
});

it('the forms of issues ask for something, each once', () => {
  const forms = readdirSync('.github/ISSUE_TEMPLATE').filter((name) => name !== 'config.yml');
  for (const form of forms) {
    const { name, description, body } = parse(read(`.github/ISSUE_TEMPLATE/${form}`)) as {
      name: string;
      description: string;
      body: { type: string; id?: string; attributes: { label?: string; value?: string } }[];
    };
    expect({ form, name, description }).toEqual({
      form,
      name: expect.any(String),
      description: expect.any(String),
    });
    const questions = body.filter(({ type }) => type !== 'markdown');
    expect(new Set(questions.map(({ id }) => id)).size).toBe(questions.length);
    for (const { attributes } of questions) expect(attributes.label).toEqual(expect.any(String));
  }
});

it('text has the same line endings on each system, so that migrations keep their checksums', () => {
  expect(read('.gitattributes')).toMatch(/^\* text=auto eol=lf$/m);
  expect(read('.editorconfig')).toMatch(/^end_of_line = lf$/m);
});

it('SECURITY.md says how to report, what is promised, and which versions are supported', () => {
  const headings = Array.from(read('SECURITY.md').matchAll(/^## (.*)$/gm), ([, text]) => text);
  expect(headings).toEqual(
    expect.arrayContaining(['Report a vulnerability', 'What is promised', 'Supported versions']),
  );
});

it.each([
  ['guides', 'test/changes/pages.test.ts'],
  ['proofs', 'test/changes/exact.proof.test.ts'],
])('of the tests that are %s, those of a path are run', (suite, path) => {
  const listed = execFileSync('npx', ['tsx', 'test/run.ts', suite, '--listTests', path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(listed.trim().split('\n')).toEqual([resolve(path)]);
});
