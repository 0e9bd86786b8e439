import type { Cause } from '../../store/refusals.ts';

/** The deliveries that failed with the same error. */
export const sameCause = (event: string, error: string) =>
  `/console/deliveries?${new URLSearchParams({ status: 'failed', event, error })}`;

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
