import { Router } from 'express';
import { guardRoutes } from '../../src/console/guard.ts';
import { createRights, roles as known, type Role } from '../../src/sign-in/rights.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { post } from '../support/service.ts';
import { routesOf } from './routes.ts';
import { useConsole } from './use-console.ts';
import { postForm, signInTo, type Visitor, visitAs } from './visitor.ts';

// Nobody listens there.
const oidc = oidcSettings('http://127.0.0.1:9');
const { database, service } = useConsole({ prepare: async () => ({ oidc, role: 'all' }) });

// A desk is a viewer here.
const roles = known.filter((role) => role !== 'desk');

type Visitors = 'no session' | Role | 'admin token';
const visitors: Visitors[] = ['no session', ...roles, 'admin token'];

/** A request of each route, and the status that each visitor gets, in the order of `visitors`. */
interface Expected {
  path?: string;
  fields?: Record<string, string>;
  statuses: number[];
}

const everybody = (status: number) => visitors.map(() => status);
const signedIn = [401, 200, 200, 200, 200];
const fromOperator = [401, 403, 200, 200, 200];
const onlyPrivacy = [401, 403, 403, 200, 200];
const none = { faults: 'none' };
const patient = { patient: 'nobody' };
const { business_id: business, data } = receiptCallback();
const record = new URLSearchParams({ business, id: String(data.receipt_id) });

/** `<delivery>` and `<body>` are replaced by the ids of one that exists. */
const table: Record<string, Expected> = {
  'POST /sign-in': { fields: { token: 'wrong' }, statuses: everybody(401) },
  'GET /sign-in/start': { statuses: everybody(503) },
  'GET /sign-in/callback': { statuses: everybody(400) },
  'GET /assets/console.css': { statuses: everybody(200) },
  'GET /assets/console.js': { statuses: signedIn },
  'GET /assets/icon.svg': { statuses: everybody(200) },
  'POST /sign-out': { statuses: [401, 303, 303, 303, 303] },

  'GET /health': { statuses: signedIn },
  'GET /': { statuses: [401, 303, 303, 303, 303] },
  'GET /today': { statuses: signedIn },
  'GET /deliveries': { statuses: signedIn },
  'GET /deliveries/:id': { path: '/deliveries/<delivery>', statuses: signedIn },
  'POST /deliveries/:id/personal': { path: '/deliveries/<delivery>/personal', statuses: onlyPrivacy },
  'POST /deliveries/:id/seen': {
    path: '/deliveries/<delivery>/seen',
    statuses: [401, 403, 303, 303, 303],
  },
  'GET /records/:family': { path: `/records/receipt?${record}`, statuses: signedIn },
  'POST /records/:family/personal': {
    path: '/records/receipt/personal',
    fields: Object.fromEntries(record),
    statuses: onlyPrivacy,
  },
  'GET /search': { path: '/search?q=nothing', statuses: signedIn },
  'GET /problems': { statuses: signedIn },
  'POST /replay/preview': { statuses: fromOperator },
  'POST /replay': { statuses: fromOperator },
  'GET /quarantine': { statuses: signedIn },
  'GET /quarantine/:id': { path: '/quarantine/<body>', statuses: signedIn },
  'POST /quarantine/preview': { fields: none, statuses: fromOperator },
  'POST /quarantine/replay': { fields: none, statuses: fromOperator },
  'POST /quarantine/drop': { fields: none, statuses: fromOperator },
  'POST /quarantine/:id/personal': { path: '/quarantine/<body>/personal', statuses: onlyPrivacy },
  'POST /quarantine/:id/body': {
    path: '/quarantine/<body>/body',
    fields: { body: '{' },
    statuses: [401, 403, 403, 422, 422],
  },
  'GET /reports': { statuses: signedIn },
  'GET /reports/:view': { path: '/reports/receipts', statuses: signedIn },
  'GET /reports/:view/csv': { path: '/reports/receipts/csv', statuses: signedIn },
  'GET /reports/:view/xlsx': { path: '/reports/receipts/xlsx', statuses: signedIn },
  'POST /reports/:view/personal': { path: '/reports/receipts/personal', statuses: onlyPrivacy },
  'POST /reports/:view/patient': { path: '/reports/receipts/patient', statuses: [401, 403, 403, 400, 400] },
  'POST /reports/:view/csv': { path: '/reports/receipts/csv', statuses: onlyPrivacy },
  'POST /reports/:view/xlsx': { path: '/reports/receipts/xlsx', statuses: onlyPrivacy },
  'GET /patients': { statuses: onlyPrivacy },
  'POST /patients': { fields: patient, statuses: onlyPrivacy },
  'POST /patients/export': { fields: patient, statuses: onlyPrivacy },
  'POST /patients/hold': { fields: patient, statuses: onlyPrivacy },
  'POST /patients/release': { fields: patient, statuses: onlyPrivacy },
  'POST /patients/erase/preview': { fields: patient, statuses: onlyPrivacy },
  'POST /patients/erase': { fields: patient, statuses: onlyPrivacy },
  'GET /aliases': { statuses: signedIn },
  'POST /aliases': { fields: { kind: 'clinic', id: 'c-1' }, statuses: [401, 403, 303, 303, 303] },
  'GET /access-log': { statuses: onlyPrivacy },
  'POST /access-log': { fields: patient, statuses: [401, 403, 403, 303, 303] },
  'GET /sessions': { statuses: onlyPrivacy },
  'POST /sessions/end': { fields: { user: 'nobody' }, statuses: [401, 403, 403, 303, 303] },
};

const ids: Record<string, string> = {};
const users = {} as Record<Exclude<Visitors, 'no session'>, Visitor>;
beforeAll(async () => {
  const now = Math.floor(Date.now() / 1000);
  const [delivery] = await apply(database, [receiptCallback({ event_time: now, data: { created_at: now } })]);
  await post(service.url + paths.receipt, '<html>');
  const [body] = await database.rows('select id from quarantine');
  Object.assign(ids, { '<delivery>': delivery, '<body>': body!.id });
  await signIn();
});

async function signIn() {
  for (const role of roles) users[role] = await visitAs(service.url, role, oidc.clientSecret);
  users['admin token'] = await signInTo(service.url);
}

function request(visitor: Visitors, route: string, { path, fields = {} }: Expected): Promise<Response> {
  const [method, pattern] = route.split(' ') as [string, string];
  const withIds = (text: string) => text.replace(/<\w+>/, (name) => ids[name]!);
  const address = withIds(path ?? pattern);
  const filled = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withIds(value)]));
  if (visitor !== 'no session') {
    return method === 'GET' ? users[visitor].get(address) : users[visitor].post(address, filled);
  }
  const url = `${service.url}/console${address}`;
  return method === 'GET' ? fetch(url, { redirect: 'manual' }) : postForm(url, filled);
}

it('the table of this test has every route of the console', () => {
  expect(Object.keys(table).sort()).toEqual(routesOf().sort());
});

it.each(Object.entries(table))('%s is for the roles of the table alone', async (route, expected) => {
  const statuses: number[] = [];
  for (const visitor of visitors) {
    const response = await request(visitor, route, expected);
    statuses.push(response.status);
    const text = await response.text();
    if (response.status === 403) {
      const least = visitors.slice(1)[expected.statuses.slice(1).findIndex((status) => status !== 403)];
      expect(text).toMatch(new RegExp(`This takes the role ${least}[ .].*Your role is ${visitor}\\.`));
    }
    if (response.status === 401) expect(text).not.toMatch(/<nav|<table|sign-out/);
  }
  expect(statuses).toEqual(expected.statuses);
  if (route === 'POST /sign-out') await signIn();
});

it.each(roles)('no page shows the role %s a button or a section that it may not use', async (role) => {
  for (const [route, expected] of Object.entries(table)) {
    if (!route.startsWith('GET /') || route === 'GET /' || /assets|sign-in|csv|xlsx|options/.test(route))
      continue;
    const text = await (await request(role, route, expected)).text();
    const posts = Array.from(
      text.matchAll(/method="post" action="\/console([^"]*)"/g),
      ([, to]) => `POST ${to}`,
    );
    const nav = /<nav aria-label="Sections">.*?<\/nav>/s.exec(text)![0];
    const links = Array.from(nav.matchAll(/href="\/console([^"]*)"/g), ([, to]) => `GET ${to || '/'}`);
    for (const used of [...posts, ...links]) {
      const [, { statuses }] = Object.entries(table).find(([one]) =>
        new RegExp(`^${one.replace(/:\w+/g, '[^/]+')}$`).test(used),
      )!;
      expect([route, used, statuses[visitors.indexOf(role)]]).not.toContain(403);
    }
  }
});

it('the header names the user and the role', async () => {
  expect(await users.operator.read('/aliases')).toMatch(/operator@clinic\.invalid <span>operator</);
  expect(await users['admin token'].read('/aliases')).toMatch(/admin-token <span>privacy</);
});

it('a viewer sees no body, no personal data, and no name of an undocumented field', async () => {
  const at = Date.now();
  const canary = { name: 'CANARY', CANARY: 1, patient_oid: 'CANARY', mobile: 'CANARY', created_at: at };
  const sent = {
    ...receiptCallback({ event_time: Math.floor(at / 1000), data: canary }),
    CANARY_BESIDE: 'x',
  };
  const [id] = await apply(database, [sent]);
  await post(service.url + paths.receipt, { ...sent, event_time: 'x' });
  const bodies = await database.rows('select id from quarantine');
  const pages = [
    '/today',
    '/health',
    '/deliveries',
    `/deliveries/${id}`,
    '/problems',
    '/quarantine',
    '/reports/receipts',
    '/reports/all_receipts',
    '/reports/receipts/csv',
    '/reports/quarantine',
    '/aliases',
    ...bodies.map((body) => `/quarantine/${body.id}`),
  ];
  for (const page of pages) {
    expect([page, (await users.viewer.read(page)).includes('CANARY')]).toEqual([page, false]);
  }
  expect(await users.viewer.read(`/deliveries/${id}`)).toContain('1 undocumented field');
});

it('a route cannot be added without a role', () => {
  const routes = guardRoutes(Router(), createRights());
  // @ts-expect-error: the role is missing
  expect(() => routes.get('/secrets', () => {})).toThrow();
});
