import type { Cause } from '../../store/refusals.ts';
import { hrefTo } from '../ui/links.ts';

/** The deliveries that failed with the same error. */
export const sameCause = (event: string, error: string) =>
  hrefTo('/deliveries', { status: 'failed', event, error });

/** Why a delivery failed, and what to do. */
export function CauseText({ cause }: { cause: Cause }) {
  const { error, meaning, action, fields, definition } = cause;
  if (!meaning) return <>{error}</>;
  return (
    <>
      <strong>{meaning}</strong> {action}
      <br />
      {fields && (
        <>
          Field: <code>{fields}</code>.{' '}
        </>
      )}
      {definition && (
        <>
          Constraint: <code>{definition}</code>.{' '}
        </>
      )}
      <span class="hint">{error}</span>
    </>
  );
}
