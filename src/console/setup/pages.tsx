import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db, DeliveryStatus } from '../../store/tables.ts';
import type { Receiver } from '../dependencies.ts';
import { read } from '../store.ts';
import { useMayPost } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { formatDuration } from '../ui/time.ts';
import { Facts, IdLink, Verbatim } from '../ui/values.tsx';

const test = '/console/test-callback';

interface FreshProps {
  receiver: Receiver;
  /** Scheme and host that browsers use. */
  origin: string;
}

/** What to do before the first callback. A path may be a secret, so that not everybody sees the addresses. */
export function Fresh({ receiver, origin }: FreshProps) {
  const maySee = useMayPost(test);
  return (
    <section class="card" aria-labelledby="fresh">
      <h2 id="fresh">No callback was received yet</h2>
      {maySee ? (
        <Setup receiver={receiver} origin={origin} />
      ) : (
        <p>Seeing the addresses takes the role operator.</p>
      )}
    </section>
  );
}

function Setup({ receiver: { paths, testPath, testBody, signatureHeader }, origin }: FreshProps) {
  const addresses = Object.entries(paths).map(([name, path]) => [
    name,
    <code key={name}>{origin + path}</code>,
  ]);
  return (
    <>
      <p>
        Register these addresses at the service. If it reaches the receiver by another host, replace {origin}.
      </p>
      <Facts facts={Object.fromEntries(addresses)} />
      {testPath ? (
        <>
          <p>
            A test callback takes the same way as all others. Its event is <code>receiver.test</code>, which
            no report but that of other events has.
          </p>
          <p>From a shell{signatureHeader && ', with one of SIGNING_KEYS in SIGNING_KEY'}:</p>
          <Verbatim
            label="A test callback from a shell"
            text={curlOf(origin + testPath, testBody(), signatureHeader)}
          />
          <div class="actions">
            <PostButton action={test}>Send a test callback</PostButton>
          </div>
        </>
      ) : (
        <p>
          A test callback needs <code>EVENTS_PATH</code>, which is not set; <code>npx receiver send</code>{' '}
          sends samples.
        </p>
      )}
    </>
  );
}

function curlOf(url: string, body: string, signatureHeader: string | undefined): string {
  const hmac = `$(printf %s "$t.$body" | openssl dgst -sha256 -hmac "$SIGNING_KEY" -r | cut -d' ' -f1)`;
  const [time, signature] = signatureHeader
    ? ['t=$(date +%s)\n', `  -H "${signatureHeader}: t=$t,v1=${hmac}" \\\n`]
    : ['', ''];
  return `body='${body}'\n${time}curl '${url}' -H 'Content-Type: application/json' \\\n${signature}  -d "$body"`;
}

type Applied = { status: DeliveryStatus; ms: number };
/** What became of a test callback; without `delivery`, it was rejected or not stored. */
type Tested =
  | { error: string }
  | (Awaited<ReturnType<Receiver['sendTest']>> & { delivery?: Applied | undefined });

const appliedWithinMs = 5_000;

/** Sends a test callback, and waits a moment until it is applied. */
export async function sendTest(db: Db, { sendTest }: Receiver): Promise<Tested> {
  const deadline = performance.now() + appliedWithinMs;
  try {
    const response = await sendTest();
    if (!response.id) return response;
    const applied = sql<Applied>`
      select status, coalesce(extract(epoch from applied_at - received_at), 0)::float8 * 1000 as ms
      from deliveries where id = ${response.id}::uuid`;
    for (;;) {
      const [delivery] = await read(db, applied);
      if (delivery?.status !== 'received' || performance.now() > deadline) return { ...response, delivery };
      await sleep(50);
    }
  } catch (error) {
    return { error: (error as Error).message };
  }
}

export function TestResult({ tested }: { tested: Tested }) {
  return (
    <>
      <p role="status">
        {describe(tested)} {'id' in tested && tested.id && <IdLink to="deliveries" id={tested.id} />}
      </p>
      <div class="actions">
        <PostButton action={test} kind="second">
          Send another
        </PostButton>
        <a href="/console/health">Back to Health</a>
      </div>
    </>
  );
}

const ownAddress =
  'The receiver sends it from its own address, to which ALLOWED_IPS applies as to the platform’s.';

function describe(tested: Tested): string {
  if ('error' in tested) return `It was not sent: ${tested.error}`;
  const { status, detail, id, delivery } = tested;
  if (!id) return `It was rejected with status ${status}: ${detail} ${status === 403 ? ownAddress : ''}`;
  const became =
    delivery &&
    {
      applied: ` and applied after ${formatDuration(delivery.ms)}`,
      failed: ', and PostgreSQL rejected its data',
      received: ', and not applied within 5 s: see whether a worker runs',
    }[delivery.status];
  return `It was accepted${became ?? ', and not stored'}: delivery`;
}
