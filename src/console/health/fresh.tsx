import { useContext } from 'preact/hooks';
import { isEnough } from '../../sign-in/rights.ts';
import type { Receiver } from '../dependencies.ts';
import { VisitContext } from '../ui/context.ts';
import { Facts, Verbatim } from '../ui/values.tsx';

interface FreshProps {
  receiver: Receiver;
  /** Scheme and host that browsers use. */
  origin: string;
}

/** What to do before the first callback. A path may be a secret, so that not everybody sees the addresses. */
export function Fresh({ receiver: { paths, testCommand }, origin }: FreshProps) {
  const { role } = useContext(VisitContext);
  const addresses = Object.entries(paths).map(([name, path]) => [name, <code>{origin + path}</code>]);
  return (
    <section class="card" aria-labelledby="fresh">
      <h2 id="fresh">No callback was received yet</h2>
      {isEnough(role, 'operator') ? (
        <>
          <p>
            Register these addresses at the service. If it reaches the receiver by another host, replace{' '}
            {origin}.
          </p>
          <Facts facts={Object.fromEntries(addresses)} />
          {testCommand && (
            <>
              <p>
                A test callback from a shell, with one of SIGNING_KEYS, if they are set, in SIGNING_KEY. Its
                event is <code>receiver.test</code>, which no report but that of other events has.
              </p>
              <Verbatim label="A test callback from a shell" text={testCommand(origin)} />
            </>
          )}
        </>
      ) : (
        <p>Seeing the addresses takes the role operator.</p>
      )}
    </section>
  );
}
