import type { Receiver, Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { useMayPost } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/page.tsx';
import { Facts, IdLink, Verbatim } from '../ui/values.tsx';

/** The test of the way that callbacks take. */
export const section: Section = {
  addRoutes(routes, { receiver, db, logAccess }) {
    routes.post('/test-callback', 'operator', async (_req, res) => {
      const { test } = receiver;
      if (!test) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
      await logAccess(res, { action: 'test callback' });
      const { told, id } = await test.send(db);
      const page = (
        <>
          <p role="status">
            {told} {id && <IdLink to="deliveries" id={id} />}
          </p>
          <div class="actions">
            <PostButton action={action} kind="second">
              Send another
            </PostButton>
            <a href="/console/health">Back to Health</a>
          </div>
        </>
      );
      sendPage(res, 'Test callback', page);
    });
  },
};

const action = '/console/test-callback';

interface FreshProps {
  receiver: Receiver;
  /** Scheme and host that browsers use. */
  origin: string;
}

/** What to do before the first callback. A path may be a secret, so that not everybody sees the addresses. */
export function Fresh({ receiver: { paths, test }, origin }: FreshProps) {
  const maySee = useMayPost(action);
  const addresses = Object.entries(paths).map(([name, path]) => [name, <code>{origin + path}</code>]);
  return (
    <section class="card" aria-labelledby="fresh">
      <h2 id="fresh">No callback was received yet</h2>
      {!maySee && <p>Seeing the addresses takes the role operator.</p>}
      {maySee && (
        <>
          <p>
            Register these addresses at the service. If it reaches the receiver by another host, replace{' '}
            {origin}.
          </p>
          <Facts facts={Object.fromEntries(addresses)} />
        </>
      )}
      {maySee && !test && (
        <p>
          A test callback needs <code>EVENTS_PATH</code>, which is not set; <code>npx receiver send</code>{' '}
          sends samples.
        </p>
      )}
      {maySee && test && (
        <>
          <p>
            A test callback takes the same way as all others. Its event is <code>receiver.test</code>, which
            no report but that of other events has. From a shell, with one of SIGNING_KEYS, if they are set,
            in SIGNING_KEY:
          </p>
          <Verbatim label="A test callback from a shell" text={test.command(origin)} />
          <div class="actions">
            <PostButton action={action}>Send a test callback</PostButton>
          </div>
        </>
      )}
    </section>
  );
}
