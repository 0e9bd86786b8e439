import type { Express } from 'express';
import supertest from 'supertest';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import type { Role } from '../../src/common/config/value-types.ts';
import { createLog } from '../../src/common/log.ts';
import { pages } from '../../src/console/console.ts';
import { console as feature } from '../../src/console/feature.ts';
import type { PageContext } from '../../src/console/page.ts';
import { beginSession, sessionCookie } from '../../src/console/sign-in/session.ts';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { createApp } from '../../src/receiver/http/server.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

export const adminToken = 'an-admin-token-of-tests';
const origin = 'http://clinic.invalid';

export function openApp(
  database: ReceiverDatabase,
  given: Partial<Config> = {},
  wrap = (core: RunningCore) => core,
) {
  const config = testConfig({ adminToken, publicUrl: origin, ...given });
  const core = wrap(coreOf(database, config));
  return { core, app: createApp([feature.routes!(core)], core.log) };
}

/** Makes it noon where days of reports begin, so that no test sees the end of a day. @returns this time zone */
export async function makeItNoon({ db }: ReceiverDatabase): Promise<string> {
  const ahead = 12 - new Date().getUTCHours();
  // POSIX counts to the west.
  const reportTimezone = `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
  await migrate(db, families, createLog('silent'), reportTimezone);
  return reportTimezone;
}

/** What a page says, without its markup. */
export const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

export interface Visitor {
  get: (path: string) => supertest.Test;
  /** Posts a form as the console's own pages do. */
  post: (path: string, fields?: Record<string, string | string[]>) => supertest.Test;
}

export const visitWith = (app: Express, cookie: string): Visitor => ({
  get: (path) => supertest(app).get(`/console${path}`).set('Cookie', cookie),
  post: (path, fields = {}) =>
    supertest(app).post(`/console${path}`).set({ Cookie: cookie, Origin: origin }).type('form').send(fields),
});

/** A user with these roles, as if the identity provider had signed them in. */
export async function visitAs(app: Express, database: ReceiverDatabase, roles: Role[]): Promise<Visitor> {
  const core = coreOf(database, { adminToken });
  const cookie = await beginSession(core, { id: `subject-${roles.join('-')}`, roles }, '192.0.2.1');
  return visitWith(app, `${sessionCookie}=${cookie}`);
}

/** All routes of all pages, with the least role of each. */
export function allRoutes() {
  const found: { method: 'get' | 'post'; path: string; takes: Role }[] = [];
  const add = (method: 'get' | 'post') => (path: string, takes: string) =>
    void found.push({ method, path, takes: takes as Role });
  const context = { config: testConfig({}), families } as unknown as PageContext;
  for (const page of pages) page({ get: add('get'), post: add('post') }, context);
  return found;
}
