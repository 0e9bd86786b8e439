import { pathsOf } from '../../../src/callbacks/families/family.ts';
import { families as documentedFamilies } from '../../../src/callbacks/families/index.ts';
import { parseConfig } from '../../../src/common/config/config.ts';
import { findFormer, findMisspelt, formerVariables } from '../../../src/common/config/former-variables.ts';
import { variableNames } from '../../../src/common/config/variables.ts';

const families = documentedFamilies.map(pathsOf);

const known = variableNames(families);

it('each variable of version 1 that is set is refused with what to use instead, unless it is empty', () => {
  const former = Object.entries(formerVariables).filter(([name]) => !known.includes(name));
  for (const [name, instead] of former) {
    expect(findFormer({ [name]: 'x' }, families)).toEqual([`${name} is no variable any more: ${instead}`]);
    expect(findFormer({ [name]: '' }, families)).toEqual([]);
  }
});

it('the start names former variables together with all other errors', () => {
  const env = { SOCKET: '/run/receiver.sock', RATE_LIMIT: '5', PORT: 'x' };
  const problems = [
    'PORT must be a whole number from 0 to 65535',
    `SOCKET is no variable any more: ${formerVariables.SOCKET}`,
    `RATE_LIMIT is no variable any more: ${formerVariables.RATE_LIMIT}`,
  ];
  expect(() => parseConfig(env, families)).toThrow(expect.objectContaining({ problems }));
});

it('a variable that is nearly one of ours is named; ours, and those of others, are not', () => {
  const meant = (name: string) => findMisspelt({ [name]: 'x' }, families)[0]?.match(/mean (\w+)/)?.[1];
  const misspelt = {
    ...{ node_env: 'NODE_ENV', SIGNING_KEY: 'SIGNING_KEYS', EVENT_PATH: 'EVENTS_PATH', PORTS: 'PORT' },
    ...{ RETENTIONS: 'RETENTION', DATABASE_URI: 'DATABASE_URL', TRUSTED_PROXY: 'TRUST_PROXY' },
    LOGLEVEL: 'LOG_LEVEL',
  };
  for (const [name, ours] of Object.entries(misspelt)) expect([name, meant(name)]).toEqual([name, ours]);
  const others = [
    'PATH',
    'HOSTNAME',
    'HOME',
    'SITE_URL',
    'RECEIVER_SERVICE_HOST',
    'OTEL_SERVICE_NAME',
    'PGHOST',
  ];
  expect([...known, ...others].map(meant).filter(Boolean)).toEqual([]);
});
