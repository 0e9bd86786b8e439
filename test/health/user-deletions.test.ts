import { readProblems } from '../../src/health/read-problems.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { deliveryOf, paths, samples } from '../support/callbacks.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start } = useService();
const title = 'The platform has deleted users';

it('a deleted user of the platform is a problem on the page Health until each callback is marked as seen', async () => {
  const { url } = await start({ adminToken });
  const visitor = await signInTo(url);
  const event_time = Math.floor(Date.now() / 1000);
  const deletion = samples.other({ event: 'user.delete', event_time, data: { id: 'CANARY' } });
  const past = samples.other({ event: 'user.delete', event_time: event_time - 31 * 86_400 });
  for (const one of [deletion, past]) expect((await post(url + paths.other, one)).status).toBe(200);
  await until(async () => (await database.rows('select from other_events')).length === 2);
  await until(async () => (await visitor.read('/health')).includes(title));
  const page = await visitor.read('/health');
  expect(page).toContain('1 callbacks user.delete');
  expect(page).not.toContain('CANARY');
  const { id } = deliveryOf(deletion);
  expect(page).toContain(`href="/console/deliveries/${id}"`);
  expect(await visitor.read(`/deliveries/${id}`)).toContain('Mark as seen');
  await visitor.post(`/deliveries/${id}/seen`);
  const problems = await readProblems(database.pool);
  expect(problems.filter(({ kind }) => kind === 'user deletion')).toEqual([]);
});
