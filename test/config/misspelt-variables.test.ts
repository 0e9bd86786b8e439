import { once } from 'node:events';
import fc from 'fast-check';
import { InvalidConfiguration, parseConfig } from '../../src/config/config.ts';
import { variableGroups } from '../../src/config/environment-schema.ts';
import { misspeltIn } from '../../src/config/misspelt-variables.ts';
import { families } from '../../src/families/index.ts';
import { killProcesses, spawnReceiver } from '../support/process.ts';

const ours = variableGroups(families).flatMap(({ variables }) => Object.keys(variables));
const judge = (...names: string[]) => {
  const { errors, doubts } = misspeltIn(Object.fromEntries(names.map((name) => [name, 'x'])), families);
  return { errors: errors.map(({ name, meant }) => [name, meant]), doubts: doubts.map(({ name }) => name) };
};
/** Theirs are judged by where they come from, not by their spelling. */
const isForeign = (name: string) => /^(NODE|OTEL)_|_SSL$|^(SITE|HTTP)_URL$/.test(name);

it('no variable of ours is misspelt', () => {
  expect(judge(...ours)).toEqual({ errors: [], doubts: [] });
});

it('an S too many or too few in any part is an error that names the right variable', () => {
  const pairs = [
    ['SIGNING_KEY', 'SIGNING_KEYS'],
    ['ROLES', 'ROLE'],
    ['EVENT_PATH', 'EVENTS_PATH'],
    ['EVENTS_PATHS', 'EVENTS_PATH'],
    ['ALLOWED_IP', 'ALLOWED_IPS'],
    ['PORTS', 'PORT'],
    ['RECEIPT_PATH', 'RECEIPTS_PATH'],
    ['SHOST', 'HOST'],
    ['SERVICES_TOKEN', 'SERVICE_TOKEN'],
    ['ALLOWED_CLIENTS_ID', 'ALLOWED_CLIENT_IDS'],
  ] as const;
  for (const [name, meant] of pairs) expect([name, judge(name).errors]).toEqual([name, [[name, meant]]]);
});

it('one or two edits of a name with eight letters are an error, wherever they are', () => {
  const letter = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRTUVWXYZ_');
  const edit = fc.constantFrom(
    (text: string, at: number) => text.slice(0, at) + text.slice(at + 1),
    (text: string, at: number, by: string) => text.slice(0, at) + by + text.slice(at),
    (text: string, at: number, by: string) => text.slice(0, at) + by + text.slice(at + 1),
    (text: string, at: number) => text.slice(0, at) + (text[at + 1] ?? '') + text[at]! + text.slice(at + 2),
  );
  const long = ours.filter((name) => name.length >= 9 && !/^NODE_/.test(name));
  const edits = fc.array(fc.tuple(edit, fc.nat(40), letter), { minLength: 1, maxLength: 2 });
  fc.assert(
    fc.property(fc.constantFrom(...long), edits, (name, changes) => {
      const misspelt = changes.reduce((text, [change, at, by]) => change(text, at % text.length, by), name);
      fc.pre(misspelt.length >= 8 && !ours.includes(misspelt) && !isForeign(misspelt));
      expect(judge(misspelt).errors).toEqual([[misspelt, expect.any(String)]]);
    }),
    { numRuns: 150 },
  );
});

it('other doubts are no error: case, one edit of a short name, an unknown one of a family, and beside the right name', () => {
  const doubts = ['signing_keys', 'POTR', 'OIDC_CLIENT', 'ALERT_CHANNEL', 'SIGNING_ALGORITHM'];
  expect(judge(...doubts)).toEqual({ errors: [], doubts });
  expect(judge('DATABASE_URL', 'DATABASE_URI')).toEqual({ errors: [], doubts: ['DATABASE_URI'] });
});

// As `env` prints them there, without their values.
const environments = {
  'a pod of Kubernetes, beside services of many names':
    'PATH HOSTNAME HOME NODE_VERSION YARN_VERSION KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT ' +
    'KUBERNETES_SERVICE_PORT_HTTPS KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_PROTO ' +
    'KUBERNETES_PORT_443_TCP_PORT KUBERNETES_PORT_443_TCP_ADDR RECEIVER_SERVICE_HOST RECEIVER_SERVICE_PORT ' +
    'RECEIVER_SERVICE_PORT_HTTP RECEIVER_PORT_8080_TCP_ADDR METRIC_SERVICE_HOST METRIC_PORT_9464_TCP REDIS_SERVICE_HOST ' +
    'REDIS_SERVICE_PORT REDIS_PORT_6379_TCP POSTGRES_RW_SERVICE_HOST POSTGRES_RW_PORT_5432_TCP_ADDR OIDC_SERVICE_HOST ' +
    'ALERT_SERVICE_PORT_WEB OTEL_EXPORTER_OTLP_PROTOCOL OTEL_RESOURCE_ATTRIBUTES_POD_NAME OTEL_TRACES_SAMPLER OTEL_NODE_IP',
  'a unit of systemd':
    'LANG PATH HOME LOGNAME USER SHELL INVOCATION_ID JOURNAL_STREAM RUNTIME_DIRECTORY STATE_DIRECTORY SYSTEMD_EXEC_PID ' +
    'MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE CREDENTIALS_DIRECTORY NOTIFY_SOCKET LISTEN_FDS LISTEN_PID',
  'docker compose':
    'PATH HOSTNAME HOME NODE_VERSION YARN_VERSION POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB REDIS_PASSWORD REDIS_HOST ' +
    'REDIS_PORT COMPOSE_PROJECT_NAME COMPOSE_FILE REDISCLI_AUTH DB_HOST DB_URL TZ TERM',
  'a job of GitHub Actions':
    'CI HOME HOSTNAME PATH GITHUB_ACTION GITHUB_ACTIONS GITHUB_ACTOR GITHUB_API_URL GITHUB_BASE_REF GITHUB_ENV GITHUB_SHA ' +
    'GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_PATH GITHUB_TOKEN GITHUB_WORKSPACE RUNNER_ARCH RUNNER_OS RUNNER_TEMP ' +
    'RUNNER_TOOL_CACHE ACTIONS_RUNTIME_TOKEN ACTIONS_RUNTIME_URL ACTIONS_CACHE_URL ImageOS ImageVersion AGENT_TOOLSDIRECTORY ' +
    'JAVA_HOME_17_X64 GOROOT_1_22_X64 CHROME_BIN EDGEWEBDRIVER DEBIAN_FRONTEND DOTNET_NOLOGO PIPX_HOME POWERSHELL_TELEMETRY_OPTOUT',
  Heroku:
    'DYNO PORT HOME PATH PS1 LANG DATABASE_URL REDIS_URL REDIS_TLS_URL HEROKU_APP_NAME HEROKU_POSTGRESQL_AMBER_URL ' +
    'HEROKU_REDIS_MAROON_URL HEROKU_SLUG_COMMIT NODE_HOME NODE_ENV WEB_CONCURRENCY WEB_MEMORY MEMORY_AVAILABLE PAPERTRAIL_API_TOKEN',
  Render:
    'RENDER RENDER_EXTERNAL_URL RENDER_GIT_COMMIT RENDER_INSTANCE_ID RENDER_SERVICE_ID RENDER_SERVICE_NAME RENDER_DISCOVERY_SERVICE ' +
    'IS_PULL_REQUEST PORT NODE_VERSION DATABASE_URL REDIS_URL WEB_CONCURRENCY',
  Fly:
    'FLY_APP_NAME FLY_MACHINE_ID FLY_ALLOC_ID FLY_REGION FLY_PUBLIC_IP FLY_IMAGE_REF FLY_PRIVATE_IP FLY_PROCESS_GROUP ' +
    'FLY_VM_MEMORY_MB PRIMARY_REGION DATABASE_URL BUCKET_NAME AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL_S3',
  Railway:
    'RAILWAY_ENVIRONMENT RAILWAY_SERVICE_NAME RAILWAY_PUBLIC_DOMAIN DATABASE_URL DATABASE_PUBLIC_URL PGHOST PGDATABASE PGPORT',
  'a terminal, in npm':
    'SHELL SESSION_MANAGER COLORTERM XDG_CONFIG_DIRS XDG_DATA_DIRS XDG_RUNTIME_DIR SSH_AUTH_SOCK SSH_CLIENT SSH_TTY EDITOR ' +
    'PWD OLDPWD LOGNAME MOTD_SHOWN LC_ALL LC_CTYPE LS_COLORS LESSOPEN USER DISPLAY SHLVL MAIL TERM TMPDIR TEMP TMP PAGER VISUAL _ ' +
    'npm_config_user_agent npm_config_port npm_config_host npm_lifecycle_event npm_package_json npm_node_execpath INIT_CWD ' +
    'NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_PATH NO_COLOR FORCE_COLOR PGPASSWORD PGUSER PGSSLMODE http_proxy https_proxy no_proxy ' +
    'HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY UV_THREADPOOL_SIZE MALLOC_ARENA_MAX',
  'variables that many programs have':
    'SITE_URL HTTP_URL BASE_URL API_URL APP_URL PUBLIC_URL DATABASE_SSL DATABASE_HOST DATABASE_PORT DATABASE_NAME DATABASE_USER ' +
    'DATABASE_PASSWORD REDIS_SSL REDIS_TLS REDIS_DB SMTP_HOST SMTP_PORT SMTP_USER SMTP_PASS SMTP_SSL SMTP_FROM LOG_FORMAT ' +
    'LOG_FILE DATA_PATH SERVICE_NAME SERVICE_URL APP_ENV DEBUG SECRET_KEY ACCESS_TOKEN API_TOKEN AUTH_TOKEN JWT_SECRET SENTRY_DSN',
};

it.each(Object.entries(environments))('nothing is misspelt in the environment of %s', (_where, names) => {
  expect(judge(...names.split(' '))).toEqual({ errors: [], doubts: [] });
});

it('the address of a service beside ours is no variable of it, whatever the receiver is called', () => {
  const links = {
    METRIC_PORT: 'tcp://10.0.0.7:9464',
    ROLES_PORT: 'tcp://10.0.0.8:80',
    ALERT_PORT: 'udp://10.0.0.9:53',
  };
  expect(misspeltIn(links, families)).toEqual({ errors: [], doubts: [] });
});

it('an empty variable counts as unset', () => {
  expect(misspeltIn({ SIGNING_KEY: '', OIDC_X: '' }, families)).toEqual({ errors: [], doubts: [] });
});

it('a misspelt variable is one of all errors of the configuration', () => {
  const parse = () => parseConfig({ ROLES: 'worker', PORT: 'x', EVENT_PATH: '/x' }, families);
  expect(parse).toThrow(InvalidConfiguration);
  try {
    parse();
  } catch (error) {
    expect((error as InvalidConfiguration).problems).toEqual([
      expect.stringMatching(/^PORT must be/),
      'ROLES is no variable of the receiver: did you mean ROLE?',
      'EVENT_PATH is no variable of the receiver: did you mean EVENTS_PATH?',
    ]);
  }
});

afterEach(killProcesses);

it('each command that reads the environment ends with 78 on a misspelt variable, and writes a line of a doubt', async () => {
  // One of each way in which commands read it.
  const commands = 'start; sql x; alerts test; move --to postgresql://x; send; search x';
  const ends = await Promise.all(
    commands.split('; ').map(async (command) => {
      const env = { SIGNING_KEY: 'SECRET', signing_keys: 'SECRET', SIGNING_X: 'SECRET' };
      const { child, output } = spawnReceiver(command.split(' '), env);
      // Its output is complete only then.
      const [code] = await once(child, 'close');
      return [command, code, output()];
    }),
  );
  const output = [
    'receiver: signing_keys is no variable of the receiver: did you mean SIGNING_KEYS?',
    'receiver: SIGNING_X is no variable of the receiver',
    'SIGNING_KEY is no variable of the receiver: did you mean SIGNING_KEYS?\n',
  ].join('\n');
  expect(ends).toEqual(commands.split('; ').map((command) => [command, 78, output]));
});
