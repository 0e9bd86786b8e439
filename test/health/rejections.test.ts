import { createRejections } from '../../src/health/rejections.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths } from '../support/callbacks.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

it('more than 20 rejected callbacks a minute are a problem, until five minutes later', () => {
  let ms = 1e9;
  jest.spyOn(performance, 'now').mockImplementation(() => ms);
  const { count, find } = createRejections();
  for (let n = 0; n < 100; n += 1) count('SignatureWrong');
  expect(find()).toEqual([]);
  ms += 3 * 60_000;
  count('AddressNotAllowed');
  expect(find()).toEqual([
    expect.objectContaining({
      kind: 'rejections',
      detail: expect.stringMatching(/^20 per minute; .* SignatureWrong: 100, AddressNotAllowed: 1\. A key/),
    }),
  ]);
  ms += 2 * 60_000;
  expect(find()).toEqual([]);
  jest.restoreAllMocks();
});

const { start } = useService({ per: 'test' });

it('rejected callbacks are told on the page Health; requests to other paths are not', async () => {
  const { url } = await start({ adminToken, role: 'receiver' });
  for (let n = 0; n < 110; n += 1) await fetch(`${url}/wp-login.php?${n}`);
  const visitor = await signInTo(url);
  expect(await visitor.read('/health')).not.toContain('Many callbacks are rejected');
  for (let n = 0; n < 110; n += 1) await post(url + paths.receipt, '{');
  await until(async () => (await visitor.read('/health')).includes('Many callbacks are rejected'));
});
