import { PassThrough } from 'node:stream';
import { InputEnded, openPrompt, register } from '../../src/client/commands/register.ts';
import { parseSettings } from '../../src/client/commands/settings.ts';
import { searchTable } from '../../src/client/commands/tables.ts';
import { createServiceClient } from '../../src/client/index.ts';
import { sandboxCredentials } from '../../src/sandbox/logins.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { run } from './run-command.ts';

let sandbox: Sandbox;
let env: Record<string, string>;
beforeAll(async () => {
  sandbox = await startSandbox();
  env = { SERVICE_BASE_URL: sandbox.url, SERVICE_TOKEN: sandboxToken };
});
afterAll(() => sandbox.close());

describe('search', () => {
  it('prints a table of drugs', async () => {
    const { out, code } = await run(env, 'search', 'paracetamol', '--limit', '2');
    expect(code).toBe(0);
    expect(out).toMatch(/│ Drug .*│ Generic .*│ Manufacturer .*│ Form .*│ OTC .*│ Id /);
    expect(out.match(/Paracetamol 500 mg/g)).toHaveLength(2);
    expect(sandbox.requests.at(-1)).toMatchObject({
      query: { q: 'paracetamol', limit: '2', s_type: 'drug' },
    });
  });

  it('prints a table of laboratory tests', async () => {
    const { out } = await run(env, 'search', 'lipid', '--type', 'lab');
    expect(out).toMatch(/│ Lipid profile +│ Biochemistry +│ 499\.75 │/);
  });

  it('prints the response as JSON', async () => {
    const { out } = await run(env, 'search', 'lipid', '--type', 'lab', '--json');
    expect(JSON.parse(out)).toMatchObject({ drugs: [], lab_tests: [{ name: 'Lipid profile' }] });
  });

  it('says so when there are no results', async () => {
    expect((await run(env, 'search', 'nothing-like-it')).out).toBe('No results.\n');
  });

  it.each([
    ['invalid input', ['search', 'a', '--limit', '101'], 64, /limit: Too big/],
    ['a rejection', ['search', 'fault-400'], 65, /responded with 400/],
    ['an outage', ['search', 'fault-503'], 69, /responded with 503/],
    ['garbage', ['search', 'fault-garbage'], 76, /not JSON/],
    ['a 401', ['search', 'fault-401'], 77, /responded with 401/],
  ])('reports %s in one line, with an exit code of its own', async (_, args, code, says) => {
    const said = await run(env, ...args);
    expect(said).toMatchObject({ out: '', code });
    expect(said.err).toMatch(says);
    expect(said.err.trim().split('\n')).toHaveLength(1);
  });

  it('lets no name from the platform control the terminal', () => {
    const table = searchTable({ drugs: [{ name: '\u001b[2JEvil\u202etxt\n' }] as never, lab_tests: [] });
    expect(table).toContain(' [2JEvil txt ');
    expect(table.split('\n')).toHaveLength(5);
  });
});

describe('settings', () => {
  it.each([
    [
      {},
      "set SERVICE_BASE_URL to the platform's http(s) address, without credentials; and SERVICE_TOKEN, or SERVICE_TOKEN_FILE to a file with the token, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET",
    ],
    [
      { SERVICE_BASE_URL: 'http://127.0.0.1' },
      'set SERVICE_TOKEN, or SERVICE_TOKEN_FILE to a file with the token, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
    ],
    [
      { SERVICE_BASE_URL: 'http://127.0.0.1', SERVICE_CLIENT_ID: 'id' },
      'set SERVICE_TOKEN, or SERVICE_TOKEN_FILE to a file with the token, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
    ],
    [
      { SERVICE_BASE_URL: 'http://u:secret@127.0.0.1', SERVICE_TOKEN: 't' },
      "set SERVICE_BASE_URL to the platform's http(s) address, without credentials",
    ],
    [
      { SERVICE_BASE_URL: 'http://127.0.0.1', SERVICE_TOKEN: 't', SERVICE_TIMEOUT_MS: 'soon' },
      'set SERVICE_TIMEOUT_MS to a number of milliseconds',
    ],
  ])('with %j, says in one line what to set, and exits with 78', async (given, message) => {
    for (const command of [['search', 'a'], ['register']]) {
      const said = await run(given as Record<string, string>, ...command);
      expect(said).toEqual({ out: '', err: `${command[0]}: ${message}\n`, code: 78 });
    }
  });

  const { clientId, clientSecret } = sandboxCredentials;
  const login = { SERVICE_CLIENT_ID: clientId, SERVICE_CLIENT_SECRET: clientSecret };

  it('logs in with SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET', async () => {
    const said = await run({ SERVICE_BASE_URL: sandbox.url, ...login }, 'search', 'paracetamol');
    expect(said).toMatchObject({ err: '', code: 0 });
    expect(sandbox.requests.slice(-2).map((r) => r.path)).toEqual([
      '/connect-auth/v1/account/login',
      '/medical-db/v1/drugs-and-labs',
    ]);
  });

  it('uses a token rather than a login', () => {
    const given = { SERVICE_BASE_URL: 'http://127.0.0.1', ...login };
    expect(parseSettings({ ...given, SERVICE_TOKEN: 'ours' }).token).toBe('ours');
    expect(parseSettings({ ...given, SERVICE_TOKEN_FILE: '/run/token' }).token).toEqual({
      file: '/run/token',
    });
  });

  it('reports a failed login in one line without the secret', async () => {
    const given = { SERVICE_BASE_URL: sandbox.url, ...login, SERVICE_CLIENT_SECRET: 'wrong-secret' };
    const said = await run(given, 'search', 'a');
    expect(said).toEqual({
      out: '',
      err: 'search: searchDrugsAndLabs: the token source failed (login: the platform responded with 401)\n',
      code: 77,
    });
  });

  it('has the documented defaults', () => {
    const given = { SERVICE_BASE_URL: 'http://127.0.0.1', SERVICE_TOKEN_FILE: '/run/token' };
    expect(parseSettings(given)).toEqual({
      baseUrl: 'http://127.0.0.1',
      token: { file: '/run/token' },
      timeoutMs: 10_000,
      serviceIdentifierField: 'svc',
    });
    expect(
      parseSettings({ ...given, SERVICE_TIMEOUT_MS: '500', SERVICE_IDENTIFIER_FIELD: 'maker' }),
    ).toMatchObject({
      timeoutMs: 500,
      serviceIdentifierField: 'maker',
    });
  });
});

describe('register', () => {
  async function walk(route: 'aadhaar' | 'mobile' | undefined, answers: string[], showTokens = false) {
    const client = createServiceClient({ baseUrl: sandbox.url, token: sandboxToken });
    const asked: string[] = [];
    let printed = '';
    const ask = async (question: string) => {
      asked.push(question);
      const answer = answers.shift();
      if (answer === undefined) throw new InputEnded('no more answers');
      return answer;
    };
    const tell = (text: string) => {
      printed += `${text}\n`;
    };
    await register({ client, ask, tell, route, headers: { hipId: 'hip-1' }, showTokens });
    await client.close();
    expect(answers).toEqual([]);
    return { asked, printed };
  }

  it('walks by Aadhaar to the end, asking again after invalid or rejected input', async () => {
    const { printed } = await walk(undefined, [
      'somehow',
      'aadhaar',
      'start-walk-1',
      '98765',
      '111111',
      '9876543210',
      '000000',
      '9876543210',
      '444444',
      'taken@sbx',
      'asha@sbx',
    ]);
    expect(printed).toContain('mobile: must be a 10-digit mobile number\nTry again:');
    expect(printed).toContain('the platform responded with 422');
    expect(printed).toContain('abha_create: The interface names this state');
    expect(printed).toContain('the platform responded with 409');
    expect(printed).toContain('abha_end: The service identifier (svc) is present.');
    expect(sandbox.requests.at(-1)?.headers).toMatchObject({ 'x-hip-id': 'hip-1' });
  });

  it('lets the user choose the call that follows a state', async () => {
    const { asked } = await walk('aadhaar', ['start-walk-2', '9876543210', '222222', '']);
    expect(asked.at(-1)).toMatch(/empty: stop/);
  });

  it('walks by mobile, leaving out empty fields', async () => {
    await walk('mobile', ['start-walk-3', 'asha@sbx', 'Asha', '', '', 'F', '', '560001', '1', '', '1990']);
    expect(sandbox.requests.at(-1)).toMatchObject({
      body: {
        abha_address: 'asha@sbx',
        profile: { first_name: 'Asha', gender: 'F', pincode: '560001', day_of_birth: 1, year_of_birth: 1990 },
        txn_id: 'start-walk-3',
      },
    });
  });

  it('prints tokens only with showTokens', async () => {
    const tokens = /sandbox-(abha|refresh|min)-token/g;
    const hidden = await walk('aadhaar', ['start-walk-4', '9876543210', '111111']);
    expect(hidden.printed).not.toMatch(tokens);
    const shown = await walk('aadhaar', ['start-walk-5', '9876543210', '111111'], true);
    expect(shown.printed.match(tokens)).toHaveLength(3);
  });

  it('reads answers from a pipe, several in one chunk, and fails at its end', async () => {
    const input = new PassThrough();
    const prompt = openPrompt(input, new PassThrough());
    input.end('first\n  second \n');
    expect([await prompt.ask('?'), await prompt.ask('?')]).toEqual(['first', 'second']);
    await expect(prompt.ask('?')).rejects.toThrow(InputEnded);
    prompt.close();
  });
});
