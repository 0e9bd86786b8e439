import { type Config, parseConfig } from '../../src/config/config.ts';
import { type Family, families, takesEveryEvent } from '../../src/families/index.ts';
import { paths, receiptCallback, samples } from '../support/callbacks.ts';
import { post, useService } from '../support/service.ts';

const secret = '9d4c1f7be2a05836f1c97d2e';

const { database, start: startService } = useService();

async function start(env: Record<string, string> = {}): Promise<string> {
  const config: Partial<Config> = parseConfig({ PORT: '0', ...env }, families);
  const { url } = await startService({ ...config, databaseUrl: database.url, role: 'receiver', drainMs: 0 });
  return url;
}

async function refusal(url: string, path: string, body: unknown) {
  const response = await post(url + path, body);
  const { detail, errors } = (await response.json()) as { detail: string; errors: unknown };
  return { status: response.status, detail, errors };
}

const listed: readonly Family[] = families.filter((family) => !takesEveryEvent(family));
const sampleOf = ({ name }: Family) => samples[name as keyof typeof samples]();

it('an event at the path of another family is told the path of its own', async () => {
  const url = await start();
  for (const family of listed.slice(1)) {
    const { event } = sampleOf(family);
    const takes = 'receipt.created, receipt.updated, receipt.deleted';
    expect(await refusal(url, paths.receipt, sampleOf(family))).toMatchObject({
      status: 422,
      errors: [
        {
          path: '/event',
          message: `must be one of ${takes} at this path; send ${event} to ${family.path.default[0]}`,
        },
      ],
    });
  }
});

it('a path that is not the documented one is never named, its variable is', async () => {
  const url = await start({
    RECEIPTS_PATH: `/r/${secret}`,
    REVIEW_REQUESTS_PATH: `/n/${secret},${paths.review_request}`,
  });
  const messageTo = async (family: 'receipt' | 'review_request') =>
    JSON.stringify(await refusal(url, paths.consent_form, samples[family]()));
  expect(await messageTo('receipt')).toContain('send receipt.created to the path of RECEIPTS_PATH');
  expect(await messageTo('review_request')).toContain(`to ${paths.review_request}`);
  for (const text of [await messageTo('receipt'), await messageTo('review_request')])
    expect(text).not.toContain(secret);
});

it('a path that is not served is not named', async () => {
  const url = await start({
    NODE_ENV: 'production',
    DATABASE_URL: database.url,
    RECEIPTS_PATH: `/r/${secret}`,
    EVENTS_PATH: `/e/${secret}`,
  });
  const { errors } = await refusal(url, `/r/${secret}`, samples.consent_form());
  expect(JSON.stringify(errors)).toContain('send mcert.created to the path of CONSENT_FORMS_PATH');
});

it('an event that nobody knows is told what a registered path takes', async () => {
  const url = await start();
  for (const family of listed) {
    const { status, errors } = await refusal(url, family.path.default[0]!, {
      ...sampleOf(family),
      event: 'lab.report.ready',
    });
    const message = `is not a known event: this path takes ${family.events.join(', ')}`;
    expect([status, errors]).toEqual([422, [{ path: '/event', message }]]);
  }
});

it.each(['X-Webhook-Signature', 'Acme-Webhook-Signature'])(
  'a missing signature names the header %s',
  async (header) => {
    const url = await start({ SIGNING_KEYS: 'key', SIGNATURE_HEADER: header });
    for (const path of [paths.receipt, paths.other]) {
      const { status, detail } = await refusal(url, path, receiptCallback());
      expect([status, detail]).toEqual([401, `The callback is not signed: the header ${header} is missing.`]);
    }
  },
);

/** No id in each spelling. */
const nobody = [{ id: undefined }, { id: null }, { id: '' }];

describe.each([
  ['ALLOWED_BUSINESS_IDS', 'business_id'],
  ['ALLOWED_CLIENT_IDS', 'client_id'],
] as const)('with %s', (variable, field) => {
  it.each(nobody)(
    `a callback of any family without ${field} ($id) is refused, at each path, and not kept`,
    async ({ id }) => {
      const url = await start({ [variable]: receiptCallback()[field] });
      await database.pool.query('truncate inbox, quarantine');
      const callbacks = families.map((family) => [sampleOf(family), paths[family.name]] as const);
      for (const [callback, path] of callbacks) {
        for (const at of new Set([path, paths.other])) {
          const { status, detail } = await refusal(url, at, { ...callback, [field]: id });
          expect([callback.event, at, status, detail]).toEqual([
            callback.event,
            at,
            403,
            `This ${field} is not allowed.`,
          ]);
        }
      }
      expect(await database.rows('select 1 from deliveries union all select 1 from quarantine')).toEqual([]);
      expect((await post(url + paths.receipt, receiptCallback())).status).toBe(200);
    },
  );

  it('an empty entry of the list allows nobody more', async () => {
    const url = await start({ [variable]: `${receiptCallback()[field]},,` });
    for (const { id } of nobody) {
      expect((await refusal(url, paths.other, { ...receiptCallback(), [field]: id })).status).toBe(403);
    }
  });
});
